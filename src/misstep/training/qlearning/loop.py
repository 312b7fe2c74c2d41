"""Test, learn, test again: does learning from bugs remove them sooner than plain further learning?

A round tests the network, lets it learn from the bugs of all tests so far, and measures the result. The other arm
learns as many steps from the same network without the bugs. Both are measured in the same way: a test campaign,
and episodes from start states with outcomes drawn by the model's probabilities. The share of unsafe ones estimates the
risk, with an exact interval (Clopper and Pearson).

    DIR/loop.json                    what was asked for
    DIR/ARM/round-2/test/            the campaign that tested the network of round 2, ARM being bugs or plain
    DIR/ARM/round-2/learning/        the training that began with it
    DIR/rounds.jsonl                 a line for each arm and round: what the network was like

Everything continues where it was stopped: trainings and campaigns as they always do, and rounds that have a line are
not repeated.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from misstep.binomial import clopper_pearson
from misstep.campaigns.campaign import Campaign, open_campaign
from misstep.campaigns.testing import test
from misstep.errors import InputFormatError, UsageError
from misstep.files import read_bytes, refuse_link, refuse_linked_folders, write_bytes
from misstep.policies.networks import load_network
from misstep.policies.trust import is_plain
from misstep.tasks.jani.interface import load_interface
from misstep.tasks.jani.property import State
from misstep.tasks.jani.task import JaniTask
from misstep.training.qlearning.bug_states import read_bug_states
from misstep.training.qlearning.evaluate import evaluate
from misstep.training.qlearning.settings import QSettings
from misstep.training.qlearning.start_network import read_start_network
from misstep.training.resumable import json_object
from misstep.training.settings import require_same
from misstep.training.stored import check_form, damaged

BUGS, PLAIN = "bugs", "plain"
FORMAT, VERSION = "misstep-loop", 1
MAX_BYTES = 1 << 26
EPISODE_SEED = 1_000_003  # added to the seed: episodes that no training has seen
Report = Callable[[str, dict[str, Any]], None]  # the current step, and its figures


@dataclass(frozen=True)
class LoopSettings:
    """The budgets of a loop, and how it learns."""

    rounds: int = 3
    runs: int = 200  # of the fuzzer, in each test
    episodes: int = 1000  # that the risk is estimated from
    test_seconds: float | None = 60.0  # of each test, at most
    confidence: float = 0.95
    plain: bool = True  # whether the other arm is made too
    learning: QSettings = field(
        default_factory=QSettings
    )  # of each round; steps are those of a round

    def __post_init__(self) -> None:
        for name in ("rounds", "runs", "episodes"):
            if not 1 <= getattr(self, name) <= 10**7:
                raise UsageError(f"{name} is {getattr(self, name)}", expected="from 1 to 10000000")
        if not 0 < self.confidence < 1:
            raise UsageError(f"confidence is {self.confidence}", expected="between 0 and 1")
        if self.test_seconds is not None and not self.test_seconds > 0:
            raise UsageError(f"{self.test_seconds} seconds for a test", expected="more than 0")

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Round:
    """The figures of an arm's network after so many rounds of learning; round 0 is the given network."""

    arm: str
    round: int
    network: str  # its interface, inside the folder or as it was given
    steps: int  # learnt in this loop
    goal_rate: float
    unsafe_rate: float  # the estimate of the risk
    risk: tuple[float, float]  # its interval
    episodes: int
    runs: int
    unsafe_runs: int
    bugs: int
    not_bugs: int
    unknown: int


def run_loop(
    task: JaniTask,
    init: Path | None,
    out: Path,
    settings: LoopSettings | None = None,
    *,
    resume: bool = False,
    report: Report | None = None,
) -> list[Round]:
    """All rounds of both arms, or what is left of them. Without `init` the network of round 0 is trained first."""
    own = settings or LoopSettings()
    if init is not None and not resume:
        read_start_network(init, task)  # its errors are reported before the folder is made
    _begin(task, init, out, own, resume)
    loop = _Loop(task, out, own, report or (lambda _, __: None))
    first = loop.first(init)
    for arm in (BUGS, PLAIN) if own.plain else (BUGS,):
        loop.arm(arm, first)
    return loop.rows


