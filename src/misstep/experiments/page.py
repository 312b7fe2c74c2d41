"""Write the results of an experiment into a page, such as a paper's appendix or `docs/results/ps.md`.

The results stand between two lines of the page, `<!-- experiment NAME -->` and `<!-- end of experiment NAME -->`, and
are replaced each time, so that numbers are never copied by hand. A new page begins with the title of the experiment.
Small figures are written into `images/` beside the page; larger ones are only in the report.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from misstep.errors import InputFileError
from misstep.experiments.claims import AGREES
from misstep.experiments.definition import NO_PAPER
from misstep.experiments.report import Parts, counted, parts_of, title_of
from misstep.experiments.tables import in_markdown
from misstep.files import reason, write_bytes

IMAGES = "images"
_MOST = 100_000  # bytes of a figure that is kept in a page


def write_page(folder: Path, page: Path) -> tuple[Path, ...]:
    """Write the part of the page that belongs to the experiment in the folder."""
    parts = parts_of(folder)
    name = parts.gathered.definition.name
    first, last = f"<!-- experiment {name} -->", f"<!-- end of experiment {name} -->"
    try:
        text = page.read_text(encoding="utf-8")
    except FileNotFoundError:
        definition = parts.gathered.definition
        head = (definition.title, definition.top["paper"])
        text = "# {}\n\n{}\n".format(*map(in_markdown, head)) + f"\n{first}\n{last}\n"
    except (OSError, UnicodeDecodeError) as error:
        why = reason(error) if isinstance(error, OSError) else "it is not text in UTF-8"
        raise InputFileError(f"cannot read the page: {why}", where=str(page)) from error
    begin, end = text.find(first), text.find(last)
    if not 0 <= begin < end:
        raise InputFileError(
            f"the page has no place for the experiment {name}",
            where=str(page),
            expected=f"the lines {first} and {last}",
        )
    images = {
        page.parent / IMAGES / f"{name}-{Path(own).name}": text.encode()
        for own, text in parts.figures.items()
    }
    kept = {path: content for path, content in images.items() if len(content) <= _MOST}
    body = "\n".join(_body(parts, kept, sorted(set(images) - set(kept))))
    new = f"{text[: begin + len(first)]}\n{body}\n{text[end:]}"
    try:
        for path, content in kept.items():
            path.parent.mkdir(exist_ok=True)
            write_bytes(path, content)
        write_bytes(page, new.encode())
    except OSError as error:
        raise InputFileError(f"cannot write: {reason(error)}", where=str(page)) from error
    return (page, *kept)


def _body(parts: Parts, images: dict[Path, bytes], left_out: list[Path]) -> Iterator[str]:
    gathered, claims = parts.gathered, parts.claims
    seeds = f"{gathered.seeds} seed{'' if gathered.seeds == 1 else 's'}"
    yield (
        f"Scale {gathered.scale}, {seeds}, {gathered.done} of {len(gathered.units)} units done. Written by "
        f"`misstep experiment report DIR --page FILE`."
    )
    yield ""
    whose = (
        "of ours"
        if gathered.definition.top["paper"] == NO_PAPER
        else "of the paper, told in our words"
    )
    yield f"Of {len(claims)} claims {whose}: {counted(claims)}."
    yield ""
    yield "| claim | paper | ours | verdict |"
    yield "|---|---|---|---|"
    for own in claims:
        where = f" ({own.section})" if own.section else ""
        cells = (f"{own.text[:-1]}{where}", own.paper or "-", own.ours, own.verdict)
        yield "| " + " | ".join(map(in_markdown, cells)) + " |"
    yield ""
    yield "Where the numbers do not agree, or do not decide:"
    yield ""
    for own in claims:
        if own.verdict != AGREES:
            yield f"- **{in_markdown(own.text)}** {own.verdict}; ours: {in_markdown(own.ours)}. {in_markdown(own.why)}"
    yield ""
    yield from (table.as_markdown() for table in parts.tables)
    for path, content in images.items():
        yield f"![{title_of(content.decode())}]({IMAGES}/{path.name})"
        yield ""
    missing = list(gathered.missing())
    if missing:
        yield "Missing:"
        yield ""
        yield from (f"- {in_markdown(f'{step}, {row}: {why}'[:300])}" for step, row, why in missing)
        yield ""
    if left_out:
        names = ", ".join(path.name for path in left_out)
        yield f"In the report only, because of their size: {names}."
        yield ""


__all__ = ["write_page"]
