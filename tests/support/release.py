"""What a machine can check before a release: `python -m support.release dist`, after the files there were built."""

from __future__ import annotations

import email
import re
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Licences that fit Apache-2.0 in what is imported.
FREE = re.compile(r"MIT|BSD|Apache|Python Software|PSF|ISC|MPL|Mozilla|0BSD|Zlib", re.IGNORECASE)
# Called as a separate program and never imported.
PROGRAMS = {"fast-downward-translate"}


def licence_of(name: str) -> str:
    about = metadata.metadata(name)
    said = [own for own in about.get_all("Classifier") or [] if own.startswith("License ::")]
    fields = (about.get_all("License-Expression") or []) + (about.get_all("License") or [])
    return "; ".join([*fields, *said])


def licences(requirements: list[str]) -> Iterator[str]:
    for requirement in requirements:
        name = re.split(r"[^\w.-]", requirement)[0]
        if "extra ==" in requirement or name in PROGRAMS:
            continue
        try:
            said = licence_of(name)
        except metadata.PackageNotFoundError:
            continue  # of another version of Python
        if not FREE.search(said):
            yield f"{name}: its licence is {said[:80] or 'not said'}"


def problems(folder: Path) -> Iterator[str]:
    wheels, sources = list(folder.glob("misstep-*.whl")), list(folder.glob("misstep-*.tar.gz"))
    if len(wheels) != 1 or len(sources) != 1:
        yield f"{folder}: expected one wheel and one source distribution"
        return
    with zipfile.ZipFile(wheels[0]) as archive:
        names = archive.namelist()
        about = email.message_from_bytes(
            archive.read(next(name for name in names if name.endswith(".dist-info/METADATA")))
        )
    if "-abi3-" not in wheels[0].name:
        yield f"{wheels[0].name}: not for all Pythons"
    if not any(name.endswith("LICENSE") for name in names):
        yield f"{wheels[0].name}: no LICENSE"
    for field in ("Name", "Version", "Summary", "License-Expression", "Requires-Python"):
        if not about.get(field):
            yield f"{wheels[0].name}: no {field} in the metadata"
    with tarfile.open(sources[0]) as archive:
        inside = archive.getnames()
    for needed in ("LICENSE", "README.md", "CMakeLists.txt", "core", "bindings"):
        if not any(name.split("/", 1)[-1].startswith(needed) for name in inside):
            yield f"{sources[0].name}: no {needed}"
    version = str(about.get("Version"))
    if f"version: {version}\n" not in (ROOT / "CITATION.cff").read_text():
        yield f"CITATION.cff: not version {version}"
    if not re.search(rf"(?m)^## \[?{re.escape(version)}\b", (ROOT / "CHANGELOG.md").read_text()):
        yield f"CHANGELOG.md: no section for version {version}"
    yield from licences(about.get_all("Requires-Dist") or [])


def main() -> int:
    found = list(problems(Path(sys.argv[1])))
    print(*found or ["ready for a release"], sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
