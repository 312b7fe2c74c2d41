"""`misstep list`: what can be named on the command line."""

from __future__ import annotations

from misstep.cli.arguments import AsJson
from misstep.cli.output import print_json
from misstep.planning import SEARCHES
from misstep.tasks.domains import DOMAINS


def list_command(as_json: AsJson = False) -> int:
    """List the built-in domains and searches."""
    sections = {
        "domains": {
            name: domain.summary
            + " Sizes: "
            + ", ".join(f"--{p.name} {p.default}" for p in domain.parameters)
            for name, domain in DOMAINS.items()
        },
        "searches": {name: kind.summary for name, kind in SEARCHES.items()},
    }
    if as_json:
        print_json(
            {
                "domains": {
                    name: {
                        "summary": domain.summary,
                        "sizes": {p.name: p.default for p in domain.parameters},
                    }
                    for name, domain in DOMAINS.items()
                },
                "searches": sections["searches"],
            }
        )
        return 0
    for title, entries in sections.items():
        print(f"{title}:")
        for name, summary in entries.items():
            print(f"  {name:<12} {summary}")
    return 0
