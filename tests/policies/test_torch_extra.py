"""A PyTorch that cannot be loaded."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from misstep.errors import MissingDependencyError

NAME = "misstep.policies.torch_extra"


@pytest.mark.parametrize(
    ("code", "told"),
    [
        (None, "which is not installed"),
        (
            "raise ImportError('failed to map segment')",
            "cannot be loaded: ImportError: failed to map segment",
        ),
        (
            "raise OSError('libcublas.so: cannot open shared object file')",
            "cannot be loaded: OSError: libcublas.so",
        ),
        (
            "import nothing_of_this_name",
            "cannot be loaded: ModuleNotFoundError: No module named 'nothing_of_this_name'",
        ),
    ],
)
def test_it_is_not_called_missing_if_it_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str | None, told: str
) -> None:
    if code is None:
        monkeypatch.setitem(sys.modules, "torch", None)
    else:
        (tmp_path / "torch.py").write_text(code)
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.delitem(sys.modules, NAME, raising=False)
    with pytest.raises(MissingDependencyError, match=told):
        __import__(NAME)
