"""A policy of Stable-Baselines3 on a JANI model: `--policy python:examples/policies/sb3_policy.py:Sb3Policy`.

The environment variable SB3_MODEL names the model and its algorithm, such as `DQN:model.zip`; train it on
`misstep.tasks.jani.gym.make_env("model.jani")`. In Python any object with `predict(observations)` will do:
`Sb3Policy(task, model)`. States come as dictionaries from variables to values, as a campaign gives them, or as tuples
of values, as `misstep.safety.System` gives them. Labels go by their names; with `by_number=True` by their numbers, as a
`System` made of the task itself has them.

Agents with an MlpPolicy need none of this: `--policy sb3:FILE.zip` reads them without Stable-Baselines3, and faster.
"""

import os

import numpy as np


class Sb3Policy:
    def __init__(self, task, model=None, *, by_number=False):  # type: ignore[no-untyped-def]
        self.variables = task.variable_names
        self.labels = range(len(task.labels)) if by_number else task.labels
        self.model = _load() if model is None else model

    def act(self, state):  # type: ignore[no-untyped-def]
        return self.act_batch([state])[0]

    def act_batch(self, states):  # type: ignore[no-untyped-def]
        actions, _ = self.model.predict(self._rows(states), deterministic=True)
        return [self.labels[int(action)] for action in actions]

    def values(self, state):  # type: ignore[no-untyped-def]
        """What labels are worth, to find the best one that applies where the policy's own does not."""
        rows = self._rows([state])
        policy = getattr(self.model, "policy", None)
        if hasattr(policy, "q_net"):  # DQN
            numbers = policy.q_net(policy.obs_to_tensor(rows)[0])[0].tolist()
        elif hasattr(policy, "get_distribution"):  # PPO, A2C
            seen = policy.get_distribution(policy.obs_to_tensor(rows)[0])
            numbers = seen.distribution.logits[0].tolist()
        else:  # all that is known is the favourite
            numbers = [float(label == self.act(state)) for label in self.labels]
        return dict(zip(self.labels, numbers, strict=True))

    def _rows(self, states):  # type: ignore[no-untyped-def]
        return np.array([[float(value) for value in self._values(state)] for state in states])

    def _values(self, state):  # type: ignore[no-untyped-def]
        """In the order of the task's variables."""
        is_tuple = isinstance(state, tuple)
        return state if is_tuple else [state[name] for name in self.variables]


def _load():  # type: ignore[no-untyped-def]
    import stable_baselines3

    algorithm, colon, path = os.environ.get("SB3_MODEL", "").partition(":")
    kind = getattr(stable_baselines3, algorithm, None) if colon else None
    if kind is None:
        raise ValueError("SB3_MODEL has to name an algorithm and a file, such as DQN:model.zip")
    return kind.load(path, device="cpu")