class _Loop:
    def __init__(self, task: JaniTask, out: Path, settings: LoopSettings, report: Report) -> None:
        self.task, self.out, self.settings, self.report = task, out, settings, report
        self.rows = read_rounds(out)

    def first(self, init: Path | None) -> Path:
        """The network of round 0."""
        if init is not None:
            return init
        usual = QSettings()  # a network that knows nothing needs more random labels
        learning = replace(
            self.settings.learning,
            epsilon_first=usual.epsilon_first,
            epsilon_last=usual.epsilon_last,
            shield=False,
        )
        self._train(self.out / "first", learning, [], None, "training the first network")
        return self.out / "first" / "best.jani2nnet"

    def arm(self, arm: str, network: Path) -> None:
        starts: dict[State, None] = {}
        for number in range(self.settings.rounds + 1):
            folder = self.out / arm / f"round-{number}"
            # Round 0 is the same network in both arms, and is tested once.
            tested = self.out / BUGS / "round-0" if number == 0 else folder
            if self._row(arm, number) is None:
                with self._tested(tested, network, number) as campaign:
                    self._keep(self._measured(arm, number, network, campaign))
            if number == self.settings.rounds:
                return
            if arm == BUGS:
                with open_campaign(tested / "test") as campaign:
                    found = read_bug_states(campaign, self.task, required=False)
                starts.update(dict.fromkeys(found))
            learning = replace(
                self.settings.learning, seed=self.settings.learning.seed + number + 1
            )
            told = f"{arm}: learning, round {number + 1}"
            self._train(folder / "learning", learning, list(starts), network, told)
            network = folder / "learning" / "best.jani2nnet"

    def _tested(self, folder: Path, network: Path, number: int) -> Campaign:
        if network.is_relative_to(self.out) and not is_plain(str(network), of_model=True):
            raise InputFormatError(
                "this is not a network that a loop writes",
                where=str(network),
                expected="a .nnet file",
            )
        self.report(f"testing round {number}", {"folder": str(folder)})
        seconds = self.settings.test_seconds
        return test(
            self.task,
            str(network),
            out=folder / "test",
            resume=(folder / "test").exists(),
            limits=None if seconds is None else {"time": seconds},
            runs=self.settings.runs,
            seed=self.settings.learning.seed + number,
        )

    def _measured(self, arm: str, number: int, network: Path, campaign: Campaign) -> Round:
        own = self.settings
        interface = load_interface(network)
        assert interface.policy_file is not None
        loaded = load_network(interface.policy_file)
        figures = evaluate(
            self.task,
            loaded,
            interface.columns(self.task, str(network)),
            episodes=own.episodes,
            horizon=own.learning.horizon,
            seed=own.learning.seed + EPISODE_SEED,
        )
        unsafe = round(figures["unsafe_rate"] * figures["episodes"])
        verdicts = [record.verdict for record in campaign.iter_records()]
        summary = campaign.summary
        row = Round(
            arm=arm,
            round=number,
            network=str(network),
            steps=number * own.learning.steps,
            goal_rate=figures["goal_rate"],
            unsafe_rate=figures["unsafe_rate"],
            risk=clopper_pearson(unsafe, figures["episodes"], own.confidence),
            episodes=figures["episodes"],
            runs=summary.runs,
            unsafe_runs=summary.outcomes.get("unsafe", 0),
            bugs=verdicts.count("BUG"),
            not_bugs=verdicts.count("NOT A BUG"),
            unknown=verdicts.count("UNKNOWN"),
        )
        self.report(f"{arm}: round {number}", asdict(row))
        return row

    def _train(
        self,
        folder: Path,
        learning: QSettings,
        starts: list[State],
        init: Path | None,
        told: str,
    ) -> None:
        from misstep.training.qlearning.trainer import resume, train

        def line(figures: dict[str, Any]) -> None:
            self.report(told, figures)

        if (folder / "settings.json").exists():
            resume(self.task, folder, report=line)
        else:
            train(self.task, folder, learning, starts=starts, init=init, report=line)

    def _row(self, arm: str, number: int) -> Round | None:
        return next((row for row in self.rows if (row.arm, row.round) == (arm, number)), None)

    def _keep(self, row: Round) -> None:
        self.rows.append(row)
        text = "".join(json.dumps(asdict(own)) + "\n" for own in self.rows)
        write_bytes(self.out / "rounds.jsonl", text.encode(), follow=False)


