"""How much memory the work on a model may take in one process.

An engine remembers every state that it met, a system what it expanded, a decider what it has proven. All of it can be
recomputed, so the work forgets it between two runs or batches once it grows large. Counts that do not depend on earlier
units decide when to forget, so that a campaign has the same records with one process and with several. The size in
bytes is used only if the counts do not suffice.
"""

from __future__ import annotations

from pathlib import Path

try:
    import resource
except ImportError:  # there are systems without limits
    resource = None  # type: ignore[assignment]

MOST = 3 * 2**29  # bytes: two processes stay below 4 GB
LEAST = 2**26
FORGET_AFTER = 4_000_000  # evaluations of a decider, which take about 200 bytes each


def room() -> int:
    """Bytes for states, expansions and proofs: half of what the memory limit of this process (`--memory`) leaves."""
    if resource is None:
        return MOST
    limit, _ = resource.getrlimit(resource.RLIMIT_DATA)
    if limit == resource.RLIM_INFINITY:
        return MOST
    return max(LEAST, min(MOST, (limit - _in_use()) // 2))


def _in_use() -> int:
    """The bytes in use that count towards the limit of the process."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[5])
    except (OSError, ValueError, IndexError):
        return 2**28
    return pages * 4096


__all__ = ["FORGET_AFTER", "room"]
