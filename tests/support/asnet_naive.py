"""An ASNet straight from its definition: slow and obviously right. The tests compare with it.

It shares the shape of the domain and the weights with what it checks, and nothing else: relations
are found anew from the names of operators and from sets of true atoms.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from misstep.policies.asnet.weights import Weights
from misstep.tasks.pddl.lifted import Atom, Literal
from misstep.tasks.pddl.names import parse_fact_name, parse_operator_name
from misstep.tasks.task import State, Task

Vector = NDArray[np.float64]


def elu(x: Vector) -> Vector:
    return np.where(x > 0, x, np.expm1(np.minimum(x, 0)))


class NaiveASNet:
    def __init__(self, task: Task, weights: Weights) -> None:
        self.task = task
        self.weights = weights
        lifted = task.lifted
        self.goal = {literal.atom for literal in lifted.goal if literal.positive}
        ground = {atom for names in task.fact_names for name in names if (atom := self.atom(name))}
        self.constant = set(lifted.init) - ground
        possible = ground | self.constant
        self.schema: list[str] = []
        self.related: list[list[Atom | None]] = []
        for name in task.operator_names:
            schema, arguments = parse_operator_name(name)
            lifted_schema = lifted.schema(schema)
            binding = lifted_schema.binding(arguments)
            literals: tuple[Literal, ...] = lifted_schema.precondition + lifted_schema.effect
            slots = dict.fromkeys(lit.atom for lit in literals if lit.atom.predicate != "=")
            atoms = [slot.ground(binding) for slot in slots]
            self.schema.append(schema)
            self.related.append([atom if atom in possible else None for atom in atoms])
        self.facts = sorted({atom for row in self.related for atom in row if atom})
        self.slots_of: dict[str, list[tuple[str, int]]] = {}
        for schema_shape in weights.shape.schemas:
            for k, slot in enumerate(schema_shape.slots):
                self.slots_of.setdefault(slot.predicate, []).append((schema_shape.name, k))

    @staticmethod
    def atom(name: str) -> Atom | None:
        fact = parse_fact_name(name)
        return Atom(fact.predicate, fact.arguments) if fact and fact.positive else None

    def module(self, name: str, x: Vector) -> Vector:
        weight = self.weights.tensors[f"{name}.weight"].astype(np.float64)
        bias: Vector = self.weights.tensors[f"{name}.bias"].astype(np.float64)
        return weight @ x + bias

    def logits(self, state: State) -> Vector:
        """One number for each operator of the task."""
        true = self.constant | {
            atom
            for v, value in enumerate(state.values)
            if (atom := self.atom(self.task.fact_names[v][value]))
        }
        applicable = set(self.task.applicable_naive(state))
        operators = range(self.task.operator_count)
        minus = np.full(self.weights.hidden, -1.0)

        phi = []
        for o in operators:
            row = self.related[o]
            truths = [-1.0 if atom is None else float(atom in true) for atom in row]
            goals = [-1.0 if atom is None else float(atom in self.goal) for atom in row]
            x = np.array([*truths, *goals, float(o in applicable)])
            phi.append(elu(self.module(f"action.0.{self.schema[o]}", x)))
        psi: dict[Atom, Vector] = {}
        for layer in range(self.weights.layers):
            new = {}
            for fact in self.facts:
                parts = []
                for schema, k in self.slots_of[fact.predicate]:
                    members = [
                        phi[o]
                        for o in operators
                        if self.schema[o] == schema and self.related[o][k] == fact
                    ]
                    parts.append(np.max(members, axis=0) if members else minus)
                if layer > 0:
                    parts.append(psi[fact])
                name = f"proposition.{layer}.{fact.predicate}"
                new[fact] = elu(self.module(name, np.concatenate(parts)))
            psi = new
            next_phi = []
            for o in operators:
                parts = [minus if atom is None else psi[atom] for atom in self.related[o]]
                x = np.concatenate([*parts, phi[o]])
                y = self.module(f"action.{layer + 1}.{self.schema[o]}", x)
                next_phi.append(y if layer + 1 == self.weights.layers else elu(y))
            phi = next_phi
        return np.array([y[0] for y in phi])


__all__ = ["NaiveASNet"]
