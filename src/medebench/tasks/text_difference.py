"""Where two texts differ, word by word, so that a reader sees it at once."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

#: Of either text; what is longer is shown without marks.
MOST_WORDS = 2000
_WORD = re.compile(r"\w+(?:[-'’]\w+)*")

#: From and to where in a text.
Place = tuple[int, int]


def differences(one: str, other: str) -> tuple[list[Place], list[Place]]:
    """What only the first text has, and what only the other; capitals and signs do not count.

    >>> one, other = "Small effusion on the left.", "No effusion on the right side."
    >>> found = differences(one, other)
    >>> [one[a:b] for a, b in found[0]], [other[a:b] for a, b in found[1]]
    (['Small', 'left'], ['No', 'right side'])
    """
    first, second = (list(_WORD.finditer(text)) for text in (one, other))
    if not first or not second or max(len(first), len(second)) > MOST_WORDS:
        return [], []
    words = [[match[0].casefold() for match in some] for some in (first, second)]
    found: tuple[list[Place], list[Place]] = ([], [])
    matcher = SequenceMatcher(None, words[0], words[1], autojunk=False)
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag == "equal":
            continue
        if b > a:
            found[0].append((first[a].start(), first[b - 1].end()))
        if d > c:
            found[1].append((second[c].start(), second[d - 1].end()))
    return found
