"""Spanner: is there a plan?

The man goes one way, so what is behind him is lost. A nut needs a usable spanner that he has, or finds no later than at
the nut. Nuts are served in the order of the path, and any spanner serves any nut, so there is a plan if and only if,
for every place of the path, the nuts up to it are no more than the usable spanners up to it: Hall's condition on a
line. The plan picks up all spanners and tightens each nut of the goal where it is.
"""

from __future__ import annotations

from misstep.oracles.solvability.situation import Situation, Step, require


def decide(situation: Situation) -> list[Step] | None:
    """The steps of a plan; None: there is none."""
    require(situation.goal_is_about("tightened"), "spanner", "the goal is about more than nuts")
    men = situation.objects("man")
    require(len(men) == 1, "spanner", "there is not exactly one man")
    man = men[0]
    place = situation.pairs("at")
    path = _path(situation, place[man])
    usable = {spanner for (spanner,) in situation.facts("usable")}
    open_nuts = {nut for (nut,) in situation.goal("tightened") - situation.facts("tightened")}
    loose = {nut for (nut,) in situation.facts("loose")}
    if any(place[nut] not in path or nut not in loose for nut in open_nuts):
        return None
    hand = sorted(spanner for _, spanner in situation.facts("carrying") if spanner in usable)
    steps: list[Step] = []
    for index, location in enumerate(path):
        if index:
            steps.append((("at", man, location),))
        for spanner in sorted(usable - set(hand)):
            if place.get(spanner) == location:
                steps.append((("carrying", man, spanner),))
                hand.append(spanner)
        for nut in sorted(nut for nut in open_nuts if place[nut] == location):
            if not hand:
                return None
            hand.pop()
            steps.append((("tightened", nut),))
            open_nuts.discard(nut)
        if not open_nuts:
            break
    return steps


def _path(situation: Situation, start: str) -> list[str]:
    following: dict[str, str] = {}
    for origin, target in situation.facts("link"):
        require(origin not in following, "spanner", "the path forks")
        following[origin] = target
    path = [start]
    while path[-1] in following:
        path.append(following[path[-1]])
        require(len(path) <= len(following) + 1, "spanner", "the path is a circle")
    return path
