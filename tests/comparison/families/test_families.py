"""Families of whole campaigns: what they contain, when there are none, and names in files of others."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from misstep.campaigns.campaign import Campaign
from misstep.campaigns.records import Decision, Fault, Run
from misstep.campaigns.testing import test as run_test
from misstep.comparison.families.family import Family
from misstep.comparison.families.find import NO_GOOD, WITHOUT, describe, find_families
from misstep.comparison.families.words import LONGEST, name, negated, sentence
from misstep.tasks.domains import generate
from misstep.tasks.load import load_task
from misstep.tasks.task import Task
from support.campaigns import small_model
from support.records import record


@pytest.fixture(scope="module")
def ferry() -> Campaign:
    task = load_task(generate("ferry", cars=3, locations=3, seed=1))
    return run_test(task, "zoo:ferry-rules", pool=60, seed=0)


def blamed(campaign: Campaign) -> set[str]:
    return {bug.id for bug in campaign.bugs if bug.faults}


def test_every_bug_with_a_fault_is_in_a_family(ferry: Campaign) -> None:
    families = ferry.families
    assert {id for family in families for id in family.records} == blamed(ferry)
    assert [own.count for own in families] == sorted((f.count for f in families), reverse=True)
    assert sum(own.faults for own in families) == len({(f.state, f.decision) for f in ferry.faults})
    assert len({own.key for own in families}) == len(families)


def test_a_family_tells_what_it_holds(ferry: Campaign) -> None:
    for family in ferry.families:
        bugs = [ferry.record(id) for id in family.records]
        signatures = {own for bug in bugs for own in [bug.family]}
        assert family.signature in signatures or all(len(bug.faults or ()) > 1 for bug in bugs)
        finite = [bug.gap[0] for bug in bugs if bug.gap is not None and bug.gap[0] is not None]
        assert family.worst_gap == max(finite, default=None)
        assert family.failing == sum(bug.gap is not None and bug.gap[0] is None for bug in bugs)
        example = ferry.record(family.example)
        assert family.example in family.records
        assert family.example_state in [fault.state for fault in example.faults or ()]
        assert f"{family.count} bug" in family.sentence
        assert len(family.sentence) <= LONGEST
        assert family.measured is None
        assert bool(family.conditions) == bool(family.canonical)
        assert family.as_dict()["count"] == family.count


def test_the_same_records_give_the_same_families(ferry: Campaign) -> None:
    again = find_families(ferry.tasks, ferry.records)
    assert again == ferry.families
    assert find_families(ferry.tasks, list(reversed(ferry.records)))  # another order is no error


def test_a_campaign_without_bugs_has_no_families() -> None:
    task = load_task(generate("gripper", balls=2))
    assert run_test(task, "optimal", pool=10).families == []


def test_bugs_without_faults_are_in_no_family() -> None:
    task = load_task(generate("gripper", balls=2))
    bugs = [
        record(n, task=task.name, verdict="BUG", faults=own) for n, own in enumerate([None, ()])
    ]
    assert find_families([task], bugs) == []


def test_domains_are_told_about_apart() -> None:
    tasks = [
        load_task(generate("ferry", cars=3, locations=3, seed=1)),
        load_task(generate("gripper", balls=4, seed=1)),
    ]
    for task, own in zip(tasks, ("ferry", "gripper"), strict=True):
        task.name = own
    campaign = run_test(tasks, "noisy:0.4:1+heuristic:ff", pool=30, seed=0)
    families = campaign.families
    assert {family.domain for family in families} == {"ferry", "gripper"}
    for family in families:
        assert family.tasks == (family.domain,)
        assert family.key.startswith(f"{family.domain}: ")


def test_a_task_from_a_sas_file() -> None:
    task = load_task(generate("ferry", cars=3, locations=3, seed=1))
    bare = Task(task.sas, name="bare")
    campaign = run_test(bare, "noisy:0.4:1+heuristic:ff", pool=60, seed=0)
    families = campaign.families
    assert {id for family in families for id in family.records} == blamed(campaign)
    assert any(family.conditions for family in families)
    assert all(
        "sail" in f.signature or "board" in f.signature or "debark" in f.signature for f in families
    )


@pytest.mark.parametrize("name_of_model", ["one-way-line", "two-way-line"])
def test_models(name_of_model: str) -> None:
    campaign = run_test(small_model(name_of_model), "first", runs=60)
    families = campaign.families
    assert {id for family in families for id in family.records} == blamed(campaign)
    for own in describe(campaign.tasks, campaign.records, "inf"):
        for bug in (campaign.record(id) for id in own.family.records):
            fitting = [
                fault
                for fault in bug.faults or ()
                if all(one.holds(fault.state) == yes for one, yes in own.model_rule)
            ]
            assert fitting
        assert own.family.sentence.startswith(("takes `", "stops"))
        for words in own.family.conditions:
            assert re.fullmatch(r"(not )?\w+( (>=|<=|<|>|=|!=) \S+)?", words)


# -- few decisions --------------------------------------------------------------------------------

GRIPPER = load_task(generate("gripper", balls=2))


def bug(number: int, decision: str | None, better: str | None = None) -> object:
    def made(text: str | None) -> Decision | None:
        return None if text is None else Decision(GRIPPER.operators_named(text)[0], text)

    own = Fault(
        0, GRIPPER.initial_state.values, (), made(decision), made(better), (1, 1), None, False, None
    )
    run = Run("goal", (), (), 3, None, None)
    return record(
        number, task=GRIPPER.name, verdict="BUG", gap=(number, number), faults=(own,), run=run
    )


def families(*bugs: object) -> list[Family]:
    return find_families([GRIPPER], bugs)  # type: ignore[arg-type]


def test_where_nothing_is_known_to_be_good() -> None:
    (own,) = families(bug(3, "move room-a room-b", "pick ball1 room-a left"))
    assert own.sentence == f"moves instead of picking, {NO_GOOD}: 1 bug, worst gap 3"
    assert own.conditions == ()
    assert not own.remainder


def test_where_the_policy_stops_and_nothing_better_is_named() -> None:
    (own,) = families(bug(1, None))
    assert own.sentence == f"stops where something else is better, {NO_GOOD}: 1 bug, worst gap 1"
    assert own.signature == "stops instead of something else"


def test_what_no_condition_covers_is_said_to_be_so() -> None:
    good = replace(
        record(9, task=GRIPPER.name, verdict="OPTIMAL", bounds=(1, 1)),
        state=GRIPPER.initial_state.values,
        run=Run("goal", GRIPPER.operators_named("move room-a room-b"), ("x",), 1, None, None),
    )
    wrong = bug(3, "move room-a room-b", "pick ball1 room-a left")
    assert isinstance(wrong, type(good))
    other = (*GRIPPER.apply(GRIPPER.initial_state, good.run.operators[0]).values,)
    wrong = replace(wrong, faults=(replace((wrong.faults or ())[0], state=other),))
    (own,) = families(wrong, good)
    assert own.remainder
    assert own.key == f"gripper: move instead of pick ({WITHOUT})"
    assert own.sentence == f"moves instead of picking, {WITHOUT}: 1 bug, worst gap 3"


# -- names ----------------------------------------------------------------------------------------


def test_names_are_harmless_and_short() -> None:
    assert name("Room-A") == "room-a"
    assert not re.search(r"[^a-z0-9_.?\-]", name("\x1b[31mred\u202e`<b>\n"))
    assert len(name("x" * 500)) <= 30


def test_hostile_names_in_a_sas_file() -> None:
    task = load_task(generate("ferry", cars=3, locations=3, seed=1))
    sas = task.sas.replace(b"Atom at(", b"Atom \x1b[2J\xe2\x80\xaeat(").replace(
        b"sail ", b"\x1b[31msail "
    )
    sas = sas.replace(b"Atom on(", b"no atom at all (")
    campaign = run_test(Task(sas, name="odd"), "noisy:0.4:1+heuristic:ff", pool=60, seed=0)
    assert campaign.families
    for family in campaign.families:
        assert family.sentence.isprintable()
        assert all(words.isprintable() for words in family.conditions)
        assert len(family.sentence) <= LONGEST


def test_a_sentence_has_two_lines_at_most() -> None:
    told = sentence("moves", ["some ball is at the room"] * 20, None, "3 bugs")
    assert len(told) <= LONGEST
    assert "more condition(s): 3 bugs" in told


def test_clauses_are_denied() -> None:
    assert negated("is at the room") == "is not at the room"
    assert negated("the hand is empty") == "the hand is not empty"
    assert negated("carries some ball") == "does not carry some ball"
    assert negated("has some ball at it") == "has no ball at it"
