"""The service itself: one thread listens, the main thread evaluates.

Questions that arrive while the device is busy wait together and become its next batch. The thread that listens never
waits for the device: it notices at once when a client has gone and drops its questions and its block, and it ends the
process when no client is left, even if the device hangs.

A client that does not follow the protocol loses its connection, and the others do not notice. Each has at most one
question here, so that none can fill the queue, and one that reads no answers is not waited for.
"""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import selectors
import signal
import socket
import struct
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from weakref import WeakValueDictionary

import numpy as np

from misstep.errors import ToolError
from misstep.policies.service.address import peer
from misstep.policies.service.memory import Block, Layout
from misstep.policies.service.messages import Message, receive, send, told
from misstep.policies.service.models import (
    Model,
    Output,
    Part,
    concatenated,
    problem_of_offsets,
    split_output,
)

MOST_ROWS = 1 << 17  # of a batch
PATIENCE = 60.0  # seconds for the first client to come
BROKEN = 70  # exit code after a failure of the device
RESERVED = 256  # files that are not for clients
ANSWER_SECONDS = 10  # for a client to make room for an answer


@dataclass(eq=False)
class Guest:
    """A client at the other end of a connection."""

    sock: socket.socket
    block: Block | None = None
    models: dict[int, Model] = field(default_factory=dict)
    opened: int = 0
    is_waiting: bool = False  # for the answer to its question
    is_gone: bool = False

    def tell(self, message: Message) -> None:
        """The answer to its question."""
        self.is_waiting = False  # before it is sent, because the next question may follow at once
        try:
            send(self.sock, message)
        except OSError:
            self.is_gone = True
            with contextlib.suppress(
                OSError
            ):  # it notices, and so does the thread that listens, which cleans up
                self.sock.shutdown(socket.SHUT_RDWR)


@dataclass
class Question:
    """A request that a client waits for."""

    guest: Guest
    message: Message
    model: Model | None = None
    part: Part | None = None  # a copy, so that the block may be freed at any time
    layout: Layout | None = None


