"""English verbs for names of action schemas, if the name is a known verb."""

from __future__ import annotations

# Names of schemas begin with these. Anything else is quoted: "takes `north`" is clumsy, "norths" is wrong.
_VERBS = """
ascend attach board boil build burn buy calibrate carry catch change charge clean climb close collect communicate
connect cook cool cross cut debark deliver depart descend detach dig disconnect drive drop eat embark empty enter
exchange exit extend feed fetch fill fix fly follow get give glue go grasp grind harvest hit hold hop insert inspect
install join jump kick land launch lay leave lift load lock lower make mix move navigate observe open operate pack paint
park pay pick place plant play point polish pour print pull push put raise read refuel release remove repair retract
ride rotate sail sample scan select sell send serve shake shift shoot slide spray stack start stop store swap sweep swim
switch take tighten touch transfer turn unload unlock unpack unstack upload use visit wait walk wash watch weld wrap
write zoom
"""
VERBS = frozenset(_VERBS.split())
SHORT = {
    "stop",
    "put",
    "get",
    "cut",
    "swim",
    "hit",
    "drop",
    "swap",
    "hop",
    "wrap",
    "fit",
    "dig",
    "ship",
    "plan",
}
# Some schemas are named by the particle alone.
DIRECTIONS = {
    "up": "go up",
    "down": "go down",
    "left": "go left",
    "right": "go right",
    "forward": "go forward",
    "north": "go north",
    "south": "go south",
    "east": "go east",
    "west": "go west",
    "noop": "do nothing",
    "skip": "do nothing",
    "putdown": "put down",
    "pickup": "pick up",
}


def verb(schema: str) -> tuple[str, str] | None:
    """The verb of a schema and what follows it, such as ("pick", "up"); None if the verb is not known."""
    if schema in DIRECTIONS:
        first, _, rest = DIRECTIONS[schema].partition(" ")
        return first, rest
    words = schema.replace("_", "-").split("-")
    if words[0] not in VERBS or not all(word.isascii() and word.isalpha() for word in words):
        return None
    return words[0], " ".join(words[1:])


def does(schema: str, quoted: str) -> str:
    """Third person, as in "picks up", or "takes `name`"."""
    known = verb(schema)
    return f"takes {quoted}" if known is None else _joined(_third(known[0]), known[1])


def doing(schema: str, quoted: str) -> str:
    """As in "picking up"."""
    known = verb(schema)
    return f"taking {quoted}" if known is None else _joined(_gerund(known[0]), known[1])


def do(schema: str, quoted: str) -> str:
    """As in "pick up"."""
    known = verb(schema)
    return f"take {quoted}" if known is None else _joined(*known)


def _joined(first: str, rest: str) -> str:
    return f"{first} {rest}".strip()


def _third(own: str) -> str:
    if own.endswith(("s", "x", "z", "ch", "sh", "o")):
        return f"{own}es"
    if own.endswith("y") and own[-2] not in "aeiou":
        return f"{own[:-1]}ies"
    return f"{own}s"


def _gerund(own: str) -> str:
    if own.endswith("e") and not own.endswith(("ee", "ye")):
        return f"{own[:-1]}ing"
    return f"{own}{own[-1]}ing" if own in SHORT else f"{own}ing"


__all__ = ["do", "does", "doing", "verb"]
