"""Policies that are no functions of the state, that crash or do not answer, and some that are as they should be.

The text is a file of its own in the tests, as users have it. A policy that errs does so in half of all states, by a
digest, so that what a test sees does not depend on luck: that sixty decisions asked again differ in less than a tenth
has a probability below 1e-10.
"""

from __future__ import annotations

PLANNING = '''
import hashlib, os, random
import numpy as np
import misstep
from misstep.policies.policy import Answers, Policy, TIMED_OUT


def coin(*parts):
    return hashlib.sha256(repr(parts).encode()).digest()[0] % 2 == 0


class Base:
    """Follows an optimal policy, but for what a subclass does."""

    def __init__(self, task):
        self.inner = misstep.load_policy("optimal", task)
        self.asked = {}
        self.count = 0

    def best(self, state):
        rows = np.array([state.values], dtype=np.int32)
        return int(self.inner.decide(rows).operators[0])

    def act(self, state):
        self.count += 1
        times = self.asked[state.values] = self.asked.get(state.values, 0) + 1
        return self.best(state) if self.keeps(state, times) else None


class Random(Base):
    def keeps(self, state, times):
        return random.random() < 0.5


class Seldom(Base):
    """Follows a bad policy, and contradicts it in a few states."""

    def keeps(self, state, times):
        again = os.environ.get("PYTHONHASHSEED", "0") != "0"  # in another process
        return coin(state.values) != (again and all(coin(i, state.values) for i in range(4)))


class Place(Base):
    """Depends on the process and on addresses."""

    def keeps(self, state, times):
        return coin(state.values, os.getpid(), id(self))


class Mood(Base):
    """Depends on the session."""

    def keeps(self, state, times):
        return coin(state.values, os.environ.get("MOOD"), times > 1)


class Hashes(Base):
    """Depends on the order of a set of strings."""

    def keeps(self, state, times):
        names = {f"{fact} {i}" for fact in state.values for i in range(20)}
        return coin(state.values, list(names))


class Counter(Base):
    def keeps(self, state, times):
        return coin(self.count, len(self.asked))


class Liar(Base):
    """Says something else from the second time on."""

    def keeps(self, state, times):
        return times < 2


class PatientLiar(Base):
    def keeps(self, state, times):
        return times < 4


class Declared(Base):
    deterministic = False

    def keeps(self, state, times):
        return True


class Steady(Base):
    """A bad policy, and a function of the state."""

    def keeps(self, state, times):
        return coin(state.values)


class Batches(Steady):
    def act_batch(self, states):
        return [self.act(state) for state in states]


class Optimal(Base):
    def keeps(self, state, times):
        return True


class Crashes(Base):
    """In some states, always in the same ones."""

    def keeps(self, state, times):
        if all(coin(i, state.values) for i in range(4)):
            raise ValueError("no idea")
        return True


class CrashesOnce(Base):
    """By chance."""

    def keeps(self, state, times):
        if random.random() < 0.5:
            raise ValueError("no idea")
        return True


class CrashesAlways(Base):
    def keeps(self, state, times):
        raise ValueError("no idea")


class Slow(Policy):
    """Does not answer in time in some states."""

    def __init__(self, task):
        super().__init__(task)
        self.inner = misstep.load_policy("optimal", task)

    def decide(self, states, candidates=None):
        answers = self.inner.decide(states)
        operators, messages = answers.operators.copy(), {}
        for row, values in enumerate(states.tolist()):
            if all(coin(i, tuple(values)) for i in range(4)):
                operators[row], messages[row] = TIMED_OUT, "no answer within 1 s"
        return Answers(operators, messages)


class SlowAlways(Slow):
    def decide(self, states, candidates=None):
        return Answers(
            np.full(len(states), TIMED_OUT, dtype=np.int32),
            dict.fromkeys(range(len(states)), "no answer within 1 s"),
        )
'''

MODEL = '''
import hashlib, os, random


def number(*parts):
    return int.from_bytes(hashlib.sha256(repr(parts).encode()).digest()[:4], "big")


class Base:
    """Values labels by a digest of the state, and of what a subclass adds."""

    def __init__(self, task):
        self.labels = task.labels
        self.asked = {}
        self.count = 0

    def values(self, state):
        key = tuple(state.values())
        return {label: number(label, key, self.salt(key)) for label in self.labels}

    def act(self, state):
        key = tuple(state.values())
        self.count += 1
        self.asked[key] = self.asked.get(key, 0) + 1
        return None  # the best-valued label that applies


class Random(Base):
    def salt(self, key):
        return random.random()


class Seldom(Base):
    def salt(self, key):
        return number(key) % 16 == 0 and self.asked[key] > 1


class Place(Base):
    def salt(self, key):
        return os.getpid(), id(self)


class Mood(Base):
    def salt(self, key):
        return os.environ.get("MOOD"), self.asked[key] > 1


class Hashes(Base):
    def salt(self, key):
        return list({f"{value} {i}" for value in key for i in range(20)})


class Counter(Base):
    def salt(self, key):
        return self.count


class Liar(Base):
    def salt(self, key):
        return self.asked[key] < 2


class Declared(Base):
    deterministic = False

    def salt(self, key):
        return 0


class Steady(Base):
    def salt(self, key):
        return 0


class Company:
    """One answer alone, and another one in a batch."""

    def __init__(self, task):
        pass

    def act(self, state):
        return self.act_batch([state])[0]

    def act_batch(self, states):
        salt = len(states) == 1
        return [max(s.labels, key=lambda own: number(own, tuple(s.values()), salt)) for s in states]


class Crashes(Base):
    def salt(self, key):
        if number(key) % 8 == 0:
            raise ValueError("no idea")
        return 0


class CrashesAlways(Base):
    def salt(self, key):
        raise ValueError("no idea")
'''

HANGING = """
import json, sys, time
for line in sys.stdin:
    content = json.loads(line)
    if "protocol" in content:
        print(json.dumps({"protocol": 1, "name": "hangs"}), flush=True)
    else:
        time.sleep(3600)
"""

__all__ = ["HANGING", "MODEL", "PLANNING"]