class Service:
    """The models, and the clients that use them."""

    def __init__(self, listening: socket.socket) -> None:
        self._listening = listening
        self._guests: set[Guest] = set()
        self._models: WeakValueDictionary[str, Model] = (
            WeakValueDictionary()
        )  # those that any client uses
        self._waiting: deque[Question] = deque()
        self._changed = threading.Condition()
        self._spare = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)

    # -- the thread that listens ----------------------------------------------------------------

    def listen(self) -> None:
        """Accept clients and their questions until the last client has gone."""
        selector = selectors.DefaultSelector()
        selector.register(self._listening, selectors.EVENT_READ)
        while True:
            ready = selector.select(None if self._guests else PATIENCE)
            if not ready and not self._guests:
                os._exit(0)
            for key, _ in ready:
                if key.fileobj is self._listening:
                    self._welcome(selector)
                elif not self._hear(key.data):
                    selector.unregister(key.fileobj)
                    self._part_with(key.data)
                    if not self._guests:
                        # Exit at once, even if the device is busy: there is nothing to save.
                        os._exit(0)

    def _welcome(self, selector: selectors.BaseSelector) -> None:
        try:
            sock, _ = self._listening.accept()
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE):
                self._turn_away()
            return
        if len(self._guests) >= _most_guests():
            self._turn_away(sock)
            return
        try:
            pid, user = peer(sock)
            # Do not wait for ever for a client that does not read its answers, such as a stopped one.
            limit = struct.pack("ll", ANSWER_SECONDS, 0)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)
        except OSError:
            sock.close()
            return
        # A service that is its own client would wait for ever, and never see its last client go.
        if user != os.getuid() or pid == os.getpid():
            sock.close()
            return
        guest = Guest(sock)
        self._guests.add(guest)
        selector.register(sock, selectors.EVENT_READ, guest)

    def _turn_away(self, sock: socket.socket | None = None) -> None:
        """Close a connection that there are no files for, because otherwise its client would wait for ever."""
        most = f"{len(self._guests)} clients are too many for one process (ulimit -n)"
        print(most, file=sys.stderr, flush=True)
        if sock is not None:
            sock.close()
            return
        os.close(self._spare)
        with contextlib.suppress(OSError):
            self._listening.accept()[0].close()
        self._spare = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)

    def _hear(self, guest: Guest) -> bool:
        """Handle the next message; False if there will be no more."""
        try:
            message, fd = receive(guest.sock, short=True)
            if fd is not None:
                self._take_block(guest, fd)
                return True
            if "forget" in message:
                guest.models.pop(int(message["forget"]))
                return True
            if guest.is_waiting:
                raise ValueError("a question before the answer to the last one")
            question = self._question(guest, message)
        except Exception:
            return False  # gone, or not one of our clients
        guest.is_waiting = True
        with self._changed:
            self._waiting.append(question)
            self._changed.notify()
        return True

    def _take_block(self, guest: Guest, fd: int) -> None:
        block = Block.received(fd)
        if guest.is_waiting:
            block.close()
            raise ValueError("a block before the answer to the last question")
        if guest.block is not None:
            guest.block.close()
        guest.block = block

    def _question(self, guest: Guest, message: Message) -> Question:
        if guest.block is None:
            raise ValueError("a question without a block")
        if "open" in message:
            size = int(message["size"])
            if not 0 <= size <= guest.block.size:
                raise ValueError("a model that does not fit its block")
            return Question(guest, {**message, "content": guest.block.read(size)})
        layout = Layout(*map(int, message["layout"]))
        model = guest.models[int(message["model"])]
        if min(layout) < 0 or layout.size > guest.block.size:
            raise ValueError("a question that does not fit its block")
        if (layout.width, layout.columns) != (model.width, model.columns):
            raise ValueError("a question that does not fit its model")
        part = Part(guest.block.states(layout).copy(), guest.block.offsets(layout).copy())
        alone = bool(message["alone"])
        return Question(guest, {"alone": alone}, model, part, layout)

    def _part_with(self, guest: Guest) -> None:
        guest.is_gone = True
        guest.sock.close()
        if guest.block is not None:
            guest.block.close()
        self._guests.discard(guest)

    # -- the thread that evaluates --------------------------------------------------------------

    def work(self) -> None:
        while True:
            with self._changed:
                while not self._waiting:
                    self._changed.wait()
                batch = self._next()
            batch = [question for question in batch if not question.guest.is_gone]
            if batch and batch[0].part is None:
                self._open(batch[0])
            elif batch:
                self._evaluate(batch)

    def _next(self) -> list[Question]:
        """The next batch for the device: a new model alone, or questions in the order of their arrival."""
        batch, rows = [self._waiting.popleft()], 0
        while batch[0].part is not None and self._waiting and self._waiting[0].part is not None:
            rows += len(self._waiting[0].part.states)
            if rows > MOST_ROWS:
                break
            batch.append(self._waiting.popleft())
        return batch

    def _open(self, question: Question) -> None:
        guest, message = question.guest, question.message
        try:
            module, _, function = str(message["open"]).partition(":")
            made = getattr(import_module(module), function)(message["content"])
            assert isinstance(made, Model)
            model = self._models.setdefault(made.key, made)
        except (Exception, SystemExit) as error:
            guest.tell(told(error))
            return
        guest.opened += 1
        guest.models[guest.opened] = model
        known = {"model": guest.opened, "key": model.key, "columns": model.columns}
        guest.tell({**known, **model.about})

    def _evaluate(self, batch: Sequence[Question]) -> None:
        by_model: dict[tuple[Model, bool], list[Question]] = {}
        for question in batch:
            model = question.model
            assert model is not None
            assert question.part is not None
            problem = problem_of_offsets(question.part) or model.problem(question.part)
            if problem is not None:
                question.guest.tell(told(ToolError(problem)))
                continue
            by_model.setdefault((model, bool(question.message["alone"])), []).append(question)
        left = self._evaluate_families(by_model)
        for (model, alone), questions in left.items():
            self._evaluate_one(model, questions, alone)

    def _evaluate_families(
        self, by_model: dict[tuple[Model, bool], list[Question]]
    ) -> dict[tuple[Model, bool], list[Question]]:
        """Evaluate models of one family together, and return the requests that are left over."""
        families: dict[object, list[Model]] = {}
        for model, alone in by_model:
            if not alone:
                families.setdefault(model.family, []).append(model)
        left = dict(by_model)
        for models in families.values():
            if len(models) < 2:
                continue
            parts = [concatenated(_parts(by_model[model, False])) for model in models]
            try:
                columns = models[0].together(models, parts)
            except Exception as error:
                _end_if_broken(error)
                continue  # one by one, to find out which one fails
            for model, own in zip(models, columns or [], strict=False):
                self._answer(left.pop((model, False)), Output(own))
        return left

    def _evaluate_one(self, model: Model, questions: Sequence[Question], alone: bool) -> None:
        try:
            part = concatenated(_parts(questions))
            self._answer(questions, model.alone(part) if alone else model.evaluate(part))
        except (Exception, SystemExit) as error:
            _end_if_broken(error)
            if len(questions) == 1:
                traceback.print_exc()
                questions[0].guest.tell(told(error))
                return
            for question in questions:  # one question must not make the others fail
                self._evaluate_one(model, [question], alone)

    def _answer(self, questions: Sequence[Question], output: Output) -> None:
        sizes = [len(part.states) for part in _parts(questions)]
        for question, own in zip(questions, split_output(output, sizes), strict=True):
            guest, layout = question.guest, question.layout
            block = guest.block
            assert layout is not None
            if guest.is_gone or block is None:
                continue
            try:
                block.answers(layout)[:] = own.columns
            except ValueError:
                continue  # the block has just been closed
            messages = {int(row): str(text) for row, text in own.messages.items()}
            guest.tell({"messages": messages} if messages else {})


def _most_guests() -> int:
    """Each needs a connection and a block. The rest is for the models, which open files as they need them."""
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return max(1, (files - min(RESERVED, files // 2)) // 2)


def _parts(questions: Sequence[Question]) -> list[Part]:
    return [question.part for question in questions if question.part is not None]


def _end_if_broken(error: BaseException) -> None:
    """A device that has failed once keeps failing in this process, so it ends and clients start another one."""
    if type(error).__name__ == "AcceleratorError" or "CUDA error" in str(error):
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(BROKEN)


def main(fd: int) -> None:
    """The program of the service, with a socket that listens already."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(
            number, signal.SIG_IGN
        )  # Ctrl-C ends the clients; the service ends with the last of them
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, set())
    # The worker that started this process may have a memory limit, which must not hold for the service.
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))
    np.seterr(all="ignore")
    # One for each client and its block: as many as the system allows.
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    service = Service(socket.socket(fileno=fd))
    threading.Thread(target=_or_end, args=(service.listen,), name="listen", daemon=True).start()
    _or_end(service.work)


def _or_end(run: Callable[[], None]) -> None:
    """A service with one thread only would let its clients wait for ever; they start another one if it ends."""
    try:
        run()
    finally:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(BROKEN)


__all__ = ["Service", "main"]
