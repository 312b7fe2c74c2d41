"""Logistics: cities with places, trucks inside of them, aeroplanes between their airports."""

from __future__ import annotations

from collections.abc import Iterator

from misstep.reports.drawings.cards import Board, Where
from misstep.reports.drawings.drawing import Painter
from misstep.reports.drawings.subject import Scene, Subject


def make(subject: Subject) -> Painter | None:
    if not subject.has("in-city/2", "at/2", "in/2"):
        return None
    vehicles = subject.kind("truck", "airplane", "vehicle")
    packages = subject.kind("package", "obj", "object-to-move")
    packages = [name for name in packages if name not in set(vehicles)]
    city_of = subject.always_pairs("in-city/2")
    places = [name for name in subject.objects if name in city_of]
    airports = [name for name in subject.kind("airport") if name in city_of]

    def roads() -> Iterator[tuple[str, str]]:
        """A star in each city and a ring of airports: all the ways that there are would hide the places."""
        for city in dict.fromkeys(city_of.values()):
            own = [place for place in places if city_of[place] == city]
            hub = next((place for place in own if place in airports), own[0])
            yield from ((hub, place) for place in own if place != hub)
        if len(airports) > 1:
            yield from zip(airports, airports[1:] + airports[:1], strict=True)

    def where(scene: Scene) -> Where:
        return {**scene.pairs("at/2"), **scene.pairs("in/2")}

    ways = list(roads())
    return Board(
        *(places, vehicles, packages, where),
        roads=[*ways, *((b, a) for a, b in ways)],
        goals=subject.goal_pairs("at/2"),
        mark_place=lambda _, place: city_of.get(place, "") + (" ✈" if place in airports else ""),
    )
