"""Checks of PDDL files before the translator reads them.

They cover only mistakes that the translator accepts silently, crashes on, or reports unhelpfully.
Everything else is left to the translator, so that nothing it can read is refused here; `diagnose`
rewrites its errors.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from misstep.errors import InputFormatError, UnsupportedError
from misstep.tasks.pddl.text import Block, Source, Word, parse_tree, shorten

DOMAIN_SECTIONS = (
    ":requirements",
    ":types",
    ":constants",
    ":predicates",
    ":functions",
    ":derived",
    ":action",
)
PROBLEM_SECTIONS = (":domain", ":requirements", ":objects", ":init", ":goal", ":metric")

# Parts of PDDL beyond classical planning: known, so the message can be about the feature.
_BEYOND = {
    ":durative-action": "durative actions",
    ":constraints": "trajectory constraints",
    ":process": "processes (PDDL+)",
    ":event": "events (PDDL+)",
    ":goal-reward": "rewards (PPDDL)",
    ":length": "plan length bounds",
}


def check_pair(domain: Source, problem: Source) -> tuple[Block, Block]:
    """Check both files and return their trees; raise the first error found."""
    domain_tree, problem_tree = parse_tree(domain), parse_tree(problem)
    _check_headers(domain, domain_tree, problem, problem_tree)
    _check_sections(domain, domain_tree, DOMAIN_SECTIONS, "domain")
    _check_sections(problem, problem_tree, PROBLEM_SECTIONS, "problem")
    _check_domain_name(domain_tree, problem, problem_tree)
    _check_actions(domain, domain_tree)
    _check_types(domain, domain_tree, problem, problem_tree)
    _check_costs(domain, domain_tree)
    return domain_tree, problem_tree


def _kind(tree: Block) -> str | None:
    """What the header declares: "domain", "problem" or something else."""
    if tree.tag == "define" and len(tree) > 1 and isinstance(tree[1], Block):
        return tree[1].tag
    return None


def _check_headers(
    domain: Source, domain_tree: Block, problem: Source, problem_tree: Block
) -> None:
    found = (_kind(domain_tree), _kind(problem_tree))
    if found == ("problem", "domain"):
        raise InputFormatError(
            "this is a problem file",
            where=domain.at(domain_tree.line),
            expected="the domain first, then the problem",
            hint="the files seem to be swapped",
        )
    for source, tree, kind, wanted in (
        (domain, domain_tree, found[0], "domain"),
        (problem, problem_tree, found[1], "problem"),
    ):
        if kind == wanted and len(tree[1]) == 2 and isinstance(tree[1][1], Word):
            continue
        kind = None if kind == wanted else kind
        other = kind in ("domain", "problem")
        raise InputFormatError(
            f"this is a {kind} file" if other else f"this does not define a {wanted}",
            where=source.at(tree.line),
            expected=f"(define ({wanted} NAME) ...)",
            hint="the same kind of file is given twice" if other else None,
        )


def _check_sections(source: Source, tree: Block, known: tuple[str, ...], kind: str) -> None:
    for item in tree[2:]:
        if isinstance(item, Word) or item.tag is None:
            line = item.line
            text = item if isinstance(item, Word) else "(" + " ".join(map(str, item)) + ")"
            raise InputFormatError(
                f"{shorten(text)!r} is not a section of a {kind}",
                where=source.at(line),
                expected=f"one of {' '.join(known)}",
            )
        if item.tag in _BEYOND:
            raise UnsupportedError(
                f"{_BEYOND[item.tag]} are not supported",
                where=source.at(item.line),
                expected="classical planning",
            )
        if item.tag not in known:
            raise InputFormatError(
                f"{shorten(item.tag)!r} is not a section of a {kind}",
                where=source.at(item.line),
                expected=f"one of {' '.join(known)}",
            )


def _check_domain_name(domain_tree: Block, problem: Source, problem_tree: Block) -> None:
    header = domain_tree[1]
    named = section(problem_tree, ":domain")
    if named is None or len(named) != 2 or not isinstance(header, Block) or len(header) != 2:
        return  # The translator words these.
    if named[1] != header[1]:
        raise InputFormatError(
            f"the problem is for the domain {named[1]!s:.60}, the domain file defines"
            f" {header[1]!s:.60}",
            where=problem.at(named.line),
            hint="do the two files belong together?",
        )


def _check_actions(domain: Source, tree: Block) -> None:
    # The translator only warns, but a policy names actions: two of one name are ambiguous.
    seen: dict[str, int] = {}
    for action in tree:
        if isinstance(action, Block) and action.tag == ":action" and len(action) > 1:
            name = action[1]
            if not isinstance(name, Word):
                continue  # The translator words this.
            if name in seen:
                raise InputFormatError(
                    f"the action {shorten(name)!r} is defined twice, first in line {seen[name]}",
                    where=domain.at(name.line),
                    hint="rename one of them",
                )
            seen[name] = name.line


def _check_types(domain: Source, domain_tree: Block, problem: Source, problem_tree: Block) -> None:
    # The translator takes a parameter of an undeclared type for one without objects, so the
    # action silently vanishes; an object of an undeclared type makes it crash.
    declared = {"object"}
    types = section(domain_tree, ":types")
    if types is not None:
        declared.update(word for word in types[1:] if isinstance(word, Word))
    uses = [(domain, word) for word in _domain_type_uses(domain_tree)]
    objects = section(problem_tree, ":objects")
    if objects is not None:
        uses += [(problem, word) for word in _types_in(objects)]
    for source, word in uses:
        if word not in declared:
            raise InputFormatError(
                f"the type {shorten(word)!r} is not declared",
                where=source.at(word.line),
                expected=f"one of {shorten(' '.join(sorted(declared - {'-'})), 200)}",
                hint="add it to :types or correct the spelling",
            )


def _check_costs(domain: Source, tree: Block) -> None:
    # An action whose cost is never given a value does not apply, so to the translator a
    # misspelt function is an action that silently vanishes.
    functions = section(tree, ":functions") or Block()
    declared = {item.tag for item in functions if isinstance(item, Block)}
    for block in tree.walk():
        if block.tag == "increase" and len(block) == 3:
            amount = block[2]
            if isinstance(amount, Block) and amount.tag and amount.tag not in declared:
                raise InputFormatError(
                    f"the function {shorten(amount.tag)!r} is not declared",
                    where=domain.at(amount.line),
                    hint="add it to :functions or correct the spelling",
                )


def _domain_type_uses(tree: Block) -> Iterator[Word]:
    for item in tree:
        if not isinstance(item, Block):
            continue
        if item.tag == ":constants":
            yield from _types_in(item)
        elif item.tag == ":action":
            for before, after in pairwise(item):
                if before == ":parameters" and isinstance(after, Block):
                    yield from _types_in(after)
            for inner in item.walk():
                if inner.tag in ("forall", "exists") and len(inner) > 1:
                    variables = inner[1]
                    if isinstance(variables, Block):
                        yield from _types_in(variables)


def _types_in(typed_list: Block) -> Iterator[Word]:
    """The types of a typed list: what follows a lone minus."""
    for before, after in pairwise(typed_list):
        if before == "-":
            if isinstance(after, Word):
                yield after
            elif after.tag == "either":
                yield from (word for word in after[1:] if isinstance(word, Word))


def section(tree: Block, tag: str) -> Block | None:
    """The first section of that name."""
    return next((item for item in tree if isinstance(item, Block) and item.tag == tag), None)