def _begin(
    task: JaniTask, init: Path | None, out: Path, settings: LoopSettings, resume: bool
) -> None:
    """A new folder, or the same loop again; more rounds than before are fine."""
    _refuse_links(out)
    file = out / "loop.json"
    described = {
        "format": FORMAT,
        "version": VERSION,
        "task": task.digest,
        "model": task.name,
        "init": None if init is None else str(init),
        **settings.as_dict(),
    }
    described = json.loads(json.dumps(described))
    if file.exists():
        if not resume:
            raise UsageError(
                "there is a loop in this folder",
                where=str(out),
                hint="continue it with --resume, or choose another folder",
            )
        known = json_object(
            read_bytes(file, MAX_BYTES, "the settings of a loop", follow=False), str(file)
        )
        if (known.get("format"), known.get("version")) != (FORMAT, VERSION):
            raise InputFormatError("these are not the settings of a loop", where=str(file))
        if known.get("task") != task.digest:
            raise UsageError(
                f"this loop is about another model, {known.get('model')}", where=str(out)
            )
        rounds = {"rounds": described["rounds"]}
        require_same({**known, **rounds}, described, {**known, **rounds}, str(out))
    elif resume:
        raise UsageError("no loop in this folder", where=str(out), hint="leave out --resume")
    out.mkdir(parents=True, exist_ok=True)
    write_bytes(file, (json.dumps(described, indent=1) + "\n").encode(), follow=False)


def _refuse_links(out: Path) -> None:
    """The folder may come from a stranger. Campaigns and trainings in it look at their own files."""
    for name in ("loop.json", "rounds.jsonl"):
        refuse_link(out / name)
    inner = [BUGS, PLAIN, "first"]
    refuse_linked_folders(out, inner)
    for arm in (out / BUGS, out / PLAIN):
        rounds = sorted(arm.iterdir()) if arm.is_dir() else []
        refuse_linked_folders(arm, [own.name for own in rounds])
        for own in rounds:
            refuse_linked_folders(own, ("test", "learning"))


def read_rounds(out: Path) -> list[Round]:
    file = out / "rounds.jsonl"
    if not file.exists():
        return []
    text = read_bytes(file, MAX_BYTES, "the rounds of a loop", follow=False).decode(
        "utf-8", "replace"
    )
    rows = []
    for number, line in enumerate(text.splitlines(), start=1):
        where = f"{file}:{number}"
        document = json_object(line.encode(), where)
        with damaged(where):
            low, high = document.pop("risk")
            own = Round(risk=(float(low), float(high)), **document)
            check_form(asdict(own), _ROUND, "a round")
            if own.arm not in (BUGS, PLAIN) or not 0 <= own.risk[0] <= own.risk[1] <= 1:
                raise ValueError("this is not a round")
            rows.append(own)
    return rows


_ROUND = Round("", 0, "", 0, 0.0, 0.0, (0.0, 0.0), 0, 0, 0, 0, 0, 0)


def table(rows: list[Round]) -> str:
    """The rounds as they are printed."""
    heading = f"{'arm':6} {'round':>5} {'steps':>9} {'goal':>7} {'unsafe':>7}  {'risk between':>17}"
    lines = [f"{heading}  {'unsafe runs':>11}  {'bugs':>5} {'unknown':>7}"]
    for own in rows:
        low, high = own.risk
        lines.append(
            f"{own.arm:6} {own.round:>5} {own.steps:>9,} {own.goal_rate:>7.1%} "
            f"{own.unsafe_rate:>7.1%}  {low:>7.2%} - {high:>7.2%}  "
            f"{own.unsafe_runs:>5} of {own.runs:>3}  {own.bugs:>5} {own.unknown:>7}"
        )
    return "\n".join(lines)


__all__ = ["BUGS", "PLAIN", "LoopSettings", "Round", "read_rounds", "run_loop", "table"]
