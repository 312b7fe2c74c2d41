"""The notebook among the examples runs, cell by cell, and shows what its stored output shows."""

from __future__ import annotations

import json
from contextlib import redirect_stdout
from io import StringIO

from support.transcripts import ROOT

NOTEBOOK = ROOT / "examples" / "first_bug.ipynb"


def test_the_notebook_shows_what_it_computes() -> None:
    names: dict[str, object] = {"__name__": "__main__"}
    ran = 0
    for cell in json.loads(NOTEBOOK.read_text())["cells"]:
        if cell["cell_type"] != "code":
            continue
        stored = "".join(
            "".join(own["text"]) for own in cell["outputs"] if own["output_type"] == "stream"
        )
        code = "".join(cell["source"])
        # The last cell with a picture shows it by IPython, which the tests do without.
        code = code.replace("from IPython.display import SVG", "SVG = str")
        with redirect_stdout(StringIO()) as out:
            exec(compile(code, NOTEBOOK.name, "exec"), names)
        assert out.getvalue() == stored
        ran += 1
    assert ran >= 7
