"""The HTML report of a large campaign: how long it takes to write, how large it is, how fast it is in a browser.

    python -m benchmarks.report [RECORDS]

The campaign is made up (tests/support/made_up.py). Times in the page are measured there, in headless Chromium, as a
reader would feel them: from the change of a filter until the table shows its rows, typing delay included.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.common import remark, report

TESTS = Path(__file__).resolve().parents[1] / "tests"
RECORDS = 100_000

WRITE = """
import json, resource, sys, time
from misstep import open_campaign
began, spent = time.time(), time.process_time()
file = open_campaign(sys.argv[1]).report(sys.argv[2])
own = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({
    "seconds": round(time.time() - began, 2), "processor_seconds": round(time.process_time() - spent, 2),
    "peak_megabytes": round(own.ru_maxrss / 1024), "file_megabytes": round(file.stat().st_size / 1e6, 2)}))
"""
# Sets a field, waits until the line above the table says something else, and returns the milliseconds.
CHANGE = """
(async (label, value) => {
  const told = document.querySelector('.found p'), before = told.innerText;
  const field = [...document.querySelectorAll('.filters label')].find(l => l.firstChild.data?.trim() === label)
    .querySelector('select, input');
  const began = performance.now();
  field.value = value;
  field.dispatchEvent(new Event(field.tagName === 'SELECT' ? 'change' : 'input', {bubbles: true}));
  while (told.innerText === before && performance.now() - began < 20000) await new Promise(go => setTimeout(go, 1));
  return Math.round(performance.now() - began);
})
"""
SORT = """
(async () => {
  const button = [...document.querySelectorAll('.titles button')].find(b => b.innerText.startsWith('gap'));
  const began = performance.now();
  button.click();
  while (!document.querySelector('[aria-sort=ascending] button')?.innerText.startsWith('gap'))
    await new Promise(go => setTimeout(go, 1));
  return Math.round(performance.now() - began);
})()
"""
# Two hundred pages down, one a frame: how long the frames take.
SCROLL = """
(async () => {
  const table = document.querySelector('#rows'), frames = [];
  let last = performance.now();
  for (let k = 0; k < 200; k++) {
    table.scrollTop += 700;
    await new Promise(go => requestAnimationFrame(go));
    const now = performance.now();
    frames.push(now - last);
    last = now;
  }
  frames.sort((a, b) => a - b);
  return {median: Math.round(frames[100]), percentile95: Math.round(frames[190]), longest: Math.round(frames[199])};
})()
"""


def in_browser(file: Path) -> dict[str, Any]:
    from support.chromium import Chromium, find_chromium

    program = find_chromium()
    if program is None:
        return {"skipped": "there is no Chromium"}
    browser = Chromium(program)
    try:
        browser.size(1280, 900)
        browser.open(file, "#view=records")
        ready = browser.run("Math.round(performance.getEntriesByName('ready')[0].startTime)")
        times = {
            "verdict": browser.run(f"{CHANGE}('verdict', 'BUG')"),
            "gap": browser.run(f"{CHANGE}('gap, at least', '20')"),
            "facts, first time": browser.run(f"{CHANGE}('text', 'at(p1, l3)')"),
            "facts": browser.run(f"{CHANGE}('text', 'at(p2, l4)')"),
            "all again": browser.run(f"{CHANGE}('text', '')"),
        }
        return {
            "ready_ms": ready,
            "filter_ms": times,
            "sort_ms": browser.run(SORT),
            "scroll_frame_ms": browser.run(SCROLL),
            "problems": browser.problems(),
        }
    finally:
        browser.close()


def main(records: int = RECORDS) -> None:
    sys.path.insert(0, str(TESTS))
    from support.made_up import large_campaign

    with tempfile.TemporaryDirectory(prefix="misstep-bench-") as folder:
        campaign, file = Path(folder) / "campaign", Path(folder) / "report.html"
        remark(f"making up a campaign of {records:,} records")
        large_campaign(campaign, records)
        # In a process of its own: what is measured is the memory of the report and not that of making the campaign up.
        written = subprocess.run(
            [sys.executable, "-c", WRITE, str(campaign), str(file)],
            check=True,
            capture_output=True,
            text=True,
        )
        report(
            "report",
            {"records": records, "write": json.loads(written.stdout), "page": in_browser(file)},
        )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
