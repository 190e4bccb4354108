"""Many reasons in few words: equal ones counted together, what differs between them as a range."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from medebench.reason import KINDS, kind_of

#: Finer codes than those of `KINDS`, which stay when words change: how the reason says it (a group
#: of the pattern is what varies), and what a summary says.
_CAUSES: tuple[tuple[str, str, str], ...] = (
    ("empty-file", r"empty file$", "empty"),
    ("not-an-image", r"not an image\b", "not an image"),
    ("cut-off", r"damaged .*\(.*truncated|Truncated", "cut off"),
    ("damaged-file", r"damaged (?:or truncated )?(?:image|mask)", "damaged"),
    ("oversized", r"(?:more|larger) than [\d,]+ pixels", "too many pixels"),
    ("no-file", r"no such file$|the folder has no file for this case", "without a file"),
    (
        "other-photograph",
        r"the reference is another photograph: around the ROI it differs by ([\d.]+)",
        "another photograph, difference {}",
    ),
    ("same-reference", r"reference and previous are alike", "reference like the input in the ROI"),
    ("roi-too-large", r"the ROI leaves ([\d.]+%) of the windows", "ROI leaves {} of the windows"),
    ("roi-whole", r"the ROI is the whole", "ROI is the whole image"),
    ("roi-empty", r"the ROI is empty", "ROI is empty"),
)
_OF_FILES = ("empty-file", "not-an-image", "cut-off", "damaged-file", "oversized", "no-file")
#: What a summary need not repeat: the kind says it, and the file is one of many.
_HEAD = re.compile(
    r"^(?:no output: |unreadable output: )?"
    r"(?:(?:[^:]|:(?! ))*\.(?:png|jpe?g|webp|tiff?|bmp|txt|json): )?",
    re.IGNORECASE,
)
#: What varies between reasons that are the same: numbers, but not those of a protocol or inside a
#: name, and what is quoted.
_VARYING = re.compile(
    r"(?<!HTTP )(?<![\w./'-])\d+(?:,\d{3})*(?:\.\d+)?(?![\w/]|\.\w)|(?<!\w)'[^']*'(?!\w)"
)


@dataclass(frozen=True)
class ReasonGroup:
    """Reasons that say the same: `kind` is one of `KINDS`, `cause` a finer code, or the kind."""

    kind: str
    cause: str
    words: str
    count: int

    def __str__(self) -> str:
        times = " x" if self.words[:1].isdigit() else ""
        return f"{self.count:,}{times} {self.words}"


def group_reasons(reasons: Iterable[tuple[str, int]]) -> list[ReasonGroup]:
    """Reasons with their counts, put together; what failed first, then what is undefined.

    >>> told = [("no output: out/3.png: empty file", 2), ("no output: out/4.png: empty file", 1)]
    >>> other = "the reference is another photograph: around the ROI it differs by"
    >>> groups = group_reasons([*told, (f"{other} 67", 5), (f"{other} 10", 7)])
    >>> [(one.cause, one.words, one.count) for one in groups]  # doctest: +NORMALIZE_WHITESPACE
    [('empty-file', 'empty', 3),
     ('other-photograph', 'another photograph, difference 10 to 67', 12)]
    """
    found: dict[tuple[str, str, str], list[tuple[Sequence[str], int]]] = {}
    for reason, count in reasons:
        cause, template, varying = _read(reason)
        kind = kind_of(reason, "unreadable" if cause in _OF_FILES else "undefined")
        place = kind, cause or kind, template
        found.setdefault(place, []).append((varying, count))
    groups = [
        ReasonGroup(kind, cause, _filled(template, [v for v, _ in some]), sum(n for _, n in some))
        for (kind, cause, template), some in found.items()
    ]
    sizes: dict[str, int] = {}
    for one in groups:
        sizes[one.kind] = sizes.get(one.kind, 0) + one.count

    def place_of(one: ReasonGroup) -> tuple[object, ...]:
        return one.kind == "undefined", -sizes[one.kind], one.kind, -one.count, one.words

    return sorted(groups, key=place_of)


def reasons_in_words(groups: Iterable[ReasonGroup], most: int = 6) -> str:
    """Groups as `group_reasons` gives them, for a sentence or a cell; of many the first.

    >>> few = "pixels are too few"
    >>> told = [("a.png: not an image", 60), ("b.png: empty file", 59), (f"3 {few}", 4)]
    >>> reasons_in_words(group_reasons([*told, (f"8 {few}", 2)]))
    '60 not an image, 59 empty; 6 x 3 to 8 pixels are too few'
    """
    every = list(groups)
    if len(every) > most + 1:
        rest = sum(one.count for one in every[most:])
        every, tail = every[:most], f"; {rest:,} for {len(every) - most} other reasons"
    else:
        tail = ""
    kinds = (some for _, some in groupby(every, lambda one: one.kind))
    return "; ".join(", ".join(map(str, some)) for some in kinds) + tail


def cause_of(reason: str) -> str:
    """The finest code of a reason that stays when its words change.

    >>> cause_of("no output: out/3_0.png: empty file"), cause_of("no output: too dark")
    ('empty-file', 'no-output')
    """
    return _read(reason)[0] or kind_of(reason)


def _read(reason: str) -> tuple[str, str, tuple[str, ...]]:
    """The cause if there is one, the words with places for what varies, and what stood there."""
    words = _HEAD.sub("", reason, count=1)
    for cause, pattern, template in _CAUSES:
        if match := re.search(pattern, words):
            return cause, template, match.groups()
    template = _VARYING.sub("{}", words.replace("{", "{{").replace("}", "}}"))
    return "", template, tuple(_VARYING.findall(words))


def _filled(template: str, varying: Sequence[Sequence[str]]) -> str:
    return template.format(*map(_range, zip(*varying, strict=True)))


def _range(seen: Sequence[str]) -> str:
    """ "10 to 67" of numbers; of quotations one, or that there are several."""
    if len(set(seen)) == 1:
        return seen[0]
    if any(one.startswith("'") for one in seen):
        return "'…'"
    low, *_, high = sorted(seen, key=lambda one: float(one.rstrip("%").replace(",", "")))
    return low if low == high else f"{low} to {high}"


assert not KINDS.keys() & {cause for cause, *_ in _CAUSES}
