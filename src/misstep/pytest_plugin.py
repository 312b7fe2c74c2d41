"""The pytest plugin, which runs exported bugs as tests of the current policy.

    pytest tests --misstep-policy python:policy.py:act

`misstep export tests` writes a test module with the mark `misstep_bugs`, and the data that the mark names. Each bug
becomes a test, which is expected to fail as long as the bug is there. Every run of pytest loads this module where
Misstep is installed, so it imports nothing else of Misstep until it finds such a test.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from misstep.reports.exports.cases import Case, Cases
    from misstep.reports.exports.judge import Bench

MARK = "misstep_bugs"
HOW = (
    "the bug is fixed: export the tests again from a campaign with the new policy, or set expected_to_fail to false "
    "in the data file"
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("misstep").addoption(
        "--misstep-policy",
        metavar="SPEC",
        help="The policy that exported bugs are replayed with, such as python:FILE.py:NAME.",
    )
    parser.addini("misstep_policy", "The policy that exported bugs are replayed with.")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", f"{MARK}(file): one test for each bug in a file of 'misstep export tests'"
    )


class Bug:
    """The value of the fixture `misstep_bug`: one bug, and the policy that is tested."""

    def __init__(self, case: Case, bench: Bench) -> None:
        self.case = case
        self._bench = bench

    def check(self) -> None:
        """Fail in plain words if the policy does worse than the witness."""
        __tracebackhide__ = True
        from misstep.errors import MisstepError

        problem: str | None = None
        try:
            self._bench.check(self.case)
        except MisstepError as error:
            problem = str(error)
        if problem is not None:
            # An error, not a failed assertion: an expected failure must not hide that nothing could be tested.
            pytest.fail(problem, pytrace=False)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    mark = metafunc.definition.get_closest_marker(MARK)
    if mark is None or "misstep_bug" not in metafunc.fixturenames:
        return
    from misstep.errors import MisstepError
    from misstep.reports.exports.cases import read_cases

    path = Path(metafunc.definition.path).with_name(mark.args[0])
    try:
        cases = read_cases(path)
    except MisstepError as error:
        raise pytest.UsageError(str(error)) from None
    parameters = [
        pytest.param((path, cases, case), id=case.key, marks=_marks(case)) for case in cases.cases
    ]
    metafunc.parametrize("misstep_bug", parameters, indirect=True)


def _marks(case: Case) -> list[pytest.MarkDecorator]:
    if not case.expected_to_fail:
        return []
    reason = f"{case.id}: {case.headline}. If it passes, {HOW}"
    return [pytest.mark.xfail(strict=True, raises=AssertionError, reason=reason)]


@pytest.fixture(scope="session")
def misstep_policy(pytestconfig: pytest.Config) -> Any:
    """The policy to test: a spec, or None. A conftest.py may override this fixture and return any policy."""
    return pytestconfig.getoption("misstep_policy") or pytestconfig.getini("misstep_policy") or None


@pytest.fixture(scope="session")
def misstep_benches(misstep_policy: Any) -> Iterator[dict[Path, Bench]]:
    """The loaded tasks and policies that tests share, by data file."""
    benches = _Benches(misstep_policy)
    yield benches
    for bench in benches.values():
        bench.close()


class _Benches(dict[Path, Any]):
    def __init__(self, policy: Any) -> None:
        super().__init__()
        self.policy = policy

    def of(self, path: Path, cases: Cases) -> Bench:
        from misstep.reports.exports.judge import Bench

        if path not in self:
            self[path] = Bench(cases, path.parent, self.policy)
        bench: Bench = self[path]
        return bench


@pytest.fixture
def misstep_bug(request: pytest.FixtureRequest, misstep_benches: _Benches) -> Bug:
    """One bug of the file that the mark `misstep_bugs` names."""
    path, cases, case = request.param
    return Bug(case, misstep_benches.of(path, cases))
