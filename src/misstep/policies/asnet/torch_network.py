"""The PyTorch twin of the native ASNet, which `on_device` runs on a GPU and the tests compare with the native one.

Importing this module needs PyTorch, so it is imported only where it is used.

Features are laid out as (operators or facts, states, hidden): a related item of all states is then
one contiguous block, and the modules of a schema or predicate are one matrix product. If there are
fewer facts than operators, matrices are applied to the facts before operators gather them; outputs,
which are single numbers, are always gathered afterwards. Results agree with the native network up
to rounding, not to the bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from misstep.policies.asnet.shape import Shape
from misstep.policies.asnet.structure import ALWAYS, MISSING, Structure, structure_of
from misstep.policies.asnet.weights import Weights, tensor_shapes
from misstep.policies.torch_extra import torch
from misstep.tasks.task import Task

F = torch.nn.functional
# mypy does not look into PyTorch, so that the types do not depend on whether it is installed.
Tensor = Any


class GroundTask:
    """The index tensors of a task, on a device."""

    def __init__(self, task: Task, structure: Structure, device: str = "cpu") -> None:
        self.structure = structure
        self.device = torch.device(device)
        self.operator_count = task.operator_count
        self.fact_count = len(structure.facts)
        self.variable_count = task.variable_count

        always = structure.fact_variable == ALWAYS
        self.always = self._to_device(always[:, None])
        self.variable = self._to_device(np.where(always, 0, structure.fact_variable))
        self.value = self._to_device(structure.fact_value[:, None], torch.int32)

        self.related = [
            self._to_device(np.where(rows == MISSING, self.fact_count, rows))
            for rows in structure.related
        ]
        goals = np.append(structure.fact_goal, -1).astype(np.float32)
        self.goals = [
            self._to_device(goals[np.where(rows == MISSING, -1, rows)], torch.float32)
            for rows in structure.related
        ]
        self.pools = [
            [self._pool(p, a, k) for a, k in relations]
            for p, relations in enumerate(structure.shape.relations)
        ]
        self._build_preconditions(task)
        order = np.empty(self.operator_count, np.int64)
        order[structure.operators] = np.arange(self.operator_count)
        self.order = self._to_device(order)  # from ids of the task to places

    def _to_device(self, array: Any, dtype: Any = None) -> Tensor:
        tensor = torch.as_tensor(np.ascontiguousarray(array))
        if dtype is None and tensor.dtype != torch.bool:
            dtype = torch.int64
        return tensor.to(device=self.device, dtype=dtype)

    def _pool(self, predicate: int, schema: int, slot: int) -> Tensor:
        """The operators of each fact in a relation, padded with the row after the last one."""
        s = self.structure
        begin, end = s.predicate_begin[predicate], s.predicate_begin[predicate + 1]
        rows = s.related[schema][:, slot]
        members = [
            np.flatnonzero(rows == fact) + int(s.schema_begin[schema]) for fact in range(begin, end)
        ]
        longest = max([1, *(len(m) for m in members)])
        table = np.full((longest, end - begin), self.operator_count, np.int64)
        for column, m in enumerate(members):
            table[: len(m), column] = m
        return self._to_device(table)

    def _build_preconditions(self, task: Task) -> None:
        """The distinct preconditions, and those of each operator, padded."""
        wanted = [task.preconditions(int(op)) for op in self.structure.operators]
        distinct = sorted({fact for facts in wanted for fact in facts})
        number = {fact: i for i, fact in enumerate(distinct)}
        longest = max([0, *(len(facts) for facts in wanted)])
        table = np.full((longest, len(wanted)), len(distinct), np.int64)
        for column, facts in enumerate(wanted):
            table[: len(facts), column] = [number[fact] for fact in facts]
        pairs = np.array(distinct, np.int32).reshape(len(distinct), 2)
        self.precondition_variable = self._to_device(pairs[:, 0])
        self.precondition_value = self._to_device(pairs[:, 1:], torch.int32)
        self.preconditions = self._to_device(table)

    def truths(self, states: Tensor) -> Tensor:
        """Facts x states: 1 or 0, and a last row of -1 that stands for MISSING."""
        columns = states.t()
        holds = (columns.index_select(0, self.variable) == self.value) | self.always
        missing = torch.full((1, len(states)), -1.0, device=self.device)
        return torch.cat([holds.to(torch.float32), missing])

    def applicable(self, states: Tensor) -> Tensor:
        """Operators x states, in the order of the structure."""
        columns = states.t()
        holds = columns.index_select(0, self.precondition_variable) == self.precondition_value
        padding = torch.ones((1, len(states)), dtype=torch.bool, device=self.device)
        holds = torch.cat([holds, padding])
        result = padding.expand(self.operator_count, -1)
        for row in self.preconditions:
            result = result & holds.index_select(0, row)
        return result


class ASNet(torch.nn.Module):  # type: ignore[misc]
    """The network: weights that fit every task of a domain. Call it with a task and states."""

    def __init__(self, weights: Weights) -> None:
        super().__init__()
        self.shape: Shape = weights.shape
        self.hidden = weights.hidden
        self.layers = weights.layers
        self.names = list(tensor_shapes(weights.shape, weights.hidden, weights.layers))
        self.tensors = torch.nn.ParameterList(
            torch.nn.Parameter(torch.tensor(weights.tensors[name])) for name in self.names
        )
        self._place = {name: i for i, name in enumerate(self.names)}

    def ground(self, task: Task) -> GroundTask:
        return GroundTask(task, structure_of(task, self.shape))

    def forward(self, ground: GroundTask, states: Tensor) -> tuple[Tensor, Tensor]:
        """Logits (states x operators, in the order of the task), and which are applicable."""
        batch = len(states)
        states = states.to(device=ground.device, dtype=torch.int32)
        applicable = ground.applicable(states)
        operators = self._inputs(ground, states, applicable)
        facts: list[Tensor] = []
        logits = operators
        for layer in range(self.layers):
            facts = self._propositions(ground, layer, operators, facts, batch)
            if layer + 1 < self.layers:
                hidden = self._actions(ground, layer + 1, operators, facts, batch)
                operators = F.elu(hidden)
            else:
                logits = self._actions(ground, layer + 1, operators, facts, batch)
        logits = logits.squeeze(2).index_select(0, ground.order).t()
        return logits, applicable.index_select(0, ground.order).t()

    def _module(self, name: str) -> tuple[Tensor, Tensor]:
        i = self._place[f"{name}.weight"]
        return self.tensors[i], self.tensors[i + 1]

    def _inputs(self, ground: GroundTask, states: Tensor, applicable: Tensor) -> Tensor:
        """Action layer 0. Products that do not depend on the state are computed once."""
        truths = ground.truths(states)
        begins = ground.structure.schema_begin.tolist()
        parts = []
        for a, schema in enumerate(self.shape.schemas):
            k = len(schema.slots)
            weight, bias = self._module(f"action.0.{schema.name}")
            constant = F.linear(ground.goals[a], weight[:, k : 2 * k], bias)
            related = ground.related[a]
            changing = truths.index_select(0, related.reshape(-1)).view(
                len(related), k, len(states)
            )
            applies = applicable[begins[a] : begins[a + 1]].to(torch.float32)
            x = torch.cat([changing, applies[:, None]], 1).transpose(1, 2)
            columns = torch.cat([weight[:, :k], weight[:, 2 * k :]], 1)
            parts.append(F.linear(x, columns) + constant[:, None])
        return F.elu(torch.cat(parts))

    def _propositions(
        self, ground: GroundTask, layer: int, operators: Tensor, previous: list[Tensor], batch: int
    ) -> list[Tensor]:
        padding = operators.new_full((1, batch, self.hidden), -1.0)
        padded = torch.cat([operators, padding])
        result = []
        for p, (name, _) in enumerate(self.shape.predicates):
            weight, bias = self._module(f"proposition.{layer}.{name}")
            x = []
            for table in ground.pools[p]:
                members = padded.index_select(0, table.view(-1))
                if len(table) > 1:
                    members = members.view(*table.shape, batch, self.hidden).amax(0)
                x.append(members)
            if layer > 0:
                x.append(previous[p])
            result.append(F.elu(F.linear(torch.cat(x, 2), weight, bias)))
        return result

    def _actions(
        self, ground: GroundTask, layer: int, operators: Tensor, facts: list[Tensor], batch: int
    ) -> Tensor:
        """Action layer `layer` before its ELU; one number per operator in the last layer."""
        h = self.hidden
        begins = ground.structure.schema_begin.tolist()
        predicate_begins = ground.structure.predicate_begin.tolist()
        missing = operators.new_full((1, batch, h), -1.0)
        index = self.shape.predicate_index
        parts = []
        for a, schema in enumerate(self.shape.schemas):
            weight, bias = self._module(f"action.{layer}.{schema.name}")
            count = begins[a + 1] - begins[a]
            last = len(schema.slots) * h
            total = F.linear(operators[begins[a] : begins[a + 1]], weight[:, last:], bias)
            for k, slot in enumerate(schema.slots):
                p = index[slot.predicate]
                rows = ground.related[a][:, k]
                # MISSING comes after all facts; here it is the row after those of the predicate.
                rows = torch.clamp(rows - predicate_begins[p], max=len(facts[p]))
                candidates = torch.cat([facts[p], missing])
                columns = weight[:, k * h : (k + 1) * h]
                if len(candidates) <= count or layer == self.layers:
                    total = total + F.linear(candidates, columns).index_select(0, rows)
                else:
                    total = total + F.linear(candidates.index_select(0, rows), columns)
            parts.append(total)
        return torch.cat(parts)


__all__ = ["ASNet", "GroundTask"]
