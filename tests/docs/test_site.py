"""The pages of the site: all can be reached, no link leads nowhere, and the reference has all that the code has."""

from __future__ import annotations

import dataclasses
import inspect
import re
from importlib.util import find_spec
from pathlib import Path

import pytest
from docsite import api, build, commands, graph, pages, unbroken

import misstep
from misstep.campaigns import records


def test_every_page_can_be_reached() -> None:
    assert not pages.unplaced(), "link it in an index.md below docs/"
    placed = [page for below in pages.navigation().values() for page in below]
    assert len(placed) == len(set(placed)) == len(pages.texts()) - 1


@pytest.mark.parametrize("name", pages.texts())
def test_links_lead_somewhere(name: str) -> None:
    assert pages.broken_links(name) == []


@pytest.mark.parametrize("file", ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"])
def test_links_of_the_root_lead_somewhere(file: str) -> None:
    for link in pages.links((pages.ROOT / file).read_text()):
        if not pages.is_outer(link.target):
            assert (pages.ROOT / link.target.partition("#")[0]).exists(), link.target


def test_a_broken_link_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "[a](nowhere.md) [b](records.md#no-such-heading) [c](../setup.cfg) `[d](x.md)` [e](#own)\n\n# Own"
    changed = {**pages.texts(), "index.md": text}
    monkeypatch.setattr(pages, "texts", lambda: changed)
    assert pages.broken_links("index.md") == [
        "nowhere.md",
        "records.md#no-such-heading",
        "../setup.cfg",
    ]


def test_an_unreachable_page_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        pages, "texts", lambda: {**pages.generated(), "index.md": "# Home", "lost.md": ""}
    )
    pages.linked.cache_clear()
    assert "lost.md" in pages.unplaced()
    pages.linked.cache_clear()


# -- the reference --------------------------------------------------------------------------------


@pytest.mark.parametrize("words", commands.commands())
def test_every_option_is_described(words: str) -> None:
    command = commands.commands()[words]
    text = pages.texts()[f"{commands.FOLDER}/{words.replace(' ', '/')}.md"]
    if hasattr(command, "commands"):
        assert all(f"misstep {words} {inner}]" in text for inner in command.commands)
        return
    for parameter in command.get_params(commands.context_of(words, command)):
        if parameter.get_help_record(commands.context_of(words, command)) is not None:
            written = parameter.opts[0] if parameter.param_type_name == "option" else ""
            assert written in text
    assert "(no help)" not in text
    assert "## Exit codes" in text


def test_ranges_of_options_are_in_words() -> None:
    page = commands.page("test", commands.commands()["test"])
    assert "0 or more" in page
    assert "x>=" not in page


def test_options_in_sentences_are_code() -> None:
    told = commands.escaped("Left out with --pool-from,\n  not a_b or well--known.")
    assert told == r"Left out with `--pool-from`, not a\_b or well--known."


@pytest.mark.parametrize("name", misstep.__all__)
def test_every_public_name_is_described(name: str) -> None:
    thing = getattr(misstep, name)
    kind = "class" if inspect.isclass(thing) else "function"
    text = pages.texts()[f"{api.FOLDER}/{kind}-{name}.md"]
    assert api.docstring(thing) in text
    if inspect.isclass(thing):
        for member, _ in api.members(thing):
            assert f"## {name}.{member}\n" in text


def test_fields_of_records_are_described_in_the_api() -> None:
    text = pages.texts()[f"{api.FOLDER}/class-Record.md"]
    for own in dataclasses.fields(records.Record):
        assert f"- `{own.name}` (`" in text


def test_signatures_are_words_of_the_source() -> None:
    def example(a: str, b: Path | None = None, *, c: str = "x") -> list[Path]:
        return [Path(a + c), *([b] if b else [])]

    assert (
        api.signature(example) == "(a: str, b: Path | None = None, *, c: str = 'x') -> list[Path]"
    )


def test_long_signatures_have_a_parameter_on_each_line() -> None:
    head = "def f(a: dict[str, int], b: str = ', (', *, c: tuple[int, ...] = ()) -> list[int]: ..."
    lines = api.folded(head + " " * api.WIDTH).rstrip().split("\n")
    assert lines == [
        "def f(",
        "    a: dict[str, int],",
        "    b: str = ', (',",
        "    *,",
        "    c: tuple[int, ...] = (),",
        ") -> list[int]: ...",
    ]
    assert api.folded("def f(a: int) -> str: ...") == "def f(a: int) -> str: ..."


def test_the_drawing_has_every_package() -> None:
    text = pages.texts()[graph.NAME]
    for part, others in graph.edges().items():
        assert f">{part}</text>" in text
        for other in graph.reduced()[part]:
            assert other in others
    # Nothing is lost: what is imported at all can be reached along the arcs.
    whole = dict(graph.edges())
    whole["campaigns"] = whole["campaigns"] - {"comparison", "reports"}
    for part in whole:
        assert graph.closure(graph.reduced(), part) == graph.closure(whole, part)


# -- the site -------------------------------------------------------------------------------------


def test_sources_have_their_navigation(tmp_path: Path) -> None:
    home = build.source("index.md", tmp_path)
    assert "```{toctree}\n:hidden:\n\ntutorials/index.md\n" in home
    protocol = build.source("policy-protocol.md", tmp_path)
    assert "(files/examples/policies/first_applicable.py)" in protocol
    assert (tmp_path / "files/examples/policies/first_applicable.py").exists()


def test_short_code_is_kept_whole() -> None:
    assert unbroken.is_short("misstep test --max-states N")
    assert not unbroken.is_short("noisy:0.15:4+shipped:transport --pool 20")


def test_options_in_blocks_are_marked() -> None:
    page = "<p>a --b</p><pre>run --max-states 3 -o x--y</pre> --c <pre>\n--d</pre>"
    assert unbroken.options_marked(page) == (
        '<p>a --b</p><pre>run <span class="option">--max-states</span> 3 -o x--y</pre> --c '
        '<pre>\n<span class="option">--d</span></pre>'
    )


# Extensions may call what Sphinx is going to remove.
@pytest.mark.filterwarnings("ignore:.*Check CHANGES for Sphinx API modifications")
@pytest.mark.soundness  # half a minute, and needs the extra `docs`
@pytest.mark.skipif(
    not all(map(find_spec, ("sphinx", "furo", "myst_parser"))), reason="the extra docs is missing"
)
def test_the_site_builds_and_asks_nobody(tmp_path: Path) -> None:
    assert build.build(tmp_path) == 0
    html = tmp_path / "html"
    for page in html.rglob("*.html"):
        text = page.read_text()
        for outer in ('<script src="http', '<link rel="stylesheet" href="http', "@import url(http"):
            assert outer not in text
    assert "misstep" in (html / "searchindex.js").read_text()
    settings, census = ((html / page).read_text() for page in ("settings.html", "cluster.html"))
    assert re.search(
        r'<code class="[^"]*\bshort\b[^"]*"><span class="pre">--max-steps</span>', settings
    )
    assert '<span class="option">--time-limit</span>' in census
