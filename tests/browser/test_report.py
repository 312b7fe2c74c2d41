"""The report in a real browser: what a reader does with it, and what is shown then."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import misstep
from misstep.campaigns.campaign import Campaign, open_campaign
from misstep.comparison.changes import change_of
from misstep.reports.html import pictures
from misstep.reports.html.write import write_report
from misstep.tasks.task import State, Task
from support.chromium import Chromium
from support.made_up import HOSTILE, hostile_task, large_campaign, one_bug, wide_task

ROWS = "document.querySelectorAll('.row.line').length"
FIRST = ".row.line [role=cell] a"


def status(browser: Chromium) -> str:
    return browser.text(".found p")


def choose(browser: Chromium, label: str, value: str) -> None:
    """Choose in a filter, or type into it."""
    browser.run(
        f"""(() => {{
          const labels = [...document.querySelectorAll('.filters label')];
          const label = labels.find(own => own.firstChild.data?.trim() === {json.dumps(label)});
          const field = label.querySelector('select, input');
          field.value = {json.dumps(value)};
          field.dispatchEvent(new Event(field.tagName === 'SELECT' ? 'change' : 'input', {{bubbles: true}}));
        }})()"""
    )


def test_the_first_screen_says_what_was_found(
    browser: Chromium, report: Path, gripper: Campaign
) -> None:
    browser.open(report)
    summary = gripper.summary
    bugs = summary.bugs["total"]
    assert f"{bugs} of {summary.tested} tested states" in browser.text("#sentence")
    figures = browser.text(".figures").split()
    assert figures[figures.index("bugs") + 1] == str(bugs)
    assert browser.run("document.querySelectorAll('svg.chart').length") >= 4
    assert "misstep replay" in browser.text("main")


def test_filters_leave_the_rows_that_fit(
    browser: Chromium, report: Path, gripper: Campaign
) -> None:
    browser.open(report, "#view=records")
    assert status(browser).startswith(f"{len(gripper)} states")
    choose(browser, "verdict", "BUG")
    browser.wait(f"document.querySelector('.found p').innerText.startsWith('{len(gripper.bugs)} ')")
    choose(browser, "verdict", "")
    fact = gripper.records[5].facts[0]
    wanted = sum(any(fact in own for own in record.facts) for record in gripper.records)
    choose(browser, "text", fact)
    browser.wait(f"document.querySelector('.found p').innerText.startsWith('{wanted} ')")
    choose(browser, "text", "")
    choose(browser, "gap, at least", "1")
    costly = sum(
        record.gap is not None and (record.gap[0] or 10**9) >= 1 for record in gripper.bugs
    )
    browser.wait(f"document.querySelector('.found p').innerText.startsWith('{costly} ')")
    choose(browser, "text", "no such thing")
    browser.wait("document.querySelector('.empty') !== null")


def test_rows_are_sorted_both_ways(browser: Chromium, report: Path, gripper: Campaign) -> None:
    browser.open(report, "#view=records")
    title = (
        "[...document.querySelectorAll('.titles button')].find(b => b.innerText.startsWith('best'))"
    )
    uppers = {record.id: (record.bounds or (0, 0))[1] or 0 for record in gripper.records}
    for best in (min(uppers.values()), max(uppers.values())):
        browser.run(f"{title}.click()")
        assert uppers[browser.text(FIRST)] == best
    assert browser.run(f"{title}.parentNode.getAttribute('aria-sort')") == "descending"


def test_a_link_opens_the_same_view(browser: Chromium, report: Path) -> None:
    browser.open(report, "#view=records")
    choose(browser, "verdict", "BUG")
    choose(browser, "text", "1")
    browser.wait("location.hash.includes('q=1')")
    browser.run("document.querySelectorAll('.titles button')[4].click()")
    fragment, told, first = browser.run("location.hash"), status(browser), browser.text(FIRST)
    browser.open(report, fragment)
    assert (status(browser), browser.text(FIRST)) == (told, first)
    assert browser.run("document.querySelector('#search').value") == "1"


def test_the_keyboard_is_enough(browser: Chromium, report: Path) -> None:
    browser.open(report)
    browser.press("/")
    browser.wait("document.activeElement.id === 'search'")
    browser.press("Escape")
    for key in "jjk":
        browser.press(key)
    chosen = browser.text(".row.line.here a")
    assert chosen == browser.run("document.querySelectorAll('.row.line a')[0].innerText")
    browser.press("Enter")
    browser.wait("document.documentElement.dataset.shown === 'record'")
    assert chosen in browser.text("h1")
    browser.press("j")
    browser.wait("document.querySelector('#slider').value === '1'")
    browser.press("Escape")
    browser.wait("document.documentElement.dataset.shown === 'records'")
    browser.press("?")
    assert browser.run("document.querySelector('dialog').open") is True
    browser.press("Escape")


def test_a_bug_shows_run_and_plan_step_by_step(
    browser: Chromium, report: Path, gripper: Campaign
) -> None:
    bug = max(gripper.bugs, key=lambda record: (len(record.faults or ()), -record.number))
    browser.open(report, f"#view=record&id={bug.id}")
    cells = browser.run(
        "[...document.querySelectorAll('.steps tbody tr')].map(r => [...r.cells].map(c => c.innerText.trim()))"
    )
    assert [row[1] for row in cells if row[1]] == list(bug.run.names)
    assert [row[4] for row in cells if row[4]] == list(bug.witness.names or ())
    for fault in bug.faults or ():
        row = next(row for row in cells if row[0] == str(fault.step))
        assert row[2] == f"loses {fault.loss[0]}"
    shared = browser.run("document.querySelectorAll('.steps tr.shared').length")
    diff = gripper.explain(bug).diff
    assert diff is not None
    assert shared == sum(s.run_last - s.run_first for s in diff.segments if s.shared)
    task = gripper.tasks[0]
    assert isinstance(task, Task)
    state = State([int(value) for value in bug.state])
    for operator in bug.run.operators:
        state = task.apply(state, operator)
    browser.run("document.querySelector('#slider').value = document.querySelector('#slider').max")
    browser.run("document.querySelector('#slider').dispatchEvent(new Event('input'))")
    browser.wait("document.querySelector('.side').innerText.includes('reaches the goal')")
    browser.run("document.querySelectorAll('.side .facts button').forEach(b => b.click())")
    facts = browser.run(
        "[...document.querySelector('.side').querySelectorAll('li:not(.minus)')].map(l => l.innerText)"
    )
    assert sorted(facts) == sorted(task.facts(state))
    assert "Cost along the run" in browser.text("main")


def test_a_run_can_be_played(browser: Chromium, report: Path, gripper: Campaign) -> None:
    browser.open(report, f"#view=record&id={gripper.bugs[0].id}")
    browser.click("#play")
    browser.wait("Number(document.querySelector('#slider').value) >= 2")
    browser.click("#play")
    assert browser.text("#play") == "Play"


def test_a_retest_calls_no_run_unsafe_that_is_not(
    browser: Chromium, folder: Path, line: Campaign
) -> None:
    """The same verdict stands for a state that is lost and for one where the new policy is safe."""

    def crashing(_: object) -> str:
        raise ValueError("no idea")

    rows = "[...document.querySelectorAll('.steps tbody tr')].map(r => r.cells[1].innerText.trim())"
    for policy, outcome, sentence, words in (
        ("first", "safe", "No run of the policy from here gets into an unsafe state", {"safe"}),
        (crashing, "error", "The policy crashes. Whether it gets into an unsafe", {"unknown"}),
    ):
        found = line.retest(policy)
        file = found.campaign.report(folder / f"retest-{outcome}.html")
        own = next(own for own in found.campaign.records if own.run.outcome == outcome)
        browser.open(file, f"#view=record&id={own.id}")
        text = browser.text("main")
        assert sentence in text
        assert "The last safe state" not in text
        shown = {own.replace("not known", "unknown") for own in browser.run(rows)}
        assert shown == words


def test_a_withheld_verdict_reads_as_no_good_news(
    browser: Chromium, folder: Path, line: Campaign
) -> None:
    """The work ended after judging, before the policy was asked again."""
    line.retest("first", out=folder / "withheld").campaign.close()
    with closing(sqlite3.connect(folder / "withheld" / "run.db")) as database, database:
        database.execute("UPDATE meta SET value = 'time' WHERE key = 'finished'")
        database.execute("INSERT OR REPLACE INTO meta VALUES ('asks', '1')")
    with misstep.open_campaign(folder / "withheld") as again:
        own = next(own for own in again.records if own.run.outcome == "safe")
        assert own.verdict == "UNKNOWN"
        browser.open(again.report(folder / "withheld.html"), f"#view=record&id={own.id}")
    text = browser.text("main")
    assert "so this is no bug" not in text
    assert "Every run of the policy stays safe" not in text
    assert "before it was asked again, so nothing is said of this state" in text


def test_what_was_a_bug_before_is_not_called_new(browser: Chromium, tmp_path: Path) -> None:
    """The same policy: only the oracle has become stronger."""
    task = misstep.load_task(misstep.generate("gripper", balls=2))
    weak = misstep.test(task, "random:1", pool=6, oracle="astar(evaluations=1)")
    strong = misstep.test(task, "random:1", pool=6, oracle="bmo(50)", seed=0)
    browser.open(write_report([weak, strong], tmp_path / "r.html"))
    label = browser.run("document.querySelector('.share[role=img]').getAttribute('aria-label')")
    assert f"{len(strong.bugs)} still bugs, 0 new bugs" in label


def test_no_risk_is_rounded_to_certainty(browser: Chromium, folder: Path) -> None:
    task = misstep.load_task(misstep.generate("two-way-line", cells=8, packages=3, ice="3"))
    misstep.test(task, "random:3", runs=20, risk=True, out=folder / "risks").close()
    with closing(sqlite3.connect(folder / "risks" / "run.db")) as database, database:
        database.execute(
            "UPDATE risks SET low = 0.9996, high = 1, least_low = 0, least_high = 0.0004"
        )
    with misstep.open_campaign(folder / "risks") as campaign:
        own = next(own for own in campaign.records if own.run.risk is not None)
        browser.open(campaign.report(folder / "risks.html"), f"#view=record&id={own.id}")
    text = browser.text("main")
    assert "above 99.9% to 100.0%" in text
    assert "0.0% to below 0.1%" in text


def test_a_danger_shows_the_border_of_what_is_safe(
    browser: Chromium, folder: Path, line: Campaign
) -> None:
    file = line.report(folder / "line.html")
    bug = next(own for own in line.bugs if own.faults and len(own.run.operators) > 2)
    explanation = line.explain(bug)
    browser.open(file, f"#view=record&id={bug.id}")
    rows = browser.run(
        "[...document.querySelectorAll('.steps tbody tr')].map(r => [...r.cells].map(c => c.innerText.trim()))"
    )
    words = {
        "BUG": "safe",
        "NOT A BUG": "lost",
        "UNSAFE": "unsafe",
        "UNKNOWN": "not known",
        None: "not known",
    }
    assert [row[1] for row in rows] == [words[own] for own in explanation.verdicts]
    assert [row[3].split(" ")[0].split("\n")[0] for row in rows[:-1]] == list(bug.run.names)
    last = explanation.last_safe_step
    assert f"The last safe state is that of step {last}" in browser.text("main")
    assert browser.run("document.querySelector('.steps tr.border').rowIndex") == (last or 0) + 2
    chosen = {state: name for state, _, name in bug.witness.strategy or ()}
    states = (bug.run.states or ())[:-1]
    assert [row[4] for row in rows[:-1]] == [chosen.get(state, "\N{EN DASH}") for state in states]


def test_two_campaigns_are_compared(
    browser: Chromium, folder: Path, gripper: Campaign, noisy: Campaign
) -> None:
    file = write_report([gripper, noisy], folder / "both.html", labels=["before", "after"])
    old = {record.state: record for record in gripper.records}
    words = [change_of(old[own.state], own).word for own in noisy.records if own.state in old]
    browser.open(file)
    assert f"{words.count('fixed')} fixed" in browser.text(".lead")
    browser.wait(
        "[...document.querySelectorAll('h2')].some(own => own.innerText === 'State by state')"
    )
    text = browser.text("main")
    for word in set(words) - {"clean"}:
        assert word in text
    browser.run(
        "[...document.querySelectorAll('main a')].find(a => a.innerText === 'after').click()"
    )
    browser.wait("document.documentElement.dataset.shown === 'overview'")
    assert browser.text("h1") == "after"


def test_a_retested_campaign_says_what_became_of_each_bug(
    browser: Chromium, folder: Path, gripper: Campaign
) -> None:
    again = gripper.retest("noisy:0.3:5+optimal", out=folder / "again")
    file = write_report([gripper, again.campaign], folder / "retest.html")
    browser.open(file)
    titles = browser.run(
        "[...document.querySelectorAll('[aria-label=Pairs] th')].map(own => own.innerText).slice(3)"
    )
    cells = browser.run(
        "[...document.querySelectorAll('[aria-label=Pairs] tbody td.n')].map(own => own.innerText).slice(1)"
    )
    counts = {word: str(number) for word, number in again.counts.items() if number}
    assert len(counts) > 1
    assert dict(zip(titles, cells, strict=True)) == counts


def test_campaigns_of_two_settings_are_a_matrix(browser: Chromium, tmp_path: Path) -> None:
    task = misstep.load_task(misstep.generate("gripper", balls=2))
    campaigns = [
        misstep.test(task, "random:1", pool=6, fuzz=bias, oracle=oracle)
        for bias in ("none", "detour")
        for oracle in ("undo", "bmo(50)")
    ]
    browser.open(write_report(campaigns, tmp_path / "r.html"))
    rows = browser.run(
        "[...document.querySelectorAll('.lights tr')].map(row => [...row.cells].map(own => own.innerText))"
    )
    assert rows[0][1:] == ["none", "detour"]
    assert [row[0] for row in rows[1:]] == ["undo", "bmo(50)"]
    for k, campaign in enumerate(campaigns):
        told = rows[1 + k % 2][1 + k // 2]
        assert told.startswith(f"{len(campaign.bugs)} of {len(campaign)}")
        assert (" still, " in told) == (k > 0)


def test_campaigns_of_two_worlds_stand_side_by_side(
    browser: Chromium, folder: Path, gripper: Campaign, line: Campaign
) -> None:
    browser.open(write_report([gripper, line], folder / "worlds.html"))
    assert "are not compared with each other" in browser.text(".note")
    assert "Campaigns" in browser.text("main")


def test_the_small_task_of_a_bug_is_shown(browser: Chromium, tmp_path: Path) -> None:
    task = misstep.load_task(misstep.generate("gripper", balls=3, scatter=50, seed=2))
    campaign = misstep.test(task, "shipped:gripper", pool=15, out=tmp_path / "c")
    small = campaign.shrink(campaign.bugs[0], candidates=60)
    browser.open(campaign.report(tmp_path / "r.html"), f"#view=record&id={campaign.bugs[0].id}")
    cells = browser.run(
        "[...document.querySelectorAll('.small-task tbody tr')].map(r => [...r.cells].map(c => c.innerText))"
    )
    assert ["objects", str(small.objects_before), str(small.objects_after)] in cells
    assert browser.run("document.querySelectorAll('.small-task .picture svg').length") == 1
    browser.run("document.querySelector('pre').parentNode.open = true")
    assert browser.text("pre").strip() == (small.problem_text or "").strip()


def test_families_say_how_often_they_are_right(
    browser: Chromium, gripper: Campaign, tmp_path: Path
) -> None:
    campaign = gripper.save(tmp_path / "c")
    browser.open(campaign.report(tmp_path / "before.html"), "#view=families")
    family = campaign.families[0]
    assert f"The policy {family.sentence}." in browser.text(".family")
    assert "was not measured" in browser.text(".family")
    assert "--measure" in browser.text("main")
    measured = campaign.measure_families(states=20)[0].measured
    assert measured is not None
    browser.open(campaign.report(tmp_path / "after.html"), "#view=families")
    assert str(measured)[1:] in browser.text(".family")


def test_permitted_runs_and_contradictions_are_told(browser: Chromium, tmp_path: Path) -> None:
    class Permits:
        def permitted(self, state: misstep.StateView) -> list[str]:
            return list(state.operators)[:2]

    answers = iter(range(10**6))

    def moody(state: misstep.StateView) -> str:
        return list(state.operators)[next(answers) % len(state.operators)]

    task = misstep.load_task(misstep.generate("gripper", balls=2))
    permits = misstep.test(task, Permits(), pool=6)
    bug = next(own for own in permits.bugs if (own.kind or "").endswith("-some"))
    browser.open(permits.report(tmp_path / "sets.html"), f"#view=record&id={bug.id}")
    assert browser.text(".lead").startswith("A run that the policy permits")
    assert "permitted runs" in browser.text("main")
    flaky = misstep.test(task, moody, pool=6)
    own = next(record for record in flaky.records if record.verdict == "FLAKY")
    browser.open(flaky.report(tmp_path / "flaky.html"), f"#view=record&id={own.id}")
    assert "answers differently when it is asked again" in browser.text(".lead")
    assert "Contradictions" in browser.text("main")


def test_hostile_names_are_shown_and_do_nothing(browser: Chromium, tmp_path: Path) -> None:
    name = HOSTILE[0] + "'\""
    campaign = one_bug(tmp_path / "c", hostile_task(name), policy="<b>p</b>", message=HOSTILE[1])
    file = write_report([open_campaign(campaign)], tmp_path / "r.html", labels=[HOSTILE[2]])
    for view in ("overview", "families", "records", "record"):
        fragment = "&id=" + "%3Cscript%3Ealert(1)%3C%2Fscript%3E'%22:0" if view == "record" else ""
        browser.open(file, f"#view={view}{fragment}")
        assert browser.run("document.querySelectorAll('main script, main img, main b').length") == 0
        assert browser.run("document.documentElement.scrollWidth <= innerWidth")
    text = browser.text("main")
    assert HOSTILE[0] in text
    assert "bell\\x07 escape\\x1b[31m" in text
    assert "\\u202egnp.exe" in text
    assert HOSTILE[1] in text
    assert browser.run("document.querySelectorAll('.steps tbody tr').length") == len(HOSTILE)
    assert file.read_bytes().lower().count(b"<script>alert") == 0


def test_a_state_with_ten_thousand_facts(browser: Chromium, tmp_path: Path) -> None:
    campaign = open_campaign(one_bug(tmp_path / "c", wide_task(10_000)))
    browser.open(campaign.report(tmp_path / "r.html"), "#view=record&id=wide:0")
    assert "9,940 more" in browser.text("main")
    assert browser.run("document.querySelectorAll('.facts li').length") < 500
    browser.open(tmp_path / "r.html", "#view=records&q=thing9999)")
    assert status(browser) == "1 state of 1"


@pytest.mark.parametrize("count", [3_000, 100_000])
def test_many_rows_are_drawn_when_they_are_seen(
    browser: Chromium, tmp_path: Path, count: int
) -> None:
    campaign = open_campaign(large_campaign(tmp_path / "c", count))
    file = campaign.report(tmp_path / "r.html")
    assert file.stat().st_size < 30e6
    browser.open(file, "#view=records")
    assert browser.run(ROWS) < 60
    browser.run("document.querySelector('#rows').scrollTop = 1e9")
    *_, last = (record.id for record in campaign.iter_records())
    browser.wait(f"[...document.querySelectorAll('.row.line a')].at(-1).innerText === '{last}'")
    assert browser.run(ROWS) < 60


def test_the_table_can_be_taken_away_as_csv(
    browser: Chromium, report: Path, gripper: Campaign
) -> None:
    browser.open(report, "#view=records&verdict=BUG")
    browser.run(
        "URL.createObjectURL = blob => { window.kept = blob; return 'about:blank'; }; "
        "HTMLAnchorElement.prototype.click = () => {}"
    )
    browser.click(".found button")
    lines = browser.run("window.kept.text()").split("\r\n")
    assert len(lines) == len(gripper.bugs) + 2
    assert lines[1].split(",")[:4] == [gripper.bugs[0].id, gripper.bugs[0].task, "0", "BUG"]


def test_pictures_are_shown_without_what_could_act(
    browser: Chromium, tmp_path: Path, gripper: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Painter:
        def svg(self, state: object) -> str:
            return (
                '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 90 30" onload="alert(1)"><title>a state</title>'
                "<script>alert(2)</script><foreignObject><b>x</b></foreignObject><image href='x'/>"
                f'<text x="2" y="20" fill="currentColor">{state}</text></svg>'
            )

    monkeypatch.setattr(pictures.Album, "_drawing", lambda *_: Painter())
    file = gripper.report(tmp_path / "r.html")
    bug = gripper.bugs[0]
    browser.open(file, f"#view=record&id={bug.id}")
    browser.wait("document.querySelectorAll('.picture svg').length === 2")
    for odd in ("script", "image", "foreignObject", "[onload]"):
        assert browser.run(f"document.querySelectorAll('.picture {odd}').length") == 0
    assert browser.text(".picture") == str(bug.state)
    browser.press("j")
    browser.press("j")
    browser.wait(
        f"document.querySelector('.picture').textContent.indexOf({json.dumps(str(bug.state))}) < 0"
    )


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_is_wider_than_the_window(
    browser: Chromium, report: Path, gripper: Campaign, width: int
) -> None:
    browser.size(width, 800, mobile=width < 500)
    for view in ("overview", "families", "records", f"record&id={gripper.bugs[0].id}"):
        browser.open(report, f"#view={view}")
        assert browser.run("document.documentElement.scrollWidth <= innerWidth"), view


def test_colours_follow_the_system_and_the_switch(browser: Chromium, report: Path) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    browser.open(report)
    light = browser.run(ground)
    browser.dark(True)
    dark = browser.run(ground)
    assert light != dark
    browser.click("#theme")
    assert browser.run(ground) == light
    browser.click("#theme")
    browser.dark(False)
    assert browser.run(ground) == dark
    browser.click("#theme")


def test_a_campaign_of_nothing_and_one_that_was_stopped(browser: Chromium, tmp_path: Path) -> None:
    task = misstep.load_task(misstep.generate("gripper", balls=2))
    optimal = misstep.test(task, "optimal", pool=5, out=tmp_path / "fine")
    browser.open(optimal.report(tmp_path / "fine.html"))
    assert browser.text("#sentence").startswith("No bug: all 5 tested states")
    for view in ("families", "records"):
        browser.open(tmp_path / "fine.html", f"#view={view}")
        assert len(browser.text("main")) > 20
    limits = {"time": 1e-9}
    stopped = misstep.test(task, "first", pool=5, out=tmp_path / "none", limits=limits)
    browser.open(stopped.report(tmp_path / "none.html"))
    assert "Nothing was tested" in browser.text("#sentence")
    assert "not finished because of its limit on time" in browser.text("main")
    browser.open(tmp_path / "none.html", "#view=records")
    assert browser.text(".empty") == "Nothing was tested."
    browser.open(tmp_path / "none.html", "#view=record&id=nobody:7")
    assert browser.text("h1") == "No such record"


def test_a_long_table_is_printed_from_its_beginning(browser: Chromium, tmp_path: Path) -> None:
    file = open_campaign(large_campaign(tmp_path / "c", 1000, tasks=1)).report(tmp_path / "r.html")
    browser.dark(True)
    browser.open(file, "#view=records")
    browser.run("dispatchEvent(new Event('beforeprint'))")
    assert browser.run(ROWS) == 300
    assert browser.text("#cut") == "The first 300 of 1,000 rows."
    assert browser.run("getComputedStyle(document.documentElement).colorScheme") == "light"
    browser.run("dispatchEvent(new Event('afterprint'))")
    assert browser.run(ROWS) < 60
    assert browser.run("getComputedStyle(document.documentElement).colorScheme") == "dark"


def test_a_derivation_is_written_out(browser: Chromium, tmp_path: Path) -> None:
    task = wide_task(3)
    steps: tuple[dict[str, Any], ...] = (
        {"operator": 0, "name": "go"},
        {"state": [1, 1, 0], "value": -2, "factors": [{"variables": [1], "value": -2}]},
    )
    campaign = open_campaign(one_bug(tmp_path / "c", task, derivation=steps))
    browser.open(campaign.report(tmp_path / "r.html"), "#view=record&id=wide:0")
    told = browser.text(".argument").split("\n")
    assert told[0] == "Apply (go)."
    assert told[1] == (
        "Compare with the state was(thing0), was(thing1), is(thing2): a plan from there costs at most 2 less than one "
        "from here, because of -2 by is(thing1)."
    )
    assert "No plan is at hand, but one of cost 1 at most exists" in browser.text("main")
    assert "It is proven that a plan of cost 1 at most exists" in browser.text(".lead")
