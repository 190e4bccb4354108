"""Answers in words from readings of pictures: the question is told by a few words of it.

Where the pictures tell nothing, an answer is guessed; the guess hangs on the question alone.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence

from medebench.phantoms.medgen.picture_rules import Reading
from medebench.phantoms.medgen.scene import KINDS, MODALITIES, SIDES, THIRDS, Kind
from medebench.phantoms.medgen.terms import NUMBERS, TERMS, listed

_ORDER = ("first", "second", "third", "fourth")
_GAP = re.compile(r"_{2,}")


def choose(question: str, choices: Sequence[str], readings: Sequence[Reading]) -> str:
    """The choice that fits what was read, with its letter."""
    fitting = [one for one in choices if _fits(_plain(one), question, readings)]
    return fitting[0] if len(fitting) == 1 else _guess(question, fitting or choices)


def _plain(choice: str) -> str:
    return re.sub(r"^[A-Za-z][.):]\s*", "", choice).strip().lower()


def _fits(option: str, question: str, readings: Sequence[Reading]) -> bool:
    if len(readings) > 1:
        return any(place in option and bool(one.spots)
                   for place, one in zip(_ORDER, readings, strict=False))  # fmt: skip
    [reading] = readings
    if reading.modality is None:
        return False
    if option in map(str.lower, MODALITIES):
        return option == reading.modality.lower()
    if option in ("none", *NUMBERS) and "how many" in question.lower():
        return option.replace("none", "no") == NUMBERS[min(len(reading.spots), 3)]
    if option in ("no lesion", "there is none", "none"):
        return not reading.spots
    if not reading.spots:
        return False
    first = reading.spots[0]
    words = re.findall(r"\w+", option)
    if set(words) & {*SIDES, *THIRDS}:
        return first.side in words and first.third in words
    return kind_of(option) == first.kind


def kind_of(words: str) -> Kind | None:
    """The kind of lesion that the words name, in any style; of two, the longest name."""
    names = {name: kind for terms in TERMS.values() for kind in KINDS for name in terms.kinds[kind]}
    found = [name for name in names if re.search(rf"\b{re.escape(name)}\b", words.lower())]
    return names[max(found, key=len)] if found else None


def fill(question: str, readings: Sequence[Reading]) -> str:
    """What fills the gap, bare."""
    line = next(one for one in question.split("\n") if _GAP.search(one))
    before, after = _GAP.split(line, maxsplit=1)
    first = readings[0].spots[0] if readings[0].spots else None
    if len(readings) > 1:
        return _growth(question, readings)
    if after.strip().startswith("third"):
        return first.third if first else _guess(question, THIRDS)
    if before.rstrip().endswith("in the") or after.strip().startswith("half"):
        return first.side if first else _guess(question, SIDES)
    if kind_of(after) is not None:
        unread = readings[0].modality is None
        return _guess(question, NUMBERS) if unread else NUMBERS[min(len(readings[0].spots), 3)]
    return _named(readings[0], 1) if first else _guess(question, _every_name(readings[0]))


def _growth(question: str, readings: Sequence[Reading]) -> str:
    sizes = [max((spot.radius for spot in one.spots), default=0.0) for one in readings[:2]]
    if sizes[0] == sizes[1] or not all(sizes):
        return _guess(question, ("grown", "shrunk"))
    return "grown" if sizes[1] > sizes[0] else "shrunk"


def tell(reading: Reading) -> str:
    """A sentence about what was read."""
    if reading.modality is None:
        return "The picture shows nothing that I can name."
    if not reading.spots:
        return "No lesion is seen."
    count = len(reading.spots)
    word = NUMBERS[min(count, 3)]
    return f"{word[0].upper()}{word[1:]} {_named(reading, count)}: {_places(reading)}."


def answer(question: str, reading: Reading) -> str:
    """An answer in a sentence to an open question."""
    asked = question.lower()
    if not reading.spots and reading.modality is not None and (kind := kind_of(question)):
        return f"There is no {TERMS[reading.modality].kinds[kind][0]}."
    if not reading.spots:
        guess = "" if reading.modality is not None or "side" not in asked else (
            f"It may lie on the {_guess(question, SIDES)}."
        )  # fmt: skip
        return guess or tell(reading)
    if "which side" in asked or "where it" in asked or "half" in asked:
        return f"On the {listed(reading.sides)}: {_places(reading)}."
    if "abnormal" in asked:
        return f"A {_named(reading, 1)} is seen."
    return tell(reading)


def report(reading: Reading) -> str:
    count = len(reading.spots)
    clear = [side for side in SIDES if side not in reading.sides]
    findings = tell(reading)
    if reading.spots and clear:
        findings += f" The {_half(reading, clear[0])} is clear."
    impression = "No lesion."
    if reading.spots:
        sides = listed([_half(reading, side) for side in reading.sides])
        impression = f"{NUMBERS[min(count, 3)].capitalize()} {_named(reading, count)}, {sides}."
    return f"FINDINGS:\n{findings}\n\nIMPRESSION:\n{impression}"


def _half(reading: Reading, side: str) -> str:
    return TERMS[reading.modality].half.format(side) if reading.modality else side


def _places(reading: Reading) -> str:
    return listed([f"{one.third} third of the {_half(reading, one.side)}" for one in reading.spots])


def _named(reading: Reading, count: int) -> str:
    assert reading.modality is not None
    return TERMS[reading.modality].kinds[reading.spots[0].kind][count != 1]


def _every_name(reading: Reading) -> list[str]:
    styles = [reading.modality] if reading.modality else MODALITIES
    return [TERMS[style].kinds[kind][0] for style in styles for kind in KINDS]


def _guess(question: str, options: Sequence[str]) -> str:
    return options[zlib.crc32(question.encode()) % len(options)]
