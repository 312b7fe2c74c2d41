"""Options that are not broken: a browser may end a line behind each hyphen of `--max-states`.

The class `short` on inline code and the class `option` on options in blocks tell the style sheet which words to keep
whole. Longer words may still be broken, so that no table or page becomes wider than a phone because of them.
"""

from __future__ import annotations

import re

SHORT = 24  # characters of a word that fits into a column of a table on a phone
_BLOCK = re.compile(r"<pre>.*?</pre>", re.DOTALL)
_OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]*")


def is_short(code: str) -> bool:
    """Whether no word of this inline code needs to be broken."""
    return all(len(word) <= SHORT for word in code.split())


def options_marked(html: str) -> str:
    """The page with a mark around each option in its blocks of code."""
    mark = r'<span class="option">\g<0></span>'
    return _BLOCK.sub(lambda block: _OPTION.sub(mark, block[0]), html)


__all__ = ["is_short", "options_marked"]
