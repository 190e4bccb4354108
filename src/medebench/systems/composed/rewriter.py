"""The next instruction after an attempt that was not good enough."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from medebench.cases.open_case import OpenCase
from medebench.errors import ImageError
from medebench.models import Ask, Image, encode_for_model
from medebench.models.prompt_text import visible_line
from medebench.systems.composed import rewrite_rules
from medebench.systems.composed.drafts import Attempt
from medebench.systems.composed.llm_session import LlmSession
from medebench.systems.composed.prompts import (
    AFTER_REVIEW,
    IMAGE_SIZE,
    read_instruction,
    review_ask,
)
from medebench.systems.request import Request

#: The instruction, and what the ledger keeps of how it came about.
Words = tuple[str, dict[str, Any] | None]
#: As long as what a judge usually says, for an estimate.
_LIKELY_REVIEW = "editing accuracy 0.4 of 1: the change is there only in part. " * 6


class ByRules:
    label = identity = rewrite_rules.LABEL

    def next_words(self, request: Request, attempts: Sequence[Attempt]) -> Words:
        latest = attempts[-1]
        if latest.ea is None:
            # Nothing is known that other words could mend.
            return latest.instruction, None
        scored = [one for one in attempts if one.ea is not None]
        heard = [_found(request, one) for one in scored]
        told = {"rules": self.label, "findings": [one.name.lower() for one in heard[-1]]}
        return rewrite_rules.reword(request.instruction, heard), told


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
        outcome = self.session.write(ask, read, AFTER_REVIEW)
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


def _found(request: Request, attempt: Attempt) -> tuple[rewrite_rules.Finding, ...]:
    assert attempt.picture is not None
    return rewrite_rules.findings(request.case, attempt.picture, attempt.opinion)


def _encode(case: OpenCase, picture: Any) -> Image:
    return encode_for_model(picture, IMAGE_SIZE, bits=case.case.bits)
