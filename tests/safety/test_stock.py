"""The common limit on the work for all questions of a decider that stay open."""

from __future__ import annotations

from misstep.safety import Decider, System
from misstep.safety.decider import LEAST, PART, Answer, Budget, Stock


class Endless:
    """A system that counts up, so that practically no search ends; above 2^40 all states are goals."""

    def applicable(self, _: int) -> list[str]:
        return ["up", "far"]

    def outcomes(self, state: int, label: str) -> list[int]:
        return [state + 1] if label == "up" else [state + 1000, state + 7]

    def is_goal(self, state: int) -> bool:
        return state > 2**40

    def is_unsafe(self, state: int) -> bool:
        return state < 0


def test_a_question_may_take_a_part_of_what_is_left() -> None:
    stock = Stock(80_000)
    assert stock.share(1_000_000) == 80_000 // PART
    assert stock.share(50) == 50
    assert stock.share(None) == 80_000 // PART
    stock.take(79_999)
    assert stock.share(1_000_000) == LEAST
    stock.take(5)
    assert stock.left == 0
    assert stock.share(1_000_000) == LEAST


def test_open_questions_share_a_stock_and_answered_ones_take_nothing() -> None:
    stock = Stock(16_000)
    decider = Decider(System(Endless()), budget=Budget(evaluations=1_000_000), stock=stock)
    spent = []
    for state in range(0, 400_000, 4000):
        decided = decider.decide(state)
        assert decided.answer is Answer.UNKNOWN
        spent.append(decided.effort.evaluations)
    assert spent[0] == 16_000 // PART
    assert spent == sorted(spent, reverse=True)
    assert set(spent[-10:]) == {LEAST}
    left = stock.left
    assert decider.decide(2**40 + 1).answer is Answer.SAFE
    assert stock.left == left
