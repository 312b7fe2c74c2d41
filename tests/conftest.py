"""What holds for all tests."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

SHARED = Path(__file__).resolve().parents[2] / "shared"
_TEMPORARY: list[tempfile.TemporaryDirectory[str]] = []

# No test fails because the machine is busy.
settings.register_profile("misstep", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("misstep")


def pytest_configure(config: pytest.Config) -> None:
    _use_own_folder()
    if config.getoption("dist", "no") == "no":  # it runs tests itself
        _let_programs_hear_signals()


def _let_programs_hear_signals() -> None:
    """Under `nohup` and in a background job, signals are ignored, also by programs that the tests start.

    A handler that does nothing is not handed on to a program, so the tests go on and their programs hear signals.
    """
    for number in (signal.SIGHUP, signal.SIGINT):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


def _use_own_folder() -> None:
    """One temporary folder for all workers: tests neither read nor fill the user's cache of translations."""
    if "MISSTEP_TEST_FOLDER" not in os.environ:
        _TEMPORARY.append(tempfile.TemporaryDirectory(prefix="misstep-tests-"))
        folder = _TEMPORARY[0].name
        os.environ["MISSTEP_TEST_FOLDER"] = folder
        os.environ["MISSTEP_CACHE_DIR"] = folder + "/cache"
        os.environ["TMPDIR"] = folder
        if os.environ.pop("PYTHONDONTWRITEBYTECODE", None):
            # Hundreds of tests start a program, and each of these would compile the whole package again.
            os.environ["PYTHONPYCACHEPREFIX"] = folder + "/bytecode"
    tempfile.tempdir = os.environ["MISSTEP_TEST_FOLDER"]


def pytest_unconfigure() -> None:
    for folder in _TEMPORARY:
        folder.cleanup()


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of benchmarks and papers that may lie beside the repository."""
    if not SHARED.is_dir():
        pytest.skip("the folder ../shared is not there")
    return SHARED


@pytest.fixture
def without_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """PyTorch is not installed, and nothing that uses it has been imported."""
    monkeypatch.setitem(sys.modules, "torch", None)
    for name, module in list(sys.modules.items()):
        if name.startswith("misstep.") and hasattr(module, "torch"):
            monkeypatch.delitem(sys.modules, name)
