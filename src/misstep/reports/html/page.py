"""The page around the data: markup, style and script of this folder in one file.

The page may only run its own script and use its own style, both allowed by their hashes. It opens no connection, loads
no other pictures, and cannot turn text into markup by accident (trusted types). So it is safe to open a report from a
stranger.
"""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Iterator
from importlib.resources import files

from misstep.escaping import written_out
from misstep.reports.html.chunks import Chunks

# The first line of every report, by which one is told from other files before it is overwritten.
MARK = b"<!doctype html>\n<!-- misstep report -->\n"
STYLES = ("colours", "layout", "parts", "bug", "narrow")
# One scope: functions first, and `main` last, which starts the page.
SCRIPTS = (
    *("dom", "bytes", "format", "state", "route", "theme", "charts", "filter", "csv", "table"),
    *("overview", "families", "simulate", "align", "pictures", "stepper", "surface", "argument"),
    *("bug", "danger", "compare", "keys", "main"),
)


def page(title: str, chunks: Chunks, nothing: str) -> Iterator[bytes]:
    """The file, piece by piece. `nothing` is told to whoever runs no scripts."""
    style, script = _joined("css", STYLES), _joined("js", SCRIPTS)
    body = _text("body.html")
    yield MARK
    yield b'<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    yield f'<meta http-equiv="Content-Security-Policy" content="{_policy(style, script)}">\n'.encode()
    yield b'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
    yield b'<meta name="referrer" content="no-referrer">\n<meta name="generator" content="misstep">\n'
    yield f"<title>{html.escape(written_out(title)[:200])}</title>\n".encode()
    yield f"<style>{style}</style>\n</head>\n".encode()
    yield body.replace("@NOTHING@", html.escape(written_out(nothing)[:200])).encode()
    yield chunks.html(first=True)
    # The page is used while the details behind it are still being read.
    yield f"\n<script>{script}</script>\n".encode()
    yield chunks.html(first=False)
    yield b"\n</body>\n</html>\n"


def _policy(style: str, script: str) -> str:
    return (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; base-uri 'none'; "
        "form-action 'none'; require-trusted-types-for 'script'; trusted-types misstep-svg"
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _joined(kind: str, names: tuple[str, ...]) -> str:
    text = "\n".join(_text(f"{name}.{kind}") for name in names)
    return f'"use strict";\n(() => {{\n{text}\n}})();' if kind == "js" else text


def _text(name: str) -> str:
    return (files(__package__) / "page" / name).read_text(encoding="utf-8")


__all__ = ["MARK", "page"]
