"""Data inside the page: compressed, named pieces, which the browser unpacks when it needs them.

A piece is a block of text that no browser runs (`<script type="application/octet-stream">`), deflated and written in
base64. Columns of numbers are typed arrays, which the browser reads without parsing; everything else is JSON of plain
ASCII, so that no name of a task can end the block or reach the page as markup.
"""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

import numpy as np

LEVEL = 6  # of the compression: higher ones take three times as long for two hundredths
# What a typed array of the browser calls the numbers.
TYPES = {"u1": "Uint8Array", "u2": "Uint16Array", "u4": "Uint32Array", "f4": "Float32Array"}
TYPES |= {"f8": "Float64Array", "i4": "Int32Array"}


class Chunks:
    """Compressed pieces by name, in the order in which they were added."""

    def __init__(self) -> None:
        self._pieces: dict[str, bytes] = {}
        self.bytes = 0  # as they will stand in the page

    def add(self, name: str, content: bytes) -> None:
        if name in self._pieces:
            raise ValueError(f"two pieces of the name {name}")
        packed = base64.b64encode(zlib.compress(content, LEVEL))
        self._pieces[name] = packed
        self.bytes += len(packed)

    def add_json(self, name: str, value: Any) -> None:
        # Infinite numbers have no place in JSON; whoever adds data writes them otherwise.
        self.add(name, json.dumps(value, separators=(",", ":"), allow_nan=False).encode())

    def add_array(self, name: str, values: np.ndarray[Any, Any]) -> str:
        """Add numbers; returns what the browser calls such an array."""
        code = values.dtype.str[1:]
        if code not in TYPES:
            raise ValueError(f"no typed array of {values.dtype}")
        self.add(name, values.astype("<" + code).tobytes())
        return TYPES[code]

    def html(self, first: bool) -> bytes:
        """Those that are needed at once, or the others (`late.`), as elements of the page."""
        lines = []
        for name, packed in self._pieces.items():
            if name.startswith("late.") != first:
                head = f'<script type="application/octet-stream" id="{name}">'.encode()
                lines.append(head + packed + b"</script>")
        return b"\n".join(lines)


__all__ = ["Chunks"]
