"""One process for each device in which networks live, for all campaigns of a user on the machine.

A worker that asks a network on a GPU by itself needs a CUDA context of its own, its batches are small, and the device
serves one process after the other. Here the workers send their batches to one process instead, through shared memory.
What arrives while the device is busy is evaluated together afterwards.

    address.py    where the service is, and how it is started: by whoever needs it and does not find it
    memory.py     blocks of shared memory that belong to no name, so that nothing is left behind
    messages.py   what is said about them, over a socket of this machine that only the user can reach
    client.py     the connection of a process: it asks again when the service died, and starts another one
    process.py    the service: one thread that listens, one that evaluates
    models.py     what can be evaluated there: the one narrow interface
    networks.py   graph networks as such models, several tasks of one domain in one batch
    code.py       Python policies as such models

The service lives as long as somebody is connected. The system closes the connection of a process however it ends, so
there is no orphan; a process that dies takes its blocks and its questions along.

Decisions never depend on who is asked how: a policy sends its near ties again, to be evaluated one by one.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager

from misstep.errors import UsageError

VARIABLE = "MISSTEP_SERVICE"
MODES = ("auto", "on", "off")

_shared = 0  # how many sessions of this process share their device with others


def mode() -> str:
    """What the user has asked for: the service where it helps (auto), for every network (on), or never (off)."""
    chosen = os.environ.get(VARIABLE, "") or "auto"
    if chosen not in MODES:
        raise UsageError(
            f"{VARIABLE} is {chosen!r}", where="environment", expected=", ".join(MODES)
        )
    return chosen


def supported() -> bool:
    """Whether this system has what the service needs."""
    return hasattr(os, "memfd_create") and hasattr(socket, "SOCK_SEQPACKET")


def wanted(device: str) -> bool:
    """Whether a network on that device is to be asked through the service."""
    chosen = mode()
    if chosen == "off" or not supported():
        return False
    return chosen == "on" or (_shared > 0 and device.startswith("cuda"))


def asked_for() -> bool:
    """The same for a policy that asks for the service by itself, whatever its device is."""
    chosen = mode()
    return chosen != "off" and supported() and (chosen == "on" or _shared > 0)


def share() -> None:
    """Networks of this process on a GPU go through the service from now on: it is one of several workers."""
    global _shared
    _shared += 1


@contextmanager
def sharing(is_shared: bool = True) -> Iterator[None]:
    """The same for a while. Afterwards the service is left alone, and ends if nobody else needs it."""
    global _shared
    if not is_shared:
        yield
        return
    _shared += 1
    try:
        yield
    finally:
        _shared -= 1
        if not _shared:
            from misstep.policies.service.client import leave

            leave()


__all__ = ["MODES", "VARIABLE", "asked_for", "mode", "share", "sharing", "supported", "wanted"]
