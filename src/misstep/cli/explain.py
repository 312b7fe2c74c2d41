"""`misstep explain`: why the policy fails, and which decisions are to blame."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from misstep.cli.arguments import AsJson, check_limits
from misstep.cli.defaults import EXACT_STATES, EXPLAIN_EVALUATIONS
from misstep.cli.output import print_json, remark, search_progress
from misstep.errors import UsageError

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

    from misstep.campaigns.blame import BlamedDecision
    from misstep.campaigns.records import TestedState
    from misstep.campaigns.store import CampaignStore
    from misstep.faults.distances import Distances
    from misstep.faults.explain import Explanation, Misstep
    from misstep.faults.regret import Value
    from misstep.faults.repair import Repair
    from misstep.tasks.task import Task


def explain_command(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A campaign.")],
    bug: Annotated[
        str | None,
        typer.Argument(
            metavar="BUG",
            help="Number of a state, or TASK:NUMBER; left out: the missteps behind all bugs.",
            show_default=False,
        ),
    ] = None,
    max_states: Annotated[
        int, typer.Option(metavar="N", help="Exact distances on tasks up to this size; 0: never.")
    ] = EXACT_STATES,
    evaluations: Annotated[
        int, typer.Option(metavar="N", help="Of the search from each state on larger tasks.")
    ] = EXPLAIN_EVALUATIONS,
    top: Annotated[int, typer.Option(metavar="N", help="How many missteps to print.")] = 20,
    shield: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Of a model: write the faults as a blacklist for shield:FILE+SPEC."
        ),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Explain a bug: the policy's run beside the better plan, the missteps with their share of the gap, the repair.

    Without BUG: the decisions behind all bugs of the campaign, those that cause most of them first.
    """
    if max_states < 0:
        raise UsageError(f"--max-states is {max_states}", expected="0 or more")
    check_limits(evaluations=evaluations, top=top)
    from misstep.campaigns.store import open_store

    def distances_of(task: Task) -> Distances:
        from misstep.faults.distances import distances

        return distances(task, max_states=max_states, evaluations=evaluations)

    with open_store(folder, readonly=True) as store:
        for text in store.remarks:
            remark(text)
        from misstep.cli.jani_test import is_safety

        if is_safety(store):
            from misstep.cli.jani_records import explain_safety

            explain_safety(store, bug, top, shield, as_json)
            return 0
        from misstep.campaigns.blame import blame, explain_bug, find_bug
        from misstep.campaigns.policy import policy_of

        if bug is None:
            with _progress() as bar:
                row = bar.add_task("", total=None)
                blamed = blame(
                    store,
                    distances_of,
                    lambda name, done, total: bar.update(
                        row, description=name, completed=done, total=total
                    ),
                )
            if as_json:
                print_json({"missteps": [decision.as_dict() for decision in blamed]})
            else:
                _print_blamed(blamed, top)
            return 0
        tested = find_bug(store, bug)
        task = store.task(tested.task)
        runner, problem = policy_of(store, task)
        try:
            with search_progress("comparing the run with better plans"):
                explanation = explain_bug(store, tested, distances_of(task), runner)
        finally:
            if runner is not None:
                runner.policy.close()
        if as_json:
            print_json(
                {"task": tested.task, "bug": tested.index, "kind": tested.kind}
                | explanation.as_dict()
                | {"policy_problem": problem}
            )
        else:
            _print(store, tested, explanation)
            if problem is not None:
                remark(f"no repair: {problem}")
    return 0


