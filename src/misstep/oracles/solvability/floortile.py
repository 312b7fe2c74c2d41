"""Floortile: is there a plan?

Read a plan backwards. It begins with the goal, where robots stand on tiles that stay unpainted, and a painted tile is
freed by a robot that stands above or below it. Freeing a tile gives more room and takes none, so it can never be wrong,
and the order does not matter: the tiles that can be freed are the closure of the tiles that robots can get to. Robots
are all alike, since a robot takes any colour at any time; and things that are all alike can be moved on a connected set
of tiles from any places to any others. So only this counts: how many robots each connected part of the floor has, the
parts of the goal being spread over the parts of now. A part of now is solvable if its robots can be spread over its
parts of the goal, which must have room for them, such that the closure frees all of its tiles. More parts with a robot
free more, so with robots enough every part gets one, and otherwise the choices are tried one by one.

A tile that is painted in a wrong colour is a dead end, and a tile that the goal does not speak of is better left alone.
The plan is the closure, read forwards.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import combinations, pairwise

from misstep.oracles.solvability.situation import Situation, Step, require

MOST_CHOICES = 20_000  # ways to spread few robots over many parts
Tile = str
Way = list[Tile]


class Floor:
    """The tiles that are not painted now."""

    def __init__(self, situation: Situation) -> None:
        require(
            situation.goal_is_about("painted"), "floortile", "the goal is about more than colours"
        )
        painted = situation.pairs("painted")
        self.colours = situation.goal_pairs("painted")
        self.is_spoilt = any(
            tile in self.colours and self.colours[tile] != colour
            for tile, colour in painted.items()
        )
        vertical = situation.facts("above", "up", "down")
        horizontal = situation.facts("right-of", "right", "left")
        self.robots = situation.pairs("robot-at")
        self.has = situation.pairs("robot-has")
        self.free = {tile for pair in (*vertical, *horizontal) for tile in pair} - set(painted)
        self.free |= set(self.robots.values())
        self.open = {tile for tile in self.colours if tile not in painted}
        self.beside = self._graph((*vertical, *horizontal))
        self.upright = self._graph(vertical)

    def _graph(self, pairs: Iterable[tuple[str, ...]]) -> dict[Tile, list[Tile]]:
        graph: dict[Tile, set[Tile]] = {tile: set() for tile in self.free}
        for a, b in pairs:
            if a in self.free and b in self.free:
                graph[a].add(b)
                graph[b].add(a)
        return {tile: sorted(others) for tile, others in graph.items()}

    def parts(self, tiles: set[Tile]) -> list[set[Tile]]:
        """The connected parts of a set of tiles, in a fixed order."""
        left, found = set(tiles), []
        for tile in sorted(tiles):
            if tile in left:
                part = self.reach([tile], left)
                left -= part
                found.append(part)
        return found

    def reach(self, sources: Iterable[Tile], within: set[Tile]) -> set[Tile]:
        seen = {tile for tile in sources if tile in within}
        waiting = list(seen)
        while waiting:
            for tile in self.beside[waiting.pop()]:
                if tile in within and tile not in seen:
                    seen.add(tile)
                    waiting.append(tile)
        return seen

    def way(self, sources: set[Tile], target: Tile, within: set[Tile]) -> Way:
        """A shortest way from the nearest source to a tile; no other source is on it."""
        before: dict[Tile, Tile | None] = {target: None}
        waiting = deque([target])
        while waiting:
            tile = waiting.popleft()
            if tile in sources:
                way = [tile]
                while (following := before[way[-1]]) is not None:
                    way.append(following)
                return way
            for other in self.beside[tile]:
                if other in within and other not in before:
                    before[other] = tile
                    waiting.append(other)
        raise ValueError("the tiles are not connected")


def decide(situation: Situation) -> list[Step] | None:
    """The steps of a plan; None: there is none."""
    floor = Floor(situation)
    if floor.is_spoilt:
        return None
    backwards: list[tuple[str, Tile, Tile]] = []
    for part in floor.parts(floor.free):
        robots = sorted(tile for tile in floor.robots.values() if tile in part)
        if not part & floor.open:
            continue
        spread = _spread(floor, part, len(robots))
        if spread is None:
            return None
        backwards += _free_all(floor, part, spread)
        backwards += _rearrange(floor, part, _after(spread, backwards, part), set(robots))
    return _forwards(floor, backwards)


def _spread(floor: Floor, part: set[Tile], robots: int) -> set[Tile] | None:
    """Tiles of the goal where the robots of a part may end; None if nothing works."""
    bays = floor.parts(part - floor.open)
    if robots == 0 or sum(map(len, bays)) < robots:
        return None
    count = min(robots, len(bays))
    for tried, chosen in enumerate(combinations(range(len(bays)), count)):
        require(tried < MOST_CHOICES, "floortile", "so many bays of the floor stay unpainted")
        sources = [min(bays[i]) for i in chosen]
        if _closure(floor, part, sources) >= part & floor.open:
            # Those that are left over find room in the same bays, or in others, which cannot harm.
            others = [t for i in chosen for t in sorted(bays[i])[1:]]
            others += [t for i, bay in enumerate(bays) if i not in chosen for t in sorted(bay)]
            return {*sources, *others[: robots - count]}
    return None


def _closure(floor: Floor, part: set[Tile], sources: list[Tile]) -> set[Tile]:
    """The tiles that robots free and get to, backwards, if they begin on these."""
    free = part - floor.open
    seen = floor.reach(sources, free)
    waiting = list(seen)
    while waiting:
        tile = waiting.pop()
        for other in floor.upright[tile]:
            if other in part and other not in free:
                free.add(other)
                fresh = floor.reach([other], free) - seen
                seen |= fresh
                waiting += fresh
    return seen


def _free_all(floor: Floor, part: set[Tile], spread: set[Tile]) -> Iterator[tuple[str, Tile, Tile]]:
    """Moves (from, to) and unpaintings (of a tile, from a tile), backwards."""
    robots, free, left = set(spread), part - floor.open, part & floor.open
    while left:
        reached = floor.reach(robots, free)
        stand, tile = next(
            (stand, tile)
            for tile in sorted(left)
            for stand in floor.upright[tile]
            if stand in reached
        )
        way = floor.way(robots, stand, free)
        for origin, target in pairwise(way):
            yield "move", origin, target
        robots.discard(way[0])
        robots.add(stand)
        yield "paint", tile, stand
        left.discard(tile)
        free.add(tile)


def _after(
    spread: set[Tile], backwards: list[tuple[str, Tile, Tile]], part: set[Tile]
) -> set[Tile]:
    robots = set(spread)
    for kind, origin, target in backwards:
        if kind == "move" and origin in part:
            robots.discard(origin)
            robots.add(target)
    return robots


def _rearrange(
    floor: Floor, part: set[Tile], robots: set[Tile], targets: set[Tile]
) -> Iterator[tuple[str, Tile, Tile]]:
    """Moves that take robots, whichever, to the targets: leaf by leaf of a tree on the tiles."""
    robots, free = set(robots), set(part)
    for leaf in reversed(_from_a_root(floor, part)):
        moves: list[tuple[Tile, Tile]] = []
        if leaf in targets and leaf not in robots:
            moves = list(pairwise(floor.way(robots, leaf, free)))
        elif leaf in robots and leaf not in targets:
            # On the way to the nearest tile without a robot there are robots only: the foremost goes first.
            moves = [(b, a) for a, b in pairwise(floor.way(free - robots, leaf, free))]
        for origin, target in moves:
            yield "move", origin, target
            robots.discard(origin)
            robots.add(target)
        free.discard(leaf)


def _from_a_root(floor: Floor, part: set[Tile]) -> list[Tile]:
    """The tiles such that each but the first has a neighbour before it."""
    order = [min(part)]
    seen = set(order)
    for tile in order:  # grows while it is read
        for other in floor.beside[tile]:
            if other in part and other not in seen:
                seen.add(other)
                order.append(other)
    return order


def _forwards(floor: Floor, backwards: list[tuple[str, Tile, Tile]]) -> list[Step]:
    at = {tile: robot for robot, tile in floor.robots.items()}
    has = dict(floor.has)
    steps: list[Step] = []
    for kind, first, second in reversed(backwards):
        if kind == "move":
            robot = at.pop(second)
            at[first] = robot
            steps.append((("robot-at", robot, first),))
            continue
        robot, colour = at[second], floor.colours[first]
        if has[robot] != colour:
            steps.append((("robot-has", robot, colour),))
            has[robot] = colour
        steps.append((("painted", first, colour),))
    return steps
