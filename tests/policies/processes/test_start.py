"""Programs that cannot be used at all are refused in one clear line."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from misstep.errors import InputFormatError, MisstepError, ToolError
from misstep.policies.process import ProcessPolicy
from misstep.tasks.task import Task

Make = Callable[..., ProcessPolicy]


@pytest.mark.parametrize(
    ("start", "kind", "message"),
    [
        ("sys.exit(4)", ToolError, "exit code 4"),
        ("raise ImportError('no torch')", ToolError, "no torch"),
        ("os.kill(os.getpid(), 11)", ToolError, "SIGSEGV"),
        ("os.close(1); time.sleep(600)", ToolError, "closed its"),
        ("greeting = 'Loading...'", InputFormatError, "'Loading...' where the greeting"),
        ("greeting = [1]", InputFormatError, "JSON object"),
        ("greeting['protocol'] = 2", InputFormatError, "protocol 2, not 1"),
        ("greeting['protocol'] = True", InputFormatError, "protocol true"),
        ("del greeting['protocol']", InputFormatError, "protocol null"),
        ("del greeting['name']", InputFormatError, "name null"),
        ("greeting['batch_size'] = 0", InputFormatError, "batch_size 0"),
        ("greeting['deterministic'] = 'no'", InputFormatError, "deterministic"),
        ("greeting['digest'] = 5", InputFormatError, "digest 5"),
    ],
)
def test_bad_greeting(make: Make, start: str, kind: type[MisstepError], message: str) -> None:
    with pytest.raises(kind) as caught:
        make("", start)
    text = str(caught.value)
    assert message in text
    assert "program.py" in text
    assert "docs/policy-protocol.md" in text
    assert "\n" not in text


def test_silence(make: Make) -> None:
    with pytest.raises(ToolError, match=r"no answer within 0\.5 s.*flush"):
        make("", "time.sleep(600)", start_timeout=0.5)


def test_command_not_found(task: Task) -> None:
    with pytest.raises(ToolError, match="no-such-program: no such program"):
        ProcessPolicy(task, "no-such-program --fast")


def test_not_executable(task: Task, tmp_path: Path) -> None:
    path = tmp_path / "policy"
    path.write_text("text")
    with pytest.raises(ToolError, match=r"not executable.*chmod"):
        ProcessPolicy(task, [str(path)])
    path.chmod(0o755)
    with pytest.raises(ToolError, match=r"cannot be run.*#!"):
        ProcessPolicy(task, [str(path)])
    path.write_text("#!/no/such/interpreter\n")
    with pytest.raises(ToolError, match="interpreter"):
        ProcessPolicy(task, [str(path)])


def test_leaves_no_files(
    make: Make, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("temporary")
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    policy = make()
    assert len(list(folder.iterdir())) == 1
    policy.close()
    with pytest.raises(ToolError):
        make("", "sys.exit(1)")
    assert list(folder.iterdir()) == []