def _progress() -> Bar:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    return Bar(
        TextColumn("{task.description}: blaming"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )


def _print_blamed(blamed: list[BlamedDecision], top: int) -> None:
    from misstep.faults.explain import operator_text

    if not blamed:
        print("no missteps proven")
        return
    several = len({decision.task.name for decision in blamed}) > 1
    for decision in blamed[:top]:
        where = f"{decision.task.name}: " if several else ""
        print(
            f"{where}{len(decision.bugs)} bug(s), such as {decision.bugs[0]}: "
            f"{_decision(decision.task, decision.decision)} instead of "
            f"{operator_text(decision.task, decision.better)}, "
            f"loses {_interval(decision.low, decision.high)}"
        )
    if len(blamed) > top:
        remark(f"... and {len(blamed) - top} more (--top)")


def _print(store: CampaignStore, bug: TestedState, explanation: Explanation) -> None:
    task, run = explanation.task, explanation.run
    cost = str(run.cost) if run.outcome == "goal" else f"{run.outcome} after {run.cost}"
    low, high = explanation.regrets.gap_low, explanation.regrets.gap_high
    found = f"found by {bug.oracle}" if bug.oracle else "known from other states"
    print(f"bug {bug.index} of {bug.task} in {store.folder}: {bug.kind}, {found}")
    print(f"the policy: {cost}; possible: {explanation.best_cost}; gap {_interval(low, high)}")
    print()
    _print_side_by_side(explanation)
    if bug.derivation is not None:
        _print_derivation(task, bug)
    divergence = None if explanation.diff is None else explanation.diff.divergence
    if divergence is not None:
        print()
        print(
            f"They part at step {divergence.step}: the policy does {_decision(task, divergence.run_operator)}, "
            f"the plan {_decision(task, divergence.plan_operator)}."
        )
        print(f"  true only after the policy: {', '.join(divergence.run_facts) or '-'}")
        print(f"  true only after the plan:   {', '.join(divergence.plan_facts) or '-'}")
    reachieved = () if explanation.diff is None else explanation.diff.reachieved
    again = [f"{fact} {times} times" for fact, times in reachieved]
    if again:
        print(f"The policy makes true again and again: {', '.join(again[:6])}.")
    print()
    proof = "exact" if explanation.exact else "proven by bounds"
    print(f"Missteps ({proof}):" if explanation.missteps else f"No single misstep is {proof}.")
    for misstep in explanation.missteps:
        print(f"  {_misstep(task, misstep)}")
    for title, repair in (
        ("to reach the goal", explanation.to_the_goal),
        ("to be as cheap as the best plan known", explanation.to_the_best),
    ):
        if repair is not None:
            _print_repair(task, title, repair)


def _print_side_by_side(explanation: Explanation) -> None:
    from misstep.faults.diff import Segment

    task = explanation.task
    blamed = {misstep.regret.step: misstep for misstep in explanation.missteps}
    names = [f"({name})" for name in task.operator_names]
    run, plan = explanation.run.operators, explanation.plan or ()
    width = max([len("the policy"), *(len(names[op]) for op in run)])
    title = "the plan" if explanation.diff is not None else ""
    print(f"step  {'the policy':<{width}}    {title}".rstrip())
    alone = Segment(False, 0, len(run), 0, 0, 0, 0)
    for segment in (alone,) if explanation.diff is None else explanation.diff.segments:
        left = list(range(segment.run_first, segment.run_last))
        right = list(range(segment.plan_first, segment.plan_last))
        for k in range(max(len(left), len(right))):
            step = left[k] if k < len(left) else None
            ours = "" if step is None else names[run[step]]
            theirs = names[plan[right[k]]] if k < len(right) else ""
            mark = "<" if step in blamed else " "
            number = "" if step is None else str(step)
            print(f"{number:>4}  {ours:<{width}} {mark}  {theirs}".rstrip())
    end = explanation.run.outcome
    if end != "goal":
        mark = "<" if len(run) in blamed else ""
        print(f"      {f'({end})':<{width}} {mark}".rstrip())


def _print_derivation(task: Task, bug: TestedState) -> None:
    """A proof without a plan, step by step."""
    from misstep.tasks.task import State

    print()
    print(f"No plan is at hand, but one of cost {bug.upper_bound} at most exists:")
    operators: list[str] = []

    def tell() -> None:
        if operators:
            print(f"  apply {', '.join(operators)}")
            operators.clear()

    for step in bug.derivation or ():
        if "operator" in step:
            operators.append(f"({step['operator']})")
            continue
        tell()
        value = step["value"]
        worth = (
            f"at least {value} more"
            if value > 0
            else f"at most {-value} less"
            if value
            else "no less"
        )
        print(f"  compare with {', '.join(task.facts(State(step['state'])))}:")
        print(f"  a plan from there costs {worth} than one from here, because of")
        for factor in step["factors"]:
            if factor["value"]:
                names = ", ".join(_variable(task, v) for v in factor["variables"])
                print(f"    {factor['value']:+d} by {names}")
    tell()
    print("  and the goal is reached there.")


def _variable(task: Task, variable: int) -> str:
    """A variable by its first value, which says more than its number."""
    return task.fact_names[variable][0].removeprefix("Atom ")


def _misstep(task: Task, misstep: Misstep) -> str:
    from misstep.faults.explain import operator_text

    regret = misstep.regret
    text = f"step {regret.step}: {_decision(task, regret.operator)}"
    if misstep.better is not None:
        text += f" instead of {operator_text(task, misstep.better)}"
    if regret.low > 0 or regret.detour is None:
        text += f", loses {_interval(regret.low, regret.high)}"
    else:
        text += f", loses no cost but {regret.detour} step(s)"
    if misstep.share is not None:
        text += f", {misstep.share:.0%} of the gap"
    return text + (", in every round of the loop" if regret.recurring else "")


def _print_repair(task: Task, title: str, repair: Repair) -> None:
    from misstep.faults.explain import operator_text

    count = len(repair.deviations)
    if repair.status == "impossible":
        print(f"No repair {title}.")
        return
    if repair.status == "limit":
        print(f"No repair {title} found; at least {repair.lower_bound} decision(s) have to change.")
        return
    proof = "" if repair.status == "minimal" else f" (at least {repair.lower_bound})"
    print(
        f"Smallest repair {title}: {count} decision(s){proof}, then the policy gets there at {repair.cost}:"
    )
    for deviation in repair.deviations:
        own = deviation.policy_operator if deviation.policy_operator >= 0 else None
        instead = operator_text(task, deviation.operator)
        print(f"  step {deviation.step}: {instead} instead of {_decision(task, own)}")


def _decision(task: Task, operator: int | None) -> str:
    from misstep.faults.explain import operator_text

    return operator_text(task, operator) or "nothing"


def _interval(low: Value, high: Value) -> str:
    shown = ["infinitely much" if math.isinf(value) else str(int(value)) for value in (low, high)]
    return shown[0] if low == high else f"{shown[0]} to {shown[1]}"
