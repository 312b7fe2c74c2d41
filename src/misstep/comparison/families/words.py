"""Conditions and families in plain English, in the words of the domain.

Names come from untrusted files: they are escaped, cut if they are long, and quoted if they are not English words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from misstep.comparison.families.conditions import (
    Argument,
    Condition,
    Effect,
    Objects,
    OpenGoals,
    Plain,
    Possible,
    Property,
)
from misstep.comparison.families.ground import ANY
from misstep.comparison.families.language import Domain
from misstep.comparison.families.verbs import do, does, doing

LONGEST = 230  # characters of a sentence: two lines
LONGEST_NAME = 30
_ODD = re.compile(r"[^A-Za-z0-9_.\-]")
PLACES = frozenset(
    [
        "at",
        "in",
        "on",
        "above",
        "below",
        "under",
        "inside",
        "near",
        "behind",
        "beside",
        "over",
        "onto",
        "upon",
    ]
)
# Words for predicates that would otherwise read badly, for the object at each position; {} is the other object.
KNOWN = {
    ("carry", 2): ("is carried by {}", "carries {}"),
    ("carrying", 2): ("carries {}", "is carried by {}"),
    ("holding", 2): ("holds {}", "is held by {}"),
    ("holding", 1): ("is held",),
    ("ontable", 1): ("is on the table",),
    ("on-table", 1): ("is on the table",),
    ("handempty", 0): ("the hand is empty",),
    ("empty-ferry", 0): ("the ferry is empty",),
    ("road", 2): ("has a road to {}", "has a road from {}"),
    ("link", 2): ("has a link to {}", "has a link from {}"),
    ("connected", 2): ("is connected to {}", "is connected with {}"),
    ("adjacent", 2): ("is next to {}", "is next to {}"),
    ("have-image", 2): ("has an image in {}", "has an image of {}"),
    ("on", 1): ("is on board",),
    ("space", 2): ("has space for {}", "is the space left in {}"),
}


def harmless(text: str) -> str:
    """An untrusted name, shortened and without odd characters."""
    plain = _ODD.sub("?", text)
    return plain if len(plain) <= LONGEST_NAME else f"{plain[: LONGEST_NAME - 2]}.."


def name(text: str) -> str:
    """The same for names that may be written in any case."""
    return harmless(text.lower())


def quoted(text: str) -> str:
    return f"`{name(text)}`"


class Speech:
    """Puts conditions on decisions for one schema into words."""

    def __init__(self, domain: Domain, chosen: str | None, better: str | None) -> None:
        self.domain = domain
        self.parameters = domain.schemas.get(chosen or "", ())
        self.better = domain.schemas.get(better or "", ())

        self._status = _status_words(domain)

    # -- nouns ------------------------------------------------------------------------------------

    def argument(self, place: int) -> str:
        """An argument of the decision, as in "the ball", or "the room `from`" where there are two rooms."""
        if place >= len(self.parameters):
            return f"argument {place + 1}"
        own, kinds = self.parameters[place]
        alike = sum(kinds == others for _, others in self.parameters)
        if kinds == (ANY,):
            return f"the argument {quoted(own)}" if not own.isdigit() else f"argument {own}"
        noun = _noun(kinds)
        return f"the {noun}" if alike == 1 else f"the {noun} {quoted(own)}"

    def _other(self, own: Property, place: int) -> str:
        """The object at another position of a property: an argument of the decision, or any object."""
        for at, argument in own.fixed:
            if at == place:
                return self.argument(argument)
        kinds = self.domain.predicates.get(own.name, ())
        kind = _noun(kinds[place]) if place < len(kinds) else ANY
        return "something" if kind == "object" else f"some {kind}"

    # -- properties -------------------------------------------------------------------------------

    def property(self, own: Property, positive: bool = True) -> str:
        """What an object with the property is or does, as in "is at the room"."""
        if own.kind == "status":
            return self._status[own.name][not positive]
        text = self._atom(own)
        if own.kind == "goal":
            return self._wanted(text, own, positive)
        return text if positive else negated(text)

    def _atom(self, own: Property) -> str:
        others = [self._other(own, k) for k in range(own.arity) if k != own.place]
        known = KNOWN.get((own.name, own.arity))
        if known is not None:
            text = known[own.place].format(*others)
            # "is carried by some gripper" says no more than "is carried".
            return text.removesuffix(f" by {others[0]}") if others and not own.fixed else text
        shown = name(own.name).replace("_", "-")
        subject, _, last = shown.rpartition("-")
        first, _, rest = shown.partition("-")
        if own.arity == 1:
            if first == "at" and rest:
                return f"has the {rest}"
            if last == "at" and subject:
                return f"has the {subject}"
            if shown.replace("-", "").isalpha():
                return f"is {shown.replace('-', ' ')}"
        if own.arity == 2:
            at = shown if shown in PLACES else last if last in PLACES and subject else None
            if at is not None:
                return f"is {at} {others[0]}" if own.place == 0 else f"has {others[0]} {at} it"
            if last == "of" and subject:
                way = "is" if own.place == 0 else "has"
                end = others[0] if own.place == 0 else f"{others[0]} {subject} of it"
                return f"is {subject} of {end}" if way == "is" else f"has {end}"
            if last == "has":
                return f"has {others[0]}" if own.place == 0 else f"belongs to {others[0]}"
        return f"has {self._written(own)}"

    def _written(self, own: Property) -> str:
        """As an atom, where no words are better."""
        given = dict(own.fixed)
        terms = [
            "it" if k == own.place else self.argument(given[k]) if k in given else "_"
            for k in range(own.arity)
        ]
        return f"{quoted(own.name)}({', '.join(terms)})"

    def _wanted(self, text: str, own: Property, positive: bool) -> str:
        if text.startswith("is "):
            return f"{'must' if positive else 'need not'} be {text[3:]}"
        if text.startswith("has "):
            return f"{'must' if positive else 'need not'} have {text[4:]}"
        return f"{'is' if positive else 'is not'} to have {self._written(own)}"

    # -- conditions -------------------------------------------------------------------------------

    def condition(self, own: Condition, positive: bool) -> str:
        """A clause, as in "some ball that is not at its goal is at the room"."""
        match own:
            case Argument():
                return f"{self.argument(own.argument)} {self.property(own.own, positive)}"
            case Objects():
                return self._objects(own, positive)
            case Possible():
                return self._possible(own, positive)
            case Plain():
                return _plain(own.name, positive)
            case OpenGoals():
                n = own.at_least
                few = "at most one goal is" if n == 2 else f"at most {n - 1} goals are"
                return f"at least {n} goals are open" if positive else f"{few} open"
            case Effect():
                verb = "undoes" if own.undoes else "reaches"
                text = f"this {verb} a goal"
                return text if positive else f"this {'undoes' if own.undoes else 'reaches'} no goal"
        raise TypeError(type(own).__name__)

    def clauses(self, rule: Sequence[tuple[Condition, bool]]) -> list[str]:
        """The conditions of a rule; "some" and "at most one" of the same objects are "exactly one"."""
        some = {own for own, positive in rule if positive and isinstance(own, Objects)}
        few = {own for own, positive in rule if not positive and isinstance(own, Objects)}
        found = []
        for own, positive in sorted(rule, key=lambda literal: not literal[1]):
            if isinstance(own, Objects):
                if own in some and own.at_least == 1 and replace(own, at_least=2) in few:
                    found.append(self._objects(own, True, "exactly one"))
                    continue
                if own in few and own.at_least == 2 and replace(own, at_least=1) in some:
                    continue
            found.append(self.condition(own, positive))
        return found

    def _objects(self, own: Objects, positive: bool, exactly: str | None = None) -> str:
        kind = _noun((own.kind,))
        taken = any(self.domain.fits((own.kind,), kinds) for _, kinds in self.parameters)
        one = f"other {kind}" if taken else kind
        if own.at_least == 1:
            number = (f"another {kind}" if taken else f"some {kind}") if positive else f"no {one}"
        else:
            number = f"more than one {one}" if positive else f"at most one {one}"
        number = number if exactly is None else f"{exactly} {one}"
        # The property about the place comes last: "some ball that is not at its goal is at the room".
        parts = sorted(own.own, key=lambda p: (p.kind != "status", p.kind == "atom", len(p.fixed)))
        *which, main = parts
        clause = " and ".join(self.property(part) for part in which)
        subject = f"{number} that {clause}" if which else number
        return f"{subject} {self.property(main)}"

    def _possible(self, own: Possible, positive: bool) -> str:
        text = do(own.schema, quoted(own.schema))
        about: dict[int, list[str]] = {}
        for j, one in own.own:
            about.setdefault(j, []).append(self.property(one))
        objects = [f"{self._better(j, 'a')} that {' and '.join(what)}" for j, what in about.items()]
        objects += [f"{self.argument(i)}" for _, i in own.same]
        if own.wanted is not None:
            j, k = own.wanted[1]
            objects.append(
                f"{self._better(j, 'a')} and {self._better(k, 'the')} that its goal names"
            )
        if objects:
            text += f" ({', '.join(objects)})"
        if own.reaches:
            text += " and so reach a goal"
        if own.cheaper:
            text += " at a lower cost"
        return f"it {'could' if positive else 'could not'} {text}"

    def _better(self, place: int, article: str) -> str:
        if place >= len(self.better):
            return "something"
        noun = _noun(self.better[place][1])
        vowel = article == "a" and noun[:1] in "aeiou"
        return f"an {noun}" if vowel else f"{article} {noun}"


def _status_words(domain: Domain) -> dict[str, tuple[str, str]]:
    """Words for the status of an object's goal, with negations; the words of the goal itself if all are alike."""
    arities = {goal: len(domain.predicates.get(goal, ())) for goal in domain.goals}
    if len(arities) == 1 and set(arities.values()) == {1}:
        what = name(next(iter(arities))).replace("-", " ").replace("_", " ")
        return {
            "open": (f"is not yet {what}", f"is {what} or need not be"),
            "done": (f"is {what} as it must be", f"is not {what} as it must be"),
            "none": (f"need not be {what}", f"must be {what}"),
        }
    none = ("has no goal", "has a goal")
    if all(goal.rpartition("-")[2] in PLACES for goal in arities):
        away, there = "is not at its goal", "is at its goal"
        return {"open": (away, f"{there} or has none"), "done": (there, away), "none": none}
    return {
        "open": ("has an open goal", "has no open goal"),
        "done": ("has reached its goal", "has not reached its goal"),
        "none": none,
    }


