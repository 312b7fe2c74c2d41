"""Spanner: a man walks along a path, picks up spanners, and tightens nuts at its end."""

from __future__ import annotations

from misstep.reports.drawings.cards import Board, Where
from misstep.reports.drawings.drawing import Painter
from misstep.reports.drawings.subject import Scene, Subject


def make(subject: Subject) -> Painter | None:
    if not subject.has("at/2", "link/2", "carrying/2", "tightened/1"):
        return None
    men, nuts, spanners = subject.kind("man"), subject.kind("nut"), subject.kind("spanner")
    links = [(a, b) for a, b in subject.always("link/2")]
    places = _along(subject.kind("location"), links)

    def where(scene: Scene) -> Where:
        found = scene.pairs("at/2")
        found.update({spanner: man for man, spanner in scene.of("carrying/2")})
        return found

    def detail(scene: Scene, name: str) -> str:
        used = name in spanners and not scene.holds("usable/1", name)
        return "(used)" if used else ""

    return Board(
        *(places, men, [*spanners, *nuts], where),
        roads=links,
        arrange="row",
        goals={nut: "" for (nut,) in subject.goals_of("tightened/1")},
        wants="loose",
        done=lambda scene, nut: scene.holds("tightened/1", nut),
        detail=detail,
        round=frozenset(nuts),
    )


def _along(places: list[str], links: list[tuple[str, str]]) -> list[str]:
    """In the order of the walk."""
    then = dict(links)
    here = next((place for place in places if place not in set(then.values())), None)
    order: list[str] = []
    while here is not None and here not in order:
        order.append(here)
        here = then.get(here)
    return order + [place for place in places if place not in set(order)]
