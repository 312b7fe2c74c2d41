"""`misstep doctor`: check that the installation is complete, and list what could be added."""

from __future__ import annotations

import platform
import sys
from importlib import metadata
from typing import Any

from misstep.cli.arguments import AsJson
from misstep.cli.output import print_json, say
from misstep.errors import MisstepError, ToolError

REQUIRED = ("numpy", "plado", "fast-downward-translate", "nanobind-backend", "typer", "rich")
# Extra of this package -> the packages that it brings, and what it is for. A test compares with pyproject.toml.
OPTIONAL = {
    "neural": (("torch",), "training, and graph networks (gnn:, rgnn:)"),
    "onnx": (("onnxruntime",), "networks in ONNX files"),
    "gym": (("gymnasium",), "tasks as environments of Gymnasium"),
    "prism": (("stormpy",), "models of PRISM (.prism files)"),
    "remote": (("grpcio",), "policies behind a server (grpc:, serve-policy)"),
    "cluster": (("distributed", "dask-jobqueue", "bokeh"), "work on many machines (--cluster)"),
    "docs": (("sphinx", "furo", "myst-parser"), "building the documentation (make docs)"),
    "bench": (
        ("momba", "momba-engine", "pymimir", "stormpy", "up-fast-downward"),
        "the benchmarks, with the tools that they compare with",
    ),
    "originals": (
        (
            *("gymnasium", "grpcio-tools", "lightgbm", "momba", "momba-engine", "onnx"),
            *("onnxruntime", "sarif-tools", "sb3-contrib", "scikit-learn", "stable-baselines3"),
            *("stormpy", "triton", "wlplan", "xgboost-cpu"),
        ),
        "the tests that compare with the programs whose files are read",
    ),
    "dev": (
        (
            *(
                "clang-format",
                "distributed",
                "grpcio",
                "hypothesis",
                "junitparser",
                "mypy",
                "pypdf",
            ),
            *("pytest", "pytest-xdist", "ruff", "sarif-pydantic"),
        ),
        "running the tests of Misstep itself",
    ),
}


def doctor_command(as_json: AsJson = False) -> int:
    """Show versions, check that the core and the translator work, name what is missing and how to get it.

    Exit code 0 if the installation is complete; extras that are not installed do not count.

    Example: misstep doctor
    """
    report: dict[str, Any] = {
        "misstep": _version("misstep"),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "required": {name: _version(name) for name in REQUIRED},
        "optional": {
            extra: {"installed": all(map(_version, names)), "packages": list(names), "for": purpose}
            for extra, (names, purpose) in OPTIONAL.items()
        },
        "check": _self_check(),
    }
    report["healthy"] = all(report["required"].values()) and report["check"] == "ok"
    if as_json:
        print_json(report)
    else:
        _print(report)
    return 0 if report["healthy"] else ToolError.exit_code


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _self_check() -> str:
    """Generate, translate and solve a small task, without the cache."""
    import tempfile
    from pathlib import Path

    try:
        from misstep.planning import plan
        from misstep.tasks.domains import generate
        from misstep.tasks.domains.write import write_instance
        from misstep.tasks.load import load_task

        with tempfile.TemporaryDirectory() as folder:
            files = write_instance(generate("gripper", balls=1), Path(folder))
            task = load_task(*files, use_cache=False)
            cost = plan(task).cost
        return "ok" if cost == 3 else f"found a plan of cost {cost}, but 3 is right"
    except (MisstepError, ImportError, OSError) as error:
        return f"{type(error).__name__}: {error}"


def _print(report: dict[str, Any]) -> None:
    say(f"misstep {report['misstep']}, Python {report['python']}, {report['platform']}")
    for name, version in report["required"].items():
        hint = f"pip install --force-reinstall {name}"
        say(f"  {name:<24} {version or 'MISSING: ' + hint}")
    say("extras:")
    for extra, state in report["optional"].items():
        say(f"  {extra:<8} {state['for']}")
        missing = [package for package in state["packages"] if _version(package) is None]
        if not missing:
            say("           installed")
        else:
            say(f"           missing: {', '.join(missing)}; pip install 'misstep[{extra}]'")
    say("check:")
    say(f"  generate, translate, plan: {report['check']}")
    if not report["healthy"]:
        sys.stderr.write("misstep: the installation is not complete; see above\n")