def _noun(kinds: Sequence[str]) -> str:
    return " or ".join(name(kind) for kind in kinds[:3])


def _plain(atom: str, positive: bool) -> str:
    known = KNOWN.get((atom, 0))
    if known is not None:
        return known[0] if positive else negated(known[0])
    return f"{quoted(atom)} {'holds' if positive else 'does not hold'}"


def negated(text: str) -> str:
    """The negation of a clause; all our clauses have one of these verbs."""
    for verb, denied in (
        ("is ", "is not "),
        ("has the ", "does not have the "),
        ("has some ", "has no "),
        ("has something", "has nothing"),
        ("has a ", "has no "),
        ("has ", "does not have "),
        ("carries ", "does not carry "),
        ("holds ", "does not hold "),
        ("belongs ", "does not belong "),
    ):
        if text.startswith(verb):
            return denied + text[len(verb) :]
        if f" {verb}" in text:
            return text.replace(f" {verb}", f" {denied}", 1)
    return f"not: {text}"


def mistake(chosen: str | None, better: str | None, world: str) -> str:
    """What the policy does, and what it should do: "moves instead of picking up"."""
    if world == "model":
        did = "stops" if chosen is None else f"takes {quoted(chosen)}"
        instead = (
            "where something else is better" if better is None else f"instead of {quoted(better)}"
        )
        return f"{did} {instead}"
    did = "stops" if chosen is None else does(chosen, quoted(chosen))
    if better is None:
        return f"{did} where something else is better"
    if better == chosen:
        return f"{did} wrongly"
    return f"{did} instead of {doing(better, quoted(better))}"


