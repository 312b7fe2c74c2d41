"""A Python function for miconic (`python:`) with a planted bug: it takes for granted that one passenger is aboard.

It fetches passengers one by one, which costs more than a cheapest plan where two could share a trip. It never takes a
second passenger in, but from a state in which two are aboard it crashes.
"""

from misstep.tasks.state_view import StateView


def act(state: StateView) -> str:
    """The name of an operator."""
    here = places(state, "lift-at")[0][0]
    aboard = [passenger for (passenger,) in places(state, "boarded")]
    if aboard:
        (passenger,) = aboard  # the bug: there may be two
        verb, floor = "depart", dict(places(state, "destination"))[passenger]
    else:
        waiting = [
            pair for pair in places(state, "origin") if f"served({pair[0]})" not in state.facts
        ]
        verb, (passenger, floor) = "board", waiting[0]
    if here == floor:
        return f"{verb} {passenger} {here}"
    return next(move.name for move in state.actions if tuple(move.arguments) == (here, floor))


def places(state: StateView, predicate: str) -> list[list[str]]:
    """The arguments of the facts of a predicate."""
    facts = [fact for fact in state.atoms if fact.startswith(f"{predicate}(")]
    return [fact[len(predicate) + 1 : -1].split(", ") for fact in facts]
