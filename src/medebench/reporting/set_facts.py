"""What is counted and measured of the cases of a set, one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from medebench.cases import Case, OpenCase, open_case
from medebench.cases.source_clusters import joined_sources
from medebench.encoders.encoder_lookup import find_encoder
from medebench.encoders.extractor import Extractor, Shown, shared_extractor
from medebench.errors import InputError, MedebenchError, NotReadyError, one_line
from medebench.images.picture import Picture, data_range
from medebench.metrics import Undefined
from medebench.metrics.semantic import cosine
from medebench.parallel import core_count_for, in_parallel
from medebench.progress import Progress

#: What people wrote about a case, by field.
TEXTS = {
    "prompt": "Prompt",
    "rephrased_prompt": "Rephrased prompt",
    "description": "Description",
    "caption": "Caption",
    "answer": "Answer",
}


@dataclass(frozen=True)
class CaseFacts:
    """Of one case; None where it has no such thing."""

    case: Case
    #: Of the first input image, or without one of the reference.
    width: int | None = None
    height: int | None = None
    bits: int | None = None
    #: Share of the frame inside the ROI.
    roi: float | None = None
    #: Hash of the input's pixels.
    source: str | None = None
    #: Cosine of prompt and input image to the encoder, and whether all of the prompt was read.
    similarity: float | None = None
    cut: bool = False
    #: Why something is not there.
    reason: str = ""

    @property
    def words(self) -> dict[str, int]:
        """By field, the number of words of every text there is."""
        texts = {name: str(getattr(self.case, name)) for name in TEXTS}
        return {name: len(text.split()) for name, text in texts.items() if text.strip()}


def read_encoder(name: str, device: str) -> Extractor:
    """The encoder with its memory; one that is not here is never downloaded."""
    encoder = find_encoder(name, device)
    if not encoder.texts:
        raise InputError(f"encoder '{name}': reads no texts, so prompts cannot be compared with it")
    if problem := encoder.problem():
        raise NotReadyError(problem)
    return shared_extractor(encoder, "whole")


def measure(
    cases: Sequence[Case], extractor: Extractor | None, workers: int | None, progress: Progress
) -> list[CaseFacts]:
    """The facts of all cases, in their order; every image is read once."""
    threads = workers or core_count_for(next(iter(cases[0].files().values()), None))
    place = {case.id: number for number, case in enumerate(cases)}
    found: list[CaseFacts] = []
    waiting: list[tuple[CaseFacts, Shown]] = []
    progress(0, len(cases))
    for facts, shown in in_parallel(lambda case: _measured(case, extractor), cases, threads):
        if extractor is None or shown is None:
            found.append(facts)
        else:
            waiting.append((facts, shown))
            if len(waiting) >= extractor.encoder.batch:
                found += _compared(extractor, waiting)
                waiting = []
        progress(len(found), len(cases))
    if extractor is not None and waiting:
        found += _compared(extractor, waiting)
    progress(len(cases), len(cases))
    joined = joined_sources({facts.case.id: facts.source for facts in found if facts.source})
    found = [replace(facts, source=joined.get(facts.case.id)) for facts in found]
    return sorted(found, key=lambda facts: place[facts.case.id])


def _measured(case: Case, extractor: Extractor | None) -> tuple[CaseFacts, Shown | None]:
    opened, facts = open_case(case), CaseFacts(case)
    try:
        if (picture := _picture(opened)) is None:
            return facts, None
        height, width = picture.shape[:2]
        bits = 8 if picture.dtype == "uint8" else case.bits or 16
        facts = replace(facts, width=width, height=height, bits=bits)
        if not case.inputs():
            return facts, None
        facts = replace(facts, source=opened.source)
        shown = None
        if extractor is not None and case.prompt:
            shown = extractor.show(picture, data_range(picture, case.bits))
        if case.roi is not None and case.previous is not None:
            facts = replace(facts, roi=float(opened.roi.mean()))
        return facts, shown
    except MedebenchError as error:
        text = one_line(str(error))
        for role, path in case.files().items():
            text = text.replace(str(path), f"the {role} image")
        return replace(facts, reason=text), None


def _picture(opened: OpenCase) -> Picture | None:
    if roles := list(opened.case.inputs()):
        return opened.image(roles[0])
    return None if opened.case.reference is None else opened.reference


def _compared(
    extractor: Extractor, waiting: Sequence[tuple[CaseFacts, Shown]]
) -> Iterator[CaseFacts]:
    images = extractor.features([shown for _, shown in waiting])
    texts = extractor.read([facts.case.prompt for facts, _ in waiting])
    for (facts, _), image, text in zip(waiting, images, texts, strict=True):
        try:
            value = cosine(image, text.features)
            yield replace(facts, similarity=value, cut=text.truncated)
        except Undefined as error:
            yield replace(facts, reason=one_line(str(error)))