def sentence(what: str, clauses: Sequence[str], why_not: str | None, numbers: str) -> str:
    """The whole description in one sentence of at most two lines; it says how many conditions are left out."""
    if why_not is not None:
        return f"{what}, {why_not}: {numbers}"
    kept = list(clauses)
    while True:
        left_out = len(clauses) - len(kept)
        told = kept if not left_out else [*kept, f"{left_out} more condition(s)"]
        joined = " although " + " and ".join(told) if told else ""
        text = f"{what}{joined}: {numbers}"
        if len(text) <= LONGEST or not kept:
            return text
        kept.pop()


def numbers(count: int, tasks: int, worst_gap: int | None, failing: int, world: str) -> str:
    """As in "95 bugs in 4 tasks, worst gap 6"."""
    parts = [f"{count} bug{'s' * (count != 1)}"]
    noun = "task" if world == "planning" else "model"
    parts[0] += f" in {tasks} {noun}s" if tasks > 1 else ""
    if world == "planning" and failing:
        parts.append(
            "all fail" if failing == count > 1 else "it fails" if count == 1 else f"{failing} fail"
        )
    if worst_gap is not None:
        parts.append(f"worst gap {worst_gap}")
    return ", ".join(parts)


__all__ = ["Speech", "harmless", "mistake", "name", "numbers", "quoted", "sentence"]
