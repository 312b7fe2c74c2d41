"""Build the site: `python -m docsite.build [FOLDER]` writes it to build/docs/html, or to FOLDER/html.

The pages are copied to FOLDER/source, those that are made from the code beside them, each index with the list of the
pages below it, which Sphinx makes the navigation from. Sphinx takes no warning: a link that leads nowhere fails.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from docsite import pages

# What links lead to that is no page, such as an example in Python, is put here.
FILES = "files"


def source(name: str, folder: Path) -> str:
    """The text of a page for the site: links to files outside of it lead to copies, and an index has its list."""
    text = pages.texts()[name]
    for link in reversed(pages.links(text)):
        if pages.is_outer(link.target):
            continue
        target, anchor = pages.target_of(name, link.target)
        if isinstance(target, Path):
            target = _copied(target, folder)
        address = os.path.relpath(target, Path(name).parent) + (f"#{anchor}" if anchor else "")
        text = text[: link.start] + address + text[link.end :]
    below = pages.navigation().get(name)
    if below:
        relative = [os.path.relpath(page, Path(name).parent) for page in below]
        text += "\n".join(["", "```{toctree}", ":hidden:", "", *relative, "```", ""])
    return text


def _copied(file: Path, folder: Path) -> str:
    """The file below the folder of the site's sources; a folder is shown as the list of what is in it."""
    if file.is_relative_to(pages.DOCS):  # images lie where they are in the repository
        name = file.relative_to(pages.DOCS).as_posix()
    else:
        name = f"{FILES}/{file.relative_to(pages.ROOT).as_posix()}"
    if file.is_dir():
        name += ".txt"
        content = "\n".join(sorted(path.name for path in file.iterdir())).encode()
    else:
        content = file.read_bytes()
    copy = folder / name
    copy.parent.mkdir(parents=True, exist_ok=True)
    copy.write_bytes(content)
    return name


def write_sources(folder: Path) -> None:
    """All pages as Sphinx reads them."""
    shutil.rmtree(folder, ignore_errors=True)
    for name in pages.texts():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source(name, folder), encoding="utf-8")
    shutil.copytree(pages.DOCS / "images", folder / "images", dirs_exist_ok=True)


def build(folder: Path) -> int:
    if pages.unplaced():
        print("no index page links to", *pages.unplaced(), file=sys.stderr)
    try:
        from sphinx.cmd.build import build_main
    except ImportError:
        print("Sphinx is missing; pip install '.[docs]' gets it", file=sys.stderr)
        return 34
    write_sources(folder / "source")
    configuration = ["-c", str(Path(__file__).parent), "-d", str(folder / "doctrees")]
    words = ["-q", "-W", "--keep-going", "-j", "2", "-b", "html", *configuration]
    code = build_main([*words, str(folder / "source"), str(folder / "html")])
    if code == 0:
        print(f"{len(pages.texts())} pages: {folder / 'html' / 'index.html'}")
    return int(code)


if __name__ == "__main__":
    sys.exit(build(Path(sys.argv[1]) if len(sys.argv) > 1 else pages.ROOT / "build" / "docs"))
