"""Defaults and names that commands need before their work begins, mostly for their help.

The modules that define these values take long to load, and `--help` and completion must not wait for them. A test
compares each value with its definition.
"""

from __future__ import annotations

MAX_STEPS = 1000
ORACLE = "census, lmcut, bmo(100)+aras/ehc, astar(evaluations=1000)"
REVISIT = ("stop", "avoid")
PERMITTED_LIMIT = 5_000
CENSUS_STATES = 10_000_000

# Dominance functions
DOMINANCE_STATES = 50_000
DOMINANCE_TRANSITIONS = 10_000
DOMINANCE_STEPS = 2_000_000_000

# Proofs
PROVE_ASK = ("auto", "all", "needed")
PROVE_FROM = ("all", "runs")

# Explanations
EXPLAIN_SECONDS = 60.0
MEASURE_STATES = 100
FAULT_BUDGET = 200

# Models
INAPPLICABLE = ("filter", "stop_safe", "error")
LOOKAHEAD_CAP = 1_000
ON_REVISIT = "go-on"
LAYERS = "new"
DISTANCE = "model"
SEVERITY = "bugs"
SEVERITY_BUDGET = "auto"
RUNS = 1000
SAFETY_EVALUATIONS = 1_000_000
OPEN_EVALUATIONS = 8_000_000
SAFETY_ORACLE = "localfix"
RISK_PRECISION = 1e-8
RISK_STATES = 5_000_000
RISK_RUNS = 10_000
RISK_LEVEL = 0.99

# Tests of checkpoints, and training
TEST_POOL = 50
TEST_ORACLE = "bmo(100)"
ALGORITHMS = ("original", "line", "line-pitest", "tree", "tree-pitest", "start")
CRITERIA = ("early-train", "loss-train", "solved-val", "pi-test-val", "solved-test")
INITS = 4
RECIPES = ("own", "p25")
START_EPOCHS = 5
TEACHER_STATES = 20_000
TEACHER_EXPANSIONS = 100_000
RETEST = 1
BUG_SOURCE = "faults"
BUG_LABELS = "auto"
BUG_STATES = ("random", "on-policy", "runs", "before", "faults")
BUG_RATIO = 0.5
BUG_NUMBER = 50
