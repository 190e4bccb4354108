"""Rewriting without a model: what is wrong with an attempt, and a sentence against it.

The findings come from the judge's numbers and from input and output; neither the reference nor the
ROI is looked at here, so that no rule can tell the editor where to work.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from medebench.cases.open_case import OpenCase
from medebench.images.picture import Picture
from medebench.metrics.colour import lengths, soft_lab
from medebench.models.prompt_text import visible_line
from medebench.systems.composed.judge_opinion import Opinion

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
