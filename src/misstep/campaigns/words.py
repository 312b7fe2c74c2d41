"""Explanations in words, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from misstep.binomial import percent
from misstep.campaigns.explain import BlamedDecision, Explanation
from misstep.campaigns.records import (
    Decision,
    Fault,
    Interval,
    Record,
    contradiction_text,
    headline,
    interval_text,
)
from misstep.campaigns.rows import Values
from misstep.campaigns.worst import counted
from misstep.escaping import written_out
from misstep.faults.diff import Segment
from misstep.faults.repair import Repair
from misstep.tasks.jani.task import JaniTask
from misstep.tasks.task import State, Task


def in_words(explanation: Explanation, columns: int | None = None) -> str:
    """All of it; `columns` is the width of a terminal that run and plan shall fit on beside each other."""
    if explanation.record.verdict == "FLAKY":
        return "\n".join(_of_flaky(explanation.record))
    if isinstance(explanation.task, JaniTask):
        return "\n".join(_of_model(explanation, explanation.task))
    return "\n".join(_of_task(explanation, explanation.task, columns))


def blamed_in_words(blamed: BlamedDecision) -> str:
    text = f"{counted(len(blamed.bugs), 'bug')}, such as {blamed.bugs[0]}: {_did(blamed.decision)}"
    if blamed.better is not None:
        text += f" instead of ({blamed.better.name})"
    return f"{text}{_loss(blamed.loss, blamed.outcome)}, in {', '.join(blamed.facts)}"


def _of_flaky(record: Record) -> Iterator[str]:
    yield f"{record.id}: FLAKY, so there is no verdict on this state."
    if not record.contradictions:
        yield "The policy is not a function of the state: it declares so, or contradicts itself in other states."
    for own in record.contradictions:
        yield f"The policy answers differently when asked again: {contradiction_text(own)}."
        yield f"  step {own.step} of its run, in {', '.join(own.facts)}"
        yield f"  asked {own.asked} times until then"


# -- planning tasks -------------------------------------------------------------------------------


def _of_task(explanation: Explanation, task: Task, columns: int | None) -> Iterator[str]:
    record = explanation.record
    run = record.run
    cost = str(run.cost) if run.outcome == "goal" else f"{run.outcome} after {run.cost}"
    best = None if record.bounds is None else record.bounds[1]
    found = f"found by {written_out(record.source)}" if record.source else "known from other states"
    yield f"{record.id}: {headline(record)}, {found}"
    yield f"The policy: {cost}. Possible: {best}."
    yield from _belongs(record)
    yield ""
    yield from _side_by_side(explanation, task, columns)
    if record.witness.steps is not None:
        yield from _derivation(record, task)
    if explanation.diff is not None:
        yield from _differences(explanation, task)
    yield ""
    yield from _faults(explanation)
    for title, repair in (
        ("to reach the goal", explanation.to_the_goal),
        ("to be as cheap as the best known plan", explanation.to_the_best),
    ):
        if repair is not None:
            yield from _repair(task, title, repair)
    if explanation.problem is not None:
        yield f"No repair is known: {explanation.problem}"


def _belongs(record: Record) -> Iterator[str]:
    """Say what else the run depends on, if not on the policy alone."""
    if record.chooser is not None:
        yield f"The bug depends on the policy together with {record.chooser}."
    known = record.run.permitted
    if known is None:
        return
    if record.kind == "fails-all":
        yield "No permitted run reaches the goal; this is one of them."
    elif record.kind == "fails-some":
        yield "This is one of the runs that the policy permits; others may reach the goal."
    elif record.kind == "costly-best":
        yield f"No permitted run costs less than {known.least}."
    elif record.kind == "costly-some":
        yield f"The run is permitted; the cheapest permitted one costs at least {known.least}."


def _side_by_side(explanation: Explanation, task: Task, columns: int | None) -> Iterator[str]:
    """The run and the plan, step by step; below each other where there is no room beside each other."""
    record = explanation.record
    blamed = {fault.step for fault in explanation.faults}
    names = [f"({name})" for name in task.operator_names]
    run, plan = record.run.operators, record.witness.operators or ()
    width = max([len("the policy"), *(len(names[op]) for op in run)])
    widest = max([0, *(len(names[op]) for op in plan)]) if explanation.diff is not None else 0
    narrow = columns is not None and 6 + width + 4 + widest > columns
    title = "the plan" if explanation.diff is not None else ""
    if narrow:
        yield f"step  the policy{', and | the plan' if title else ''}"
    else:
        yield f"step  {'the policy':<{width}}    {title}".rstrip()
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
            if not narrow:
                yield f"{number:>4}  {ours:<{width}} {mark}  {theirs}".rstrip()
                continue
            if ours:
                yield f"{number:>4}  {ours} {mark}".rstrip()
            if theirs:
                yield f"      | {theirs}"
    end = record.run.outcome
    if end != "goal":
        mark = "<" if len(run) in blamed else ""
        yield f"      {f'({end})':<{width}} {mark}".rstrip()


def _derivation(record: Record, task: Task) -> Iterator[str]:
    """A proof without a plan, step by step."""
    witness = record.witness
    yield ""
    known = "No plan is known" if witness.cost is None else f"The plan costs {witness.cost}"
    yield f"{known}, but one of cost {witness.bound} at most exists:"
    operators: list[str] = []
    for step in witness.steps or ():
        if "operator" in step:
            operators.append(f"({step['name']})")
            continue
        if operators:
            yield f"  apply {', '.join(operators)}"
            operators = []
        value = step["value"]
        worth = (
            f"at least {value} more"
            if value > 0
            else f"at most {-value} less"
            if value
            else "no less"
        )
        yield f"  compare with {', '.join(task.facts(State(step['state'])))}:"
        yield f"  a plan from there costs {worth} than one from here, because of"
        for factor in step["factors"]:
            if factor["value"]:
                names = ", ".join(_variable(task, v) for v in factor["variables"])
                yield f"    {factor['value']:+d} by {names}"
    if operators:
        yield f"  apply {', '.join(operators)}"
    yield "  and the goal is reached there."


def _variable(task: Task, variable: int) -> str:
    """A variable, described by its first value, which says more than its number."""
    return task.fact_names[variable][0].removeprefix("Atom ")


def _differences(explanation: Explanation, task: Task) -> Iterator[str]:
    assert explanation.diff is not None
    divergence = explanation.diff.divergence
    if divergence is not None:
        ours, theirs = (
            "nothing" if op is None else f"({task.operator_name(op)})"
            for op in (divergence.run_operator, divergence.plan_operator)
        )
        yield ""
        yield f"They diverge at step {divergence.step}: the policy does {ours}, the plan {theirs}."
        yield f"  true only after the policy: {', '.join(divergence.run_facts) or '-'}"
        yield f"  true only after the plan:   {', '.join(divergence.plan_facts) or '-'}"
    again = [f"{fact} {times} times" for fact, times in explanation.diff.reachieved]
    if again:
        yield f"The policy makes these facts true repeatedly: {', '.join(again[:6])}."


def _faults(explanation: Explanation) -> Iterator[str]:
    if explanation.record.faults is None:
        yield "Faults were not looked for; --deeper looks for them."
        return
    if not explanation.faults:
        further = "" if explanation.exact else "; --deeper looks further"
        yield f"No decision is proven to be a fault{further}."
        return
    yield "Faults:"
    for fault in explanation.faults:
        yield f"  {_fault(fault)}"


def _fault(fault: Fault) -> str:
    text = f"step {fault.step}: {_did(fault.decision)}"
    if fault.better is not None:
        text += f" instead of ({fault.better.name})"
    text += _loss(fault.loss, fault.outcome)
    if fault.share is not None:
        text += f", {percent(fault.share)}% of the gap"
    return text + (", in every round of the loop" if fault.recurring else "")


def _loss(loss: Interval, outcome: Values | None) -> str:
    """What a decision loses; of a model, which has an outcome instead, nothing is told here."""
    if outcome is not None:
        return ""
    return ", loses steps but no cost" if loss == (0, 0) else f", loses {interval_text(loss)}"


def _repair(task: Task, title: str, repair: Repair) -> Iterator[str]:
    count = len(repair.deviations)
    if repair.status == "impossible":
        yield f"No repair {title} exists."
        return
    if repair.status == "limit":
        yield f"No repair {title} was found; at least {counted(repair.lower_bound, 'decision')} must change."
        return
    decisions = counted(count, "decision")
    what = f"Smallest repair {title}: {decisions}"
    if repair.status != "minimal":
        what = f"A repair {title}: {decisions}, and at least {repair.lower_bound} must change"
    yield f"{what}; then the policy reaches the goal at {repair.cost}:"
    for deviation in repair.deviations:
        own = deviation.policy_operator
        instead = "nothing" if own < 0 else f"({task.operator_name(own)})"
        yield f"  step {deviation.step}: ({task.operator_name(deviation.operator)}) instead of {instead}"


# -- models ---------------------------------------------------------------------------------------


def _of_model(explanation: Explanation, task: JaniTask) -> Iterator[str]:
    """Explain a bug of a model. With a finite radius, a state that is not r-safe need not be lost."""
    record = explanation.record
    r = explanation.radius
    safe, lost = ("safe", "lost") if r == "inf" else (f"{r}-safe", f"not {r}-safe")
    words = {"BUG": safe, "NOT A BUG": lost, "UNKNOWN": "?"}
    width = max(len(safe), len(lost))
    fault_word = "fault" if r == "inf" else f"{r}-fault"
    run = record.run
    assert run.states is not None
    where = f"run {record.found.run}, step {record.found.step}"
    yield f"{record.id}: {safe}, but the policy gets into an unsafe state ({where})"
    if record.radius is not None:
        radius = interval_text(record.radius)
        yield f"Radius: {radius} (the least number of deviations from the policy that avoid unsafe states)."
    yield ""
    blamed = {fault.step for fault in explanation.faults}
    last = explanation.last_safe_step
    for k, state in enumerate(run.states):
        mark = f"  <- {fault_word}" if k in blamed else ""
        label = run.names[k] if k < len(run.names) else "(unsafe)"
        word = words.get(explanation.verdicts[k] or "", "").ljust(width)
        changed = _changed(task, run.states[k - 1] if k else None, state)
        yield f"{k:>4}  {word}  {changed}  {label}{mark}".rstrip()
    yield ""
    if last is not None:
        known = all(own in ("NOT A BUG", "UNSAFE") for own in explanation.verdicts[last + 1 :])
        which = (
            f"The last {safe} state of the run" if known else f"The last state known to be {safe}"
        )
        yield f"{which} is at step {last}."
    else:
        yield f"No decision of the run is proven to be a {fault_word}."
    for fault in explanation.faults:
        bad = "" if fault.outcome is None else f", which may lead to {task.text(fault.outcome)}"
        instead = "" if fault.better is None else f"; {fault.better.name} would have been {safe}"
        did = "stopping" if fault.decision is None else fault.decision.name
        yield f"{fault_word.capitalize()} at step {fault.step}: {did}{bad}{instead}."
    if record.witness.size is not None:
        yield f"A safe strategy from here names {counted(record.witness.size, 'state')}."
    if explanation.problem is not None:
        yield f"Nothing more is known: {explanation.problem}"


def _changed(task: JaniTask, before: object, state: tuple[bool | int | float, ...]) -> str:
    """The values of a state that have changed; all values of the first state."""
    text = task.text(state)
    if before is None:
        return text
    assert isinstance(before, tuple)
    parts = text.split(", ")
    changed = [part for part, old, new in zip(parts, before, state, strict=True) if old != new]
    return ", ".join(changed) or "(no change)"


def _did(decision: Decision | None) -> str:
    return "the policy stops" if decision is None else f"({decision.name})"


__all__ = ["blamed_in_words", "in_words"]
