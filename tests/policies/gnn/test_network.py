"""The batched network agrees with one written from its definition, one atom at a time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from misstep._core import State
from misstep.policies.gnn import GNNPolicy
from misstep.policies.gnn.noise import object_noise
from misstep.policies.policy import States

torch = pytest.importorskip("torch", reason="PyTorch is not installed")


class NaiveNetwork:
    """One decision at a time, in double precision. Knows nothing of tables, pieces and groups."""

    def __init__(self, path: Path, policy: GNNPolicy) -> None:
        stored = torch.load(path, map_location="cpu", weights_only=True)
        self.weights = {name: w.double().numpy() for name, w in stored["state_dict"].items()}
        self.width = stored["hyper_parameters"]["hidden_size"]
        self.rounds = stored["hyper_parameters"]["iterations"]
        self.relations = [name for name, _ in stored["hyper_parameters"]["predicates"]]
        self.task, lifted = policy.task, policy.task.lifted
        self.objects = [named.name for named in lifted.objects]
        variable = {name[5:] for names in self.task.fact_names for name in names}
        self.constant = [
            (atom.predicate, atom.terms)
            for atom in lifted.init
            if f"{atom.predicate}({', '.join(atom.terms)})" not in variable
        ] + [(f"{goal.atom.predicate}_goal", goal.atom.terms) for goal in lifted.goal]

    def mlp(self, first: str, second: str, x: NDArray[np.float64]) -> NDArray[np.float64]:
        w = self.weights
        middle = np.maximum(w[f"{first}.weight"] @ x + w[f"{first}.bias"], 0)
        result: NDArray[np.float64] = w[f"{second}.weight"] @ middle + w[f"{second}.bias"]
        return result

    def atoms(self, state: State) -> list[tuple[str, list[int]]]:
        atoms = list(self.constant)
        for fact in self.task.facts(state):
            predicate, _, rest = fact.rstrip(")").partition("(")
            atoms.append((predicate, tuple(t.strip() for t in rest.split(",") if t.strip())))
        return [(p, [self.objects.index(t) for t in terms]) for p, terms in atoms if terms]

    def values(self, states: list[State], head: str = "readout") -> list[float]:
        graphs = [self.atoms(state) for state in states]
        embeddings = []
        for atoms in graphs:
            count = 1 + max(o for _, terms in atoms for o in terms)
            noise = object_noise(0, count, self.width // 2).astype(float)
            embeddings.append(np.concatenate((np.zeros_like(noise), noise), axis=1))
        network = "model.relation_network"
        for _ in range(self.rounds):
            inbox: list[list[list[Any]]] = [[[] for _ in e] for e in embeddings]
            for graph, atoms in enumerate(graphs):
                for predicate, terms in atoms:
                    module = f"{network}.relation_modules.{self.relations.index(predicate)}"
                    inputs = np.concatenate([embeddings[graph][o] for o in terms])
                    messages = self.mlp(f"{module}.0", f"{module}.2", inputs)
                    for place, o in enumerate(terms):
                        inbox[graph][o].append(messages[place * self.width :][: self.width])
            top = max(m.max() for graph in inbox for node in graph for m in node)
            for graph, nodes in enumerate(inbox):
                updated = []
                for o, received in enumerate(nodes):
                    total = 1e-16 + sum((np.exp(8 * (m - top)) for m in received), start=0.0)
                    aggregate = np.broadcast_to(top + np.log(total) / 8, self.width)
                    inputs = np.concatenate((aggregate, embeddings[graph][o]))
                    updated.append(self.mlp(f"{network}.update.0", f"{network}.update.2", inputs))
                embeddings[graph] = np.array(updated)
        results = []
        for embedding in embeddings:
            parts = [self.mlp(f"{head}.pre.0", f"{head}.pre.2", node) for node in embedding]
            pooled = np.sum(parts, axis=0)
            results.append(float(self.mlp(f"{head}.post.0", f"{head}.post.2", pooled)[0]))
        return results


CASES = [
    ("blocks", "probBLOCKS-9-0"),
    ("gripper", "prob05"),
    ("logistics", "probLOGISTICS-7-0"),
    ("visitall", "problem05-half"),
]


@pytest.mark.parametrize(("domain", "problem"), CASES)
def test_agrees_with_the_definition(
    published: Path,
    open_policy: Callable[..., GNNPolicy],
    walk: Callable[[GNNPolicy, int], States],
    domain: str,
    problem: str,
) -> None:
    policy = open_policy(domain, problem, "")
    naive = NaiveNetwork(published / domain / "model.ckpt", policy)
    states = walk(policy, 12)[::6]
    offsets, operators = policy.task.applicable_batch(states)
    parents = np.repeat(np.arange(len(states)), np.diff(offsets))
    successors = policy.task.apply_batch(states[parents], operators)
    values, logits = policy._evaluator.evaluate(successors, offsets)
    answers = policy.decide(states)
    for row in range(len(states)):
        group = slice(offsets[row], offsets[row + 1])
        members = [State(s.tolist()) for s in successors[group]]
        expected = np.abs(naive.values(members))
        assert values[group] == pytest.approx(expected, rel=1e-4, abs=1e-4)
        if logits is not None:
            solvable = np.array(naive.values(members, "solvable_readout"))
            assert logits[group] == pytest.approx(solvable, rel=1e-3, abs=1e-3)
            expected = expected + 100_000 * (solvable <= 0)
        best = int(np.flatnonzero(expected <= expected.min() + 1e-3)[0])
        assert answers.operators[row] == operators[group][best]
        assert answers.values is not None
        assert answers.values[row] == pytest.approx(expected[best], rel=1e-4, abs=1e-4)
    assert answers.evaluations == len(operators)


@pytest.mark.parametrize(("domain", "problem"), CASES)
def test_padding_changes_nothing(
    open_policy: Callable[..., GNNPolicy],
    walk: Callable[[GNNPolicy, int], States],
    domain: str,
    problem: str,
) -> None:
    """What a GPU evaluates in place of the batch gives the values of the batch."""
    from misstep.policies.gnn.graphs import MAX_RECORDS, pad, padded_states
    from misstep.policies.torch_extra import exact_arithmetic

    policy = open_policy(domain, problem)
    evaluator = policy._evaluator
    states = walk(policy, 10)
    with exact_arithmetic():
        batch = evaluator.batcher.build(states, np.arange(10) // 3, 4)
        padded = pad(batch, padded_states(10), evaluator.batcher.encoding.row_capacity)
        assert padded.state_count == 16
        assert len(padded.row_node) == len(padded.by_node) == sum(padded.row_counts)
        assert sorted(padded.by_node.tolist()) == list(range(len(padded.row_node)))
        plain, _ = evaluator.network(batch)
        value, _ = evaluator.network(padded)
    sizes = {padded_states(count) for count in range(1, 513)}
    assert len(sizes) <= MAX_RECORDS
    assert all(padded_states(count) > count for count in range(1, 513))
    assert value[:10].numpy() == pytest.approx(plain.numpy(), rel=1e-4, abs=1e-4)
