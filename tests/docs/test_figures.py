"""The figures of the explanation are those that their program draws, and nothing in them is cut off."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from docsite.figures import IMAGES, figures

DRAWN = figures()


@pytest.mark.parametrize("name", DRAWN)
def test_the_file_is_what_is_drawn(name: str) -> None:
    assert (IMAGES / name).read_text(encoding="utf-8") == DRAWN[name], (
        "PYTHONPATH=docs python -m docsite.figures"
    )


@pytest.mark.parametrize("name", DRAWN)
def test_words_stay_on_the_panel(name: str) -> None:
    drawing = ElementTree.fromstring(DRAWN[name])
    width = float(drawing.attrib["width"])
    texts = [element for element in drawing if element.tag.endswith("}text")]
    assert texts
    for element in texts:
        words = element.text or ""
        half = 0 if element.attrib["text-anchor"] == "start" else 3.8 * len(words)
        assert half < float(element.attrib["x"]) < width - half, words
