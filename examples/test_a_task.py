"""Test a policy on a planning task from Python: python examples/test_a_task.py [FOLDER]."""

import sys
import tempfile
from pathlib import Path

import misstep

task = misstep.load_task(misstep.generate("gripper", balls=4))

# A policy is any function from a state to an operator. This one takes the last operator that applies.
found = misstep.test(task, lambda state: state.operators[-1], pool=20, oracle="exact")
print(found)
for bug in found.bugs[:3]:
    print(bug.id, bug.kind, "gap:", bug.gap, "run:", bug.run.outcome)
print(found.explain(found.bugs[0]))

folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp()) / "found"
found.save(folder)
again = misstep.open_campaign(folder)
print("the same records:", again.records == found.records)
