"""The 16 tasks of MedGEN-Bench: what must come out, how it is read, and what may be scored.

`determined` says whether input and instruction leave only one right image. Where they do not (the
colour map of a style, the corner of a label, a reference that an image model has made), likeness to
the reference is a description and ranks nobody.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from medebench.cases.case import Case
from medebench.cases.medgen_names import Format as Format
from medebench.cases.medgen_names import task_name

#: How an answer is read: as one of the choices, as what fills a gap, freely, or as a report.
AnswerKind = Literal["letter", "gap", "free", "report"]

#: By default: likeness to the reference, and whether the image came in another shape.
IMAGE = ("ssim", "psnr", "output_aspect_ratio")
#: By default, as answers are read.
ANSWER_METRICS: dict[AnswerKind, tuple[str, ...]] = {
    "letter": ("choice_accuracy",),
    "gap": ("gap_accuracy",),
    "free": ("key_accuracy", "finding_f1", "rouge_l"),
    "report": ("finding_f1", "findings_hallucinated", "findings_omitted", "rouge_l"),
}


@dataclass(frozen=True)
class MedgenTask:
    """One of the 16 tasks."""

    name: str
    format: Format
    answer: AnswerKind | None
    #: What `score` computes by default.
    metrics: tuple[str, ...]
    #: Whether input and instruction leave only one right image.
    determined: bool = True
    #: Not part of the revised benchmark any more.
    withdrawn: bool = False


def _question(name: str, answer: AnswerKind) -> MedgenTask:
    return MedgenTask(name, "vqa", answer, ANSWER_METRICS[answer])


def _editing(name: str, determined: bool) -> MedgenTask:
    return MedgenTask(name, "editing", None, IMAGE, determined)


def _generation(name: str, withdrawn: bool = False) -> MedgenTask:
    return MedgenTask(name, "generation", "free", IMAGE + ANSWER_METRICS["free"], False, withdrawn)


_EVERY = (
    _question("multiple-choice", "letter"),
    _question("blank-filling", "gap"),
    _question("question-answering", "free"),
    _question("report-generation", "report"),
    _editing("anatomical-annotation", False),
    _editing("artifact-removal", True),
    _editing("contrast-enhancement", False),
    _editing("noise-reconstruction", True),
    _editing("resolution-editing", True),
    _editing("style-transfer", False),
    _generation("2d-to-3d-reconstruction"),
    _generation("3d-to-2d-projection"),
    _generation("instruction-editing"),
    _generation("organic-reconstruction"),
    _generation("organic-removal"),
    _generation("disease-prediction", withdrawn=True),
)
MEDGEN_TASKS: dict[str, MedgenTask] = {one.name: one for one in _EVERY}


def find_medgen_task(name: str) -> MedgenTask | None:
    """The task of this name in any spelling, or None.

    >>> find_medgen_task("Dye_Transfer").name
    'style-transfer'
    """
    return MEDGEN_TASKS.get(task_name(name) or "")


def medgen_task(case: Case) -> MedgenTask | None:
    """The task of a case of MedGEN-Bench, or None for one of other sets."""
    return MEDGEN_TASKS.get(case.task)


def answer_kind(case: Case) -> AnswerKind:
    """How the answer to a case is read.

    >>> answer_kind(Case("1", None, "The lesion lies in the ____ lobe."))
    'gap'
    >>> answer_kind(Case("1", None, "Which organ?", choices=("liver", "spleen")))
    'letter'
    """
    known = medgen_task(case)
    if known is not None and known.answer is not None:
        return known.answer
    if case.choices:
        return "letter"
    return "gap" if re.search(r"_{2,}", case.prompt) else "free"
