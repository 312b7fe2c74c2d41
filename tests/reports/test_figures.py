"""Figures have the right numbers in the right place, as SVG and as PDF that other programs read."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest

import misstep
from misstep.errors import InputFileError, UsageError
from misstep.reports.exports.tables import sources
from misstep.reports.figures.charts import (
    Chart,
    Curve,
    Series,
    nice_ticks,
    number_text,
    thinned,
)
from misstep.reports.figures.draw import FIGURES, chart, depth, write_figure
from misstep.reports.figures.pdf import pdf_bytes
from misstep.reports.figures.shapes import Box, Line, Text, fitted, width_of
from misstep.reports.figures.svg import svg_text
from misstep.tasks.generate import generate
from support.exports import model_campaign, planning_campaign

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = '</text><script>alert(1)</script> & "quotes" (brackets) \\ \n\x1b τ' + "x" * 5000
CURVES = Chart(
    "Curves",
    "seconds",
    "bugs",
    (Curve("one", ((0.5, 1), (1.0, 3)), 2.0), Curve("two", (), 1.0)),
)
BARS = Chart("Bars", "gap", "bugs", bins=("<5", "5-10"), series=(Series("one", (3, 0)),))


def parsed(own: Chart) -> ElementTree.Element:
    return ElementTree.fromstring(svg_text(own.page()))


def texts(root: ElementTree.Element) -> list[str]:
    return [own.text or "" for own in root.iter(f"{SVG}text")]


@pytest.mark.parametrize("largest", [0, 0.003, 0.9, 1, 3, 7, 10, 99, 100, 101, 12345, 1e9, 2.5])
def test_ticks_are_few_and_reach_the_largest(largest: float) -> None:
    ticks = nice_ticks(largest)
    assert ticks[0] == 0
    assert ticks[-1] >= largest
    assert 2 <= len(ticks) <= 7
    assert len({number_text(tick) for tick in ticks}) == len(ticks)
    whole = nice_ticks(largest, whole=True)
    assert all(tick == int(tick) for tick in whole)
    assert whole[-1] >= largest


def test_curves_are_steps() -> None:
    page = CURVES.page()
    # The samples of the legend come behind them.
    one, two, *_ = (own for own in page.shapes if isinstance(own, Line) and own.width == 2)
    assert len(one.points) == 2 * 2 + 2
    for (x, y), (next_x, next_y) in zip(one.points, one.points[1:], strict=False):
        assert x == next_x or y == next_y
    assert one.points[-1][0] > two.points[-1][0]  # each ends at its own end
    assert one.colour != two.colour
    assert one.dashes != two.dashes


def test_bars_are_as_high_as_their_values() -> None:
    boxes = [own for own in BARS.page().shapes if isinstance(own, Box) and own.title]
    (only,) = boxes
    assert only.title == "one, <5: 3"
    taller = Chart("x", "x", "y", bins=("a", "b"), series=(Series("s", (3, 6)),)).page()
    low, high = (own for own in taller.shapes if isinstance(own, Box) and own.title)
    assert high.height == pytest.approx(2 * low.height)
    assert high.y + high.height == low.y + low.height


def test_an_svg_has_a_title_and_a_description_and_nothing_that_runs() -> None:
    root = parsed(CURVES)
    assert root.get("role") == "img"
    assert [own.text for own in root.findall(f"{SVG}title")] == ["Curves"]
    (words,) = (own.text for own in root.findall(f"{SVG}desc"))
    assert words == "bugs by seconds. one: 3 at the end; two: 0 at the end."
    assert {"Curves", "seconds", "bugs", "one", "two"} <= set(texts(root))
    used = {own.tag.removeprefix(SVG) for own in root.iter()}
    assert used <= {"svg", "title", "desc", "rect", "polyline", "text"}


def test_names_of_others_are_text_and_fit() -> None:
    own = Chart(
        HOSTILE,
        HOSTILE[:40],
        "y",
        (Curve(HOSTILE, ((1, 1),), 1), Curve("b", (), 1)),
    )
    root = parsed(own)
    assert not list(root.iter(f"{SVG}script"))
    page = own.page()
    for text in page.shapes:
        if isinstance(text, Text) and not text.turned:
            assert width_of(text.text, text.size) < page.width
    assert pdf_bytes(page).startswith(b"%PDF")
    assert fitted("short", 10, 500) == "short"


def test_a_legend_of_many_curves_gets_rows() -> None:
    many = tuple(Curve(f"campaign number {k}", ((1, k),), 1) for k in range(12))
    page = Chart("Many", "x", "y", many).page()
    labels = [own for own in page.shapes if isinstance(own, Text) and "number" in own.text]
    assert len(labels) == 12
    assert len({own.y for own in labels}) > 1
    assert max(own.y for own in labels) < page.height
    assert max(own.x + width_of(own.text, own.size) for own in labels) <= page.width


def test_a_long_curve_is_thinned_and_keeps_its_end() -> None:
    points = [(float(k), float(k)) for k in range(100_001)]
    few = thinned(points)
    assert len(few) <= 2001
    assert few[-1] == points[-1]


@pytest.mark.parametrize("name", FIGURES)
def test_figures_of_campaigns(name: str, tmp_path: Path) -> None:
    for number, own in enumerate(([planning_campaign()], [model_campaign()])):
        given = sources(own)
        for ending in (".svg", ".pdf"):
            (path,) = write_figure(name, given, tmp_path / f"{number}{ending}")
            assert path.stat().st_size > 500
    page = chart(name, sources([planning_campaign(), planning_campaign()])).page()
    assert "campaign 1" in {own.text for own in page.shapes if isinstance(own, Text)}


def test_the_numbers_of_the_figures() -> None:
    campaign = planning_campaign()
    given = sources([campaign])
    assert chart("over-time", given).curves[0].points[-1][1] == len(campaign.bugs)
    assert sum(chart("severity", given).series[0].values) == len(campaign.bugs)
    tested, bugs = chart("depth", given).series
    assert sum(tested.values) == len(campaign.records)
    assert sum(bugs.values) == len(campaign.bugs)
    walk = campaign.records[3].found.walk
    assert walk is not None
    assert depth(campaign.records[3]) == len(walk.operators)
    model = model_campaign()
    assert sum(chart("severity", sources([model])).series[0].values) == len(model.bugs)
    with pytest.raises(UsageError, match="do not go into one figure"):
        chart("severity", sources([campaign, model]))


def test_no_bugs_are_said_in_the_figure() -> None:
    none = misstep.test(generate("gripper", balls=1), "optimal", pool=2)
    for name in ("over-time", "severity"):
        assert "no bugs" in texts(parsed(chart(name, sources([none]))))


def test_other_endings_and_names_are_refused(tmp_path: Path) -> None:
    given = sources([planning_campaign()])
    with pytest.raises(UsageError, match="neither SVG nor PDF"):
        write_figure("depth", given, tmp_path / "x.png")
    with pytest.raises(UsageError, match=r"no figure 'dept'.*did you mean"):
        write_figure("dept", given, tmp_path / "x.svg")
    (tmp_path / "x.svg").write_text("mine")
    with pytest.raises(InputFileError, match="exists and differs"):
        write_figure("depth", given, tmp_path / "x.svg")


# -- PDF ----------------------------------------------------------------------------------------------


def test_a_pdf_says_where_its_objects_are() -> None:
    content = pdf_bytes(CURVES.page())
    start = int(re.findall(rb"startxref\n(\d+)\n", content)[0])
    assert content[start:].startswith(b"xref\n0 8\n")
    for number, place in enumerate(re.findall(rb"(\d{10}) 00000 n", content), 1):
        assert content[int(place) :].startswith(f"{number} 0 obj".encode())
    assert content == pdf_bytes(CURVES.page())


def test_a_pdf_is_read_by_pypdf(tmp_path: Path) -> None:
    pypdf = pytest.importorskip("pypdf")
    for own in (CURVES, BARS):
        path = tmp_path / "figure.pdf"
        path.write_bytes(pdf_bytes(own.page()))
        reader = pypdf.PdfReader(path, strict=True)
        (page,) = reader.pages
        assert reader.metadata.title == own.title
        text = page.extract_text()
        assert own.title in text
        assert own.x_title in text
        assert float(page.mediabox.width) == own.page().width


@pytest.mark.skipif(shutil.which("pdftotext") is None, reason="poppler is not installed")
def test_a_pdf_is_read_by_poppler(tmp_path: Path) -> None:
    odd = Chart("(a) \\ b & <c>", "x", "y", bins=("1",), series=(Series("s", (2,)),))
    for own in (CURVES, BARS, odd):
        path = tmp_path / "figure.pdf"
        path.write_bytes(pdf_bytes(own.page()))
        done = subprocess.run(["pdftotext", path, "-"], capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
        assert own.title in done.stdout
