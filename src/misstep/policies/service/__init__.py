"""The inference service: one process for each device, which evaluates networks for all campaigns of a user.

Without it, each worker that evaluates a network on a GPU needs its own CUDA context, its batches are small, and the
device serves one process after the other. With it, the workers send their batches to one process through shared memory.
Batches that arrive while the device is busy are evaluated together afterwards.

    address.py    where the service is, and how it is started: by the first process that needs it
    memory.py     blocks of shared memory without a name, so that nothing is left behind
    messages.py   messages about these blocks, over a local socket that only the user can reach
    client.py     the connection of a process: if the service dies, it starts another one and asks again
    process.py    the service: one thread that listens, one that evaluates
    models.py     the interface of everything that the service can evaluate
    networks.py   graph networks with this interface, several tasks of one domain in one batch
    code.py       Python policies with this interface

The service runs as long as any process is connected. The operating system closes the connection of a process however
the process ends, so no service stays behind, and the blocks and questions of a dead process are dropped.

Decisions are the same with and without the service: near ties are sent again and evaluated one by one.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager

from misstep.errors import UsageError

VARIABLE = "MISSTEP_SERVICE"
MODES = ("auto", "on", "off")

_shared = 0  # how many sessions of this process share a device with other processes


def mode() -> str:
    """The user's setting: use the service where it helps (auto), for every network (on), or never (off)."""
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
    """Whether a network on that device is evaluated at the service."""
    chosen = mode()
    if chosen == "off" or not supported():
        return False
    return chosen == "on" or (_shared > 0 and device.startswith("cuda"))


def asked_for() -> bool:
    """The same for a policy whose code asks for the service, on any device."""
    chosen = mode()
    return chosen != "off" and supported() and (chosen == "on" or _shared > 0)


def share() -> None:
    """From now on, evaluate this process's GPU networks at the service, because it is one of several workers."""
    global _shared
    _shared += 1


@contextmanager
def sharing(is_shared: bool = True) -> Iterator[None]:
    """The same inside a `with` block. Afterwards this process disconnects, and the service ends if it was the last."""
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
