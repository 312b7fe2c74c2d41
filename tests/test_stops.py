"""Requests to stop that Python swallows."""

from __future__ import annotations

import subprocess
import sys

import pytest

IN_A_FINALIZER = """
import os, signal, sys, threading, time
from misstep.stops import Stopped, interrupt_once, mark_stops

number = signal.Signals[sys.argv[1]]
signal.signal(signal.SIGINT, signal.SIG_IGN)  # as in a background job
signal.signal(number, interrupt_once)
mark_stops()

slow = int(sys.argv[2])  # times that a thread takes long to start
start = threading.Thread.start

def starting(thread):
    global slow
    start(thread)
    slow -= 1
    time.sleep(0.05 if slow >= 0 else 0)

threading.Thread.start = starting

class Left:
    def __del__(self):
        os.kill(os.getpid(), number)
        time.sleep(0.01)

try:
    Left()
    time.sleep(5)
except Stopped:
    sys.exit(7)
"""

WHILE_A_CLASS_IS_MADE = """
import os, signal, sys, time
from misstep.stops import Stopped, interrupt_once, mark_stops

signal.signal(signal.SIGINT, interrupt_once)
mark_stops()

class Member:
    def __set_name__(self, owner, name):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)

try:
    class Owner:
        member = Member()
    time.sleep(5)
except Stopped:
    sys.exit(7)
"""


@pytest.mark.parametrize(("name", "slow"), [("SIGINT", 0), ("SIGTERM", 0), ("SIGHUP", 2)])
def test_a_request_in_a_finalizer_is_made_again_as_it_was(name: str, slow: int) -> None:
    """Ctrl-C may be ignored where `kill` is not. On a busy machine it comes while the hook is still at work."""
    command = [sys.executable, "-c", IN_A_FINALIZER, name, str(slow)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (7, "")


def test_a_request_while_a_class_is_made() -> None:
    """Python 3.11 makes a RuntimeError of it, which was an internal error while torch was imported."""
    command = [sys.executable, "-c", WHILE_A_CLASS_IS_MADE]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (7, "")
