"""The next instruction after an attempt that was not good enough, by a model or without one.

Without a model: what is wrong with an attempt, and a sentence against it. The findings come from
the judge's numbers and from input and output; neither the reference nor the ROI is looked at here,
so that no rule can tell the editor where to work.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from functools import partial
from typing import Any

from medebench.cases.open_case import OpenCase
from medebench.errors import ImageError
from medebench.images.picture import Picture
from medebench.metrics.colour import lengths, soft_lab
from medebench.models import Ask, Image, encode_for_model
from medebench.models.prompt_text import visible_line
from medebench.systems.composed.drafts import Attempt, Opinion
from medebench.systems.composed.prompts import (
    AFTER_REVIEW,
    IMAGE_SIZE,
    as_answer,
    read_instruction,
    review_ask,
)
from medebench.systems.composed.wrapper import LlmSession
from medebench.systems.request import Request

#: The rules' name and version, for the ledger; other sentences are other rules.
LABEL = "rules v1"
#: Softened colour differences (CIE76): the largest below which nobody sees a change, and the mean
#: beside the ROI from which on too much was changed.
UNSEEN, TOO_MUCH = 4.0, 2.0
#: Change of detail (the offline judge's |log ratio|), and visual quality, that are plain to see.
WORN, POOR = 0.2, 0.6


class Finding(Enum):
    """Value: how it is put to a model that rewrites."""

    NOTHING = "hardly anything has changed"
    PARTLY = "what was asked for is not done, or only in part"
    BESIDE = "parts were changed that should have stayed as they were"
    WORN = "the picture has become blurred or noisy"


#: What is added to the instruction: once, and where that did not help.
_AGAINST = {
    Finding.NOTHING: (
        "Make this change plain to see.",
        "Make this change strong and unmistakable, over its full extent.",
    ),
    Finding.PARTLY: (
        "Carry it out completely.",
        "Carry it out completely and in every detail; leave no trace of how it was before.",
    ),
    Finding.BESIDE: (
        "Keep everything else exactly as it is.",
        "Change nothing but this; everything else keeps its shape, colour and brightness.",
    ),
    Finding.WORN: (
        "Keep the picture sharp and clean.",
        "Keep every edge as sharp and every surface as clean as before.",
    ),
}


def findings(case: OpenCase, output: Picture, opinion: Opinion) -> tuple[Finding, ...]:
    """At least one, for an attempt that is not good enough."""
    change = soft_lab(output, case.data_range) - soft_lab(case.previous, case.data_range)
    if float(lengths(change).max()) < UNSEEN:
        return (Finding.NOTHING,)
    found = [Finding.PARTLY]
    worn = opinion.facts.get("detail_change", 0.0) >= WORN
    stray = opinion.facts.get("stray")
    poor = opinion.vq is not None and opinion.vq < POOR
    if stray >= TOO_MUCH if stray is not None else poor:
        found.append(Finding.BESIDE)
    return (*found, Finding.WORN) if worn else tuple(found)


def reword(asked: str, heard: Sequence[tuple[Finding, ...]]) -> str:
    """The instruction with a sentence against each latest finding; `heard`: of all attempts."""
    text = visible_line(asked)
    sentences = [text if text.endswith((".", "!", "?")) else f"{text}."]
    for finding in heard[-1]:
        times = sum(finding in earlier for earlier in heard)
        known = _AGAINST[finding]
        sentences.append(known[min(times, len(known)) - 1])
    return " ".join(sentences)


#: The instruction, and what the ledger keeps of how it came about.
Words = tuple[str, dict[str, Any] | None]
#: As long as what a judge usually says, for an estimate.
_LIKELY_REVIEW = "editing accuracy 0.4 of 1: the change is there only in part. " * 6


class ByRules:
    label = identity = LABEL

    def next_words(self, request: Request, attempts: Sequence[Attempt]) -> Words:
        latest = attempts[-1]
        if latest.ea is None:
            # Nothing is known that other words could mend.
            return latest.instruction, None
        scored = [one for one in attempts if one.ea is not None]
        heard = [_found(request, one) for one in scored]
        told = {"rules": self.label, "findings": [one.name.lower() for one in heard[-1]]}
        return reword(request.instruction, heard), told


class ByModel:
    """It sees input and latest output and reads the judge's complaint; never the reference."""

    def __init__(self, session: LlmSession, words: int) -> None:
        self.session = session
        self.label = session.client.name
        url = session.client.identity().get("url", "")
        self.identity = f"{AFTER_REVIEW.label} {session.client.name} {url}"
        self._words = words

    def next_words(self, request: Request, attempts: Sequence[Attempt]) -> Words:
        latest = attempts[-1]
        if latest.made is not None and latest.ea is None:
            return latest.instruction, None
        earlier = list(dict.fromkeys(one.instruction for one in attempts))
        case = request.case
        output = None if latest.picture is None else _encode(case, latest.picture)
        review = _review(request, latest)
        previous = _encode(case, case.previous)
        ask = review_ask(previous, output, request.instruction, earlier, review, self._words)
        read = partial(read_instruction, most=self._words, earlier=earlier)
        outcome = self.session.write(ask, read, AFTER_REVIEW, as_answer)
        # Without new words the old ones get another seed, and the reason stands in the ledger.
        return outcome.value or latest.instruction, self.session.told(outcome)

    def asks(self, case: OpenCase) -> list[Ask]:
        """A question of the size to be expected."""
        try:
            picture = _encode(case, case.previous)
        except ImageError:
            return []
        asked = case.case.prompt
        return [review_ask(picture, picture, asked, [asked], _LIKELY_REVIEW, self._words)]


def _review(request: Request, attempt: Attempt) -> str:
    opinion = attempt.opinion
    if attempt.picture is None:
        return f"There is no result: {visible_line(attempt.reason or '')}"
    lines = []
    for kind, name in (("ea", "editing accuracy"), ("vq", "visual quality")):
        if (value := getattr(opinion, kind)) is not None:
            said = visible_line(opinion.reasons.get(kind, ""))
            lines.append(f"{name} {value:.2f} of 1" + (f": {said}" if said else ""))
    lines += [f"difference seen: {visible_line(one)}" for one in opinion.differences]
    if not opinion.reasons and not opinion.differences:
        lines += [one.value for one in _found(request, attempt)]
    return "\n".join(lines)


def _found(request: Request, attempt: Attempt) -> tuple[Finding, ...]:
    assert attempt.picture is not None
    return findings(request.case, attempt.picture, attempt.opinion)


def _encode(case: OpenCase, picture: Any) -> Image:
    return encode_for_model(picture, IMAGE_SIZE, bits=case.case.bits)
