"""An edit as an encoder sees it: similarity to the reference, to the text, and direction.

    isim        cos(e(output), e(reference))
    talign      cos(e(output), t(text))
    dalign      cos(e(output) - e(previous), t(text))
    edit_score  cos(e(output) - e(previous), t(prompt) - t(caption))

with e = E / |E| and t = T / |T|, where E sees pictures and T reads texts; the text is the prompt or
the change description. The edit score's texts say what is to be seen after the edit and before it.

The first three are shown the whole picture: what is cut off cannot be judged, and a ROI may lie
there. Their `_published` twins are shown it as the script of the MedEBench paper does, without
antialiasing. The edit score sees what the encoder's own preparation leaves, as published.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from medebench.cases.open_case import once
from medebench.encoders.encoder import Encoder, Features, TextFeatures
from medebench.encoders.encoder_lookup import encoder_name, find_encoder, reads_texts
from medebench.encoders.extractor import Extractor, Shown, shared_extractor
from medebench.encoders.image_framing import Framing
from medebench.errors import ImageError, InputError
from medebench.metrics.metric import BatchMetric, Measured, MetricInfo, Subject, Undefined

#: A difference this small beside the vectors themselves is the rounding of the network.
ROUNDING = 1e-5
#: How the names of those end that follow the script of the paper.
PUBLISHED = "_published"
_NOWHERE = "the encoder returned a zero vector"


@dataclass(frozen=True)
class Family:
    summary: str
    #: The picture the output stands beside, if any.
    beside: Literal["reference", "previous"] | None
    #: The field of the case that is read, if any.
    text: Literal["prompt", "description"] | None
    #: The field from which that text sets off, if any.
    since: Literal["caption"] | None = None
    framing: Framing = "whole"

    @property
    def formula(self) -> str:
        """Ends the variant: `dalign` once took the vectors with their lengths."""
        return "" if self.beside != "previous" or self.since else " unit vectors"

    @property
    def needs(self) -> tuple[str, ...]:
        reference = "reference" if self.beside == "reference" else None
        return tuple(one for one in (self.text, self.since, reference) if one)


_ALIGNED: dict[str, Family] = {
    "isim": Family("similarity of output and reference to the encoder", "reference", None),
    "talign_prompt": Family("similarity of output and prompt to the encoder", None, "prompt"),
    "talign_description": Family(
        "similarity of output and change description to the encoder", None, "description"
    ),
    "dalign_prompt": Family("similarity of the change and the prompt", "previous", "prompt"),
    "dalign_description": Family(
        "similarity of the change and its description", "previous", "description"
    ),
}
FAMILIES: dict[str, Family] = {
    **_ALIGNED,
    **{
        f"{name}{PUBLISHED}": replace(
            family, summary=f"{family.summary}, as in the paper's script", framing="published"
        )
        for name, family in _ALIGNED.items()
    },
    "edit_score": Family(
        "similarity of the change in the image and the change in the text",
        "previous",
        "prompt",
        "caption",
        "own",
    ),
}


_FRAMED = (
    "The whole picture is seen, squashed into the encoder’s frame if its own preparation would "
    "cut parts off; published: squashed without antialiasing, as in the paper’s script."
)
#: By what a family begins with: what tables call it, and how its numbers come about.
_SHOWN = {
    "isim": ("ISim", f"Cosine of the encoder’s vectors of output and reference. {_FRAMED}"),
    "talign": ("TAlign", f"Cosine of the encoder’s vectors of output and text. {_FRAMED}"),
    "dalign": (
        "DAlign",
        "Cosine of the way from previous image to output, as the difference of their unit "
        f"vectors, and the vector of the text; undefined where nothing changed. {_FRAMED}",
    ),
    "edit_score": (
        "Edit score",
        "Cosine of the way from previous image to output and the way from caption to "
        "prompt, as differences of the encoder’s unit vectors; undefined where either is no longer "
        "than rounding.",
    ),
}


def cosine(one: Features, other: Features) -> float:
    """The cosine of the angle between two vectors; exactly 1 for equal ones.

    >>> round(cosine(np.float32([1, 0]), np.float32([1, 1])), 6)
    0.707107
    """
    a, b = np.asarray(one, np.float64), np.asarray(other, np.float64)
    squares = float(a @ a) * float(b @ b)
    if squares == 0:
        raise Undefined(_NOWHERE)
    if not math.isfinite(value := float(a @ b) / math.sqrt(squares)):
        raise Undefined("the encoder returned a vector that is not finite")
    return min(1.0, max(-1.0, value))


def change(output: Features, previous: Features) -> Features:
    """The difference of two unit vectors; Undefined where it is no larger than rounding.

    Their lengths are taken out first, as only angles mean something to these encoders: a vector
    that only became longer shows no edit.
    """
    return _way(
        _unit(output),
        _unit(previous),
        "sees no difference between the output and the previous image",
    )


def direction(output: Features, previous: Features, prompt: Features, caption: Features) -> float:
    """The edit score: do picture and text go the same way?

    >>> one, two, three = np.float32([[1, 0, 0], [0, 1, 0], [0, 0, 3]])
    >>> direction(two, one, two * 5, one), round(direction(two, one, three, one), 6)
    (1.0, 0.5)
    """
    return cosine(
        change(output, previous),
        _way(_unit(prompt), _unit(caption), "reads no difference between prompt and caption"),
    )


def _way(to: Features, since: Features, not_seen: str) -> Features:
    way = np.asarray(to, np.float64) - np.asarray(since, np.float64)
    if np.linalg.norm(way) <= ROUNDING * np.linalg.norm(since):
        raise Undefined(f"the encoder {not_seen}")
    return way.astype(np.float32)


def _unit(vector: Features) -> Any:
    """In double precision: what is left of two of them may be small."""
    exact = np.asarray(vector, np.float64)
    if (length := float(np.linalg.norm(exact))) == 0:
        raise Undefined(_NOWHERE)
    return exact / length


def info(family: str, which: str | None = None) -> MetricInfo:
    """What the numbers of `<family>_<encoder>` mean; needs no weights.

    A ledger may name an encoder after a folder that is no longer here, or on another machine.
    """
    try:
        name = encoder_name(which)
    except InputError:
        name = str(which)
    return _info(family, name)


def make(family: str, which: str | None, device: str, batch: int | None) -> BatchMetric:
    """The metric on the encoder `which` (a known name, hub id or folder; by default the paper's).

    InputError where that encoder reads no texts, said before its weights are looked for.
    """
    known = _info(family, encoder_name(which))
    if FAMILIES[family].text and reads_texts(which) is False:
        raise _reads_nothing(known.name, encoder_name(which))
    return semantic_metric(family, find_encoder(which, device, batch))


def semantic_metric(family: str, encoder: Encoder) -> BatchMetric:
    """The metric on this encoder; all of one encoder share their features."""
    known = _info(family, encoder.name)
    if FAMILIES[family].text and not encoder.texts:
        raise _reads_nothing(known.name, encoder.name)
    if FAMILIES[family].framing not in encoder.framings:
        raise InputError(
            f"metric '{known.name}': pictures for {encoder.name} cannot be prepared as the paper "
            f"did for CLIP; use {family.removesuffix(PUBLISHED)}:{encoder.name}"
        )
    return SemanticMetric(known, FAMILIES[family], encoder)


@dataclass(frozen=True)
class _Inputs:
    output: Shown
    beside: Shown | None
    text: str | None
    since: str | None


class SemanticMetric(BatchMetric):
    def __init__(self, known: MetricInfo, family: Family, encoder: Encoder) -> None:
        self.info = known
        self.family = family
        self.encoder = encoder
        self.variant = ""
        if encoder.problem() is None:
            self.variant = encoder.identified(family.framing) + family.formula

    def problem(self) -> str | None:
        return self.encoder.problem()

    @cached_property
    def extractor(self) -> Extractor:
        return shared_extractor(self.encoder, self.family.framing)

    def prepare(self, subject: Subject) -> _Inputs:
        case = subject.case
        self.info.require(case)
        if self.family.beside == "previous" and np.array_equal(subject.output, case.previous):
            raise Undefined("the output equals the previous image")
        beside = None
        if self.family.beside:
            beside = self._show(case.memo, self.family.beside, subject)
        text = str(getattr(case.case, self.family.text)) if self.family.text else None
        since = str(getattr(case.case, self.family.since)) if self.family.since else None
        if text is not None and text == since:
            raise Undefined(f"the {self.family.text} equals the {self.family.since}")
        return _Inputs(self._show(subject.memo, "output", subject), beside, text, since)

    def _show(self, memo: dict[Any, Any], which: str, subject: Subject) -> Shown:
        """Hashed and prepared once for all metrics of this encoder."""
        seen = self.encoder.identified(self.family.framing)
        key = f"shown to {self.encoder.name} {seen}: {which}"
        picture = subject.output if which == "output" else getattr(subject.case, which)
        try:
            return once(memo, key, lambda: self.extractor.show(picture, subject.case.data_range))
        except ImageError as error:
            raise Undefined(str(error)) from error

    def measure(self, prepared: Sequence[_Inputs]) -> list[Measured | Undefined]:
        if not prepared:
            return []
        shown = [one.output for one in prepared]
        shown += [one.beside for one in prepared if one.beside is not None]
        rows = self.extractor.features(shown)
        texts = [one.text for one in prepared if one.text is not None]
        texts += [one.since for one in prepared if one.since is not None]
        reads = self.extractor.read(texts) if texts else []
        # Of one family all have a picture beside them, or none has, and so with the texts.
        count = len(prepared)
        return [self._measure(rows[n::count], reads[n::count]) for n in range(count)]

    def _measure(self, seen: Features, read: Sequence[TextFeatures]) -> Measured | Undefined:
        try:
            value = _value(seen, [one.features for one in read])
        except Undefined as why:
            return why
        cut = next((one for one in read if one.truncated), None)
        if cut is None:
            return Measured(value)
        told = {"encoder": self.encoder.name, "tokens": cut.tokens, "read": cut.read}
        return Measured(value, told)

    def close(self) -> None:
        if "extractor" in self.__dict__:
            self.extractor.close()


def _value(seen: Features, texts: Sequence[Features]) -> float:
    """Of the output and what it stands beside, the text and where that sets off."""
    if not texts:
        return cosine(*seen)
    if len(texts) == 2:
        return direction(*seen, *texts)
    return cosine(seen[0] if len(seen) == 1 else change(*seen), texts[0])


def _info(family: str, encoder: str) -> MetricInfo:
    if family not in FAMILIES:
        raise InputError(f"no metric '{family}'; there are: {', '.join(FAMILIES)}")
    told = FAMILIES[family]
    kind = family.removesuffix(PUBLISHED).partition("_")[0]
    label, definition = _SHOWN["edit_score" if family == "edit_score" else kind]
    published = "published" if family.endswith(PUBLISHED) else ""
    return MetricInfo(
        f"{family}_{encoder}",
        told.summary,
        "higher",
        -1.0,
        1.0,
        told.needs,
        label=label,
        sublabel="" if told.since else " ".join(filter(None, [told.text, published])),
        decimals=3,
        definition=definition,
    )


def _reads_nothing(name: str, encoder: str) -> InputError:
    return InputError(f"metric '{name}': {encoder} has no text encoder; use isim_{encoder} instead")
