"""The process that a program runs in: a line of JSON in, a line of JSON out.

This file is started as a script in a new interpreter and imports nothing of Misstep. Standard input and output belong
to the exchange, so both are moved away before the program is loaded: what it prints goes to standard error, also from
native code and from programs that it starts, and it reads an empty input.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

MAX_OPERATORS = 1_000_000
MAX_TEXT = 10_000  # characters of one operator


def main() -> None:
    file, name = sys.argv[1], sys.argv[2]
    questions = os.fdopen(os.dup(0), encoding="utf-8")
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    owner = os.getpid()
    hello = json.loads(questions.readline())
    function, greeting = _load(file, name)
    _send(answers, greeting, owner)
    for line in questions:
        changing = json.loads(line)
        # New sets every time: the program may change them.
        arguments = (
            {(n, t) if hello["typed"] else n for n, t in hello["objects"]},
            {tuple(atom) for atom in (*hello["constant"], *changing)},
            {tuple(atom) for atom in hello["goal"]},
        )
        _send(answers, _answer(function, arguments, file), owner)


def _send(answers: TextIO, content: dict[str, Any], owner: int) -> None:
    if os.getpid() != owner:  # a copy that the program forked and that came back here
        os._exit(0)
    answers.write(json.dumps(content) + "\n")
    answers.flush()


def _load(file: str, name: str) -> tuple[Callable[..., object], dict[str, Any]]:
    folder = str(Path(file).absolute().parent)
    sys.path[0] = folder
    sys.argv = [file]
    before = set(sys.modules)
    try:
        spec = importlib.util.spec_from_file_location("misstep_program", file)
        if spec is None or spec.loader is None:
            raise ImportError("not a Python file; its name must end in .py")
        module = importlib.util.module_from_spec(spec)
        sys.modules["misstep_program"] = module  # dataclasses look their module up there
        spec.loader.exec_module(module)
    except BaseException as error:
        return _nothing, {"error": _words(error), "line": _line(error, file)}
    function = getattr(module, name, None)
    if not callable(function):
        return _nothing, {"error": f"the file defines no function {name!r}", "missing": True}
    return function, {"files": _files(folder, set(sys.modules) - before)}


def _nothing(*_: object) -> object:
    return []


def _files(folder: str, modules: set[str]) -> list[str]:
    """The files of the program's own folder that it has imported."""
    known = (getattr(sys.modules.get(name), "__file__", None) for name in modules)
    return sorted({file for file in known if file and Path(file).is_relative_to(folder)})


def _answer(
    function: Callable[..., object], arguments: tuple[object, ...], file: str
) -> dict[str, Any]:
    try:
        plan = function(*arguments)
    except BaseException as error:
        line = _line(error, file)
        where = f"{file}:{line}: " if line else ""
        return {"error": where + _words(error)}
    if not isinstance(plan, (list, tuple)):
        return {"error": f"the program returned {plan!r:.60}, not a list of operators"}
    if len(plan) > MAX_OPERATORS:
        return {"error": f"the program returned {len(plan):,} operators, at most {MAX_OPERATORS:,}"}
    for position, text in enumerate(plan):
        if not isinstance(text, str) or len(text) > MAX_TEXT:
            return {
                "error": f"operator {position} of the plan is {text!r:.60}, not a text such as '(move a b)'"
            }
    return {"plan": [str(text) for text in plan]}


def _words(error: BaseException) -> str:
    try:
        text = " ".join(f"{type(error).__name__}: {error}".split())
    except Exception:  # the error itself cannot be shown
        text = type(error).__name__
    return text[:600]


def _line(error: BaseException, file: str) -> int | None:
    """The innermost line of the program's file."""
    if isinstance(error, SyntaxError) and error.filename == file:
        return error.lineno
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == file
    ]
    return lines[-1] if lines else None


if __name__ == "__main__":
    main()
