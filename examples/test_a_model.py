"""Test a policy on a non-deterministic model from Python: python examples/test_a_model.py [FOLDER]."""

import sys
import tempfile
from pathlib import Path

import misstep

model = misstep.load_task(misstep.generate("one-way-line", cells=4))

# A policy is any function from a state, a dictionary, to a label. This one never brakes.
found = misstep.test(model, lambda state: "acc" if state["vel"] == 0 else "move", runs=50)
print(found)
for bug in found.bugs[:3]:
    print(bug.id, bug.kind, "radius:", bug.radius)
print(found.explain(found.bugs[0]))

folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp()) / "found"
found.save(folder)
again = misstep.open_campaign(folder)
print("the same records:", again.records == found.records)
