"""Whether Triton's interpreter works here. Run as a script with TRITON_INTERPRET=1; an error says that it does not.

Older versions fail at any loop over a number that a kernel is given, if they meet a newer numpy.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl


@triton.jit  # type: ignore[untyped-decorator]
def add_up(limit: Any, out: Any) -> None:
    total = 0
    for number in range(limit):
        total += number
    tl.store(out, total)


if __name__ == "__main__":
    result = torch.zeros(1, dtype=torch.int32)
    add_up[(1,)](4, result)
    assert int(result) == 6, result
