"""Pages as PDF: one page of vector shapes, with the fonts that every reader of PDF has.

The format is a list of numbered objects, a table of where each begins, and a trailer. A page is a stream of drawing
commands with the origin at the bottom left, so heights are turned around here. Nothing in the file depends on the
time or the machine.
"""

from __future__ import annotations

import zlib

from misstep.escaping import written_out
from misstep.reports.figures.shapes import Box, Line, Page, Shape, Text, width_of

_BOLDER = 1.06  # the bold font is wider by about this much


def pdf_bytes(page: Page) -> bytes:
    commands = "\n".join(_shape(shape, page.height) for shape in page.shapes)
    stream = zlib.compress(commands.encode("cp1252", "replace"), 9)
    box = f"[0 0 {_number(page.width)} {_number(page.height)}]"
    fonts = (
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold /Encoding /WinAnsiEncoding >>",
    )
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R /Lang (en) >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        f"<< /Type /Page /Parent 2 0 R /MediaBox {box} /Contents 4 0 R "
        "/Resources << /Font << /F1 5 0 R /F2 6 0 R >> >> >>".encode(),
        f"<< /Length {len(stream)} /Filter /FlateDecode >>\nstream\n".encode()
        + stream
        + b"\nendstream",
        *(font.encode() for font in fonts),
        f"<< /Title {_utf16(page.title)} /Subject {_utf16(page.description)} /Producer (Misstep) >>".encode(),
    ]
    return _file(objects)


def _file(objects: list[bytes]) -> bytes:
    content = bytearray(b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n")
    places = []
    for number, own in enumerate(objects, 1):
        places.append(len(content))
        content += f"{number} 0 obj\n".encode() + own + b"\nendobj\n"
    start = len(content)
    content += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode()
    content += "".join(f"{place:010d} 00000 n \n" for place in places).encode()
    content += (
        f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R /Info {len(objects)} 0 R >>\n"
        f"startxref\n{start}\n%%EOF\n"
    ).encode()
    return bytes(content)


def _shape(shape: Shape, height: float) -> str:
    if isinstance(shape, Line):
        (x, y), *rest = shape.points
        path = f"{_number(x)} {_number(height - y)} m "
        path += " ".join(f"{_number(x)} {_number(height - y)} l" for x, y in rest)
        dashes = " ".join(map(_number, shape.dashes))
        return f"{_colour(shape.colour)} RG {_number(shape.width)} w 1 j [{dashes}] 0 d {path} S"
    if isinstance(shape, Box):
        corner = f"{_number(shape.x)} {_number(height - shape.y - shape.height)}"
        size = f"{_number(shape.width)} {_number(shape.height)}"
        return f"{_colour(shape.colour)} rg {corner} {size} re f"
    return _words(shape, height)


def _words(shape: Text, height: float) -> str:
    text = written_out(shape.text)
    width = width_of(text, shape.size) * (_BOLDER if shape.bold else 1)
    back = {"start": 0.0, "middle": width / 2, "end": width}[shape.anchor]
    x, y = shape.x, height - shape.y
    if shape.turned:
        place = f"0 1 -1 0 {_number(x)} {_number(y - back)} Tm"
    else:
        place = f"1 0 0 1 {_number(x - back)} {_number(y)} Tm"
    font = "F2" if shape.bold else "F1"
    escaped = text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
    return (
        f"BT {_colour(shape.colour)} rg /{font} {_number(shape.size)} Tf {place} ({escaped}) Tj ET"
    )


def _colour(colour: str) -> str:
    return " ".join(_number(int(colour[k : k + 2], 16) / 255) for k in (1, 3, 5))


def _utf16(text: str) -> str:
    return f"<FEFF{written_out(text).encode('utf-16-be', 'replace').hex().upper()}>"


def _number(value: float) -> str:
    return f"{value:.3f}".rstrip("0").rstrip(".")


__all__ = ["pdf_bytes"]
