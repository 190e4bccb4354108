"""A set or a case in a few facts, and a case as one picture."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from medebench.cases.case import Case
from medebench.cases.caseset import CaseSet
from medebench.cases.open_case import OpenCase, open_case
from medebench.errors import InputError, MedebenchError
from medebench.images.outline import on_screen, outlined
from medebench.images.picture import encode_png
from medebench.outputs.notebook import image_html, text_html


def describe_set(cases: CaseSet) -> dict[str, Any]:
    organs = Counter(case.organ or "(none)" for case in cases)
    answers = sum(bool(case.answer) for case in cases)
    return {
        "name": cases.name,
        "source": cases.source,
        "cases": len(cases),
        "organs": dict(organs.most_common()),
        "tasks": len({(case.organ, case.task) for case in cases}),
        "with reference": sum(case.reference is not None for case in cases),
        "with ROI": sum(case.roi is not None for case in cases),
        **({} if cases.task == "editing" else {"task": cases.task, "with answer": answers}),
        **_counted(cases),
        "fingerprint": cases.fingerprint,
    }


def _counted(cases: CaseSet) -> dict[str, dict[str, int]]:
    """Of sets of several formats, how many cases each has, and each modality."""
    if not any(case.group("format") for case in cases):
        return {}
    names = {"formats": "format", "modalities": "modality", "cases by task": "task"}
    return {
        told: dict(Counter(case.group(name) or "(none)" for case in cases).most_common())
        for told, name in names.items()
    }


def describe_case(case: Case) -> dict[str, Any]:
    opened = open_case(case)
    facts: dict[str, Any] = {"id": case.id, "organ": case.organ, "task": case.task}
    facts |= case.texts()
    facts |= {"key concept": case.key_concept, "modality": case.modality, "url": case.url}
    facts = {name: value for name, value in facts.items() if value}
    facts |= {name: value for name, value in case.groups.items() if name not in facts}
    if case.previous is not None:
        height, width = opened.previous.shape[:2]
        facts["size"] = f"{width} x {height}, {opened.previous.dtype}"
    if case.roi is not None:
        facts["ROI"] = f"{float(opened.roi.mean()):.1%} of the picture"
    if opened.keep is not None:
        facts["keep mask"] = f"{float(opened.keep.mean()):.1%} of the picture"
    return facts | {role: str(path) for role, path in case.files().items()}


def strip(case: Case) -> bytes:
    """Previous with the ROI outlined and, beside it, the reference, as PNG bytes."""
    opened = open_case(case)
    if case.previous is None:
        raise InputError(f"case {case.id}: has no input image to show")
    panels = [on_screen(opened.previous, opened.data_range)]
    if case.roi is not None:
        panels.append(outlined(panels[0], opened.roi))
    if case.reference is not None:
        panels.append(on_screen(opened.reference, opened.data_range))
    gap = np.full((panels[0].shape[0], 8, 3), 255, np.uint8)
    joined = [part for panel in panels for part in (panel, gap)][:-1]
    return encode_png(np.concatenate(joined, axis=1))


def case_html(opened: OpenCase) -> str:
    """Input images with the ROI outlined, the reference and all texts, for a notebook."""
    case = opened.case
    try:
        images = [
            image_html(
                on_screen(opened.image(role), opened.data_range),
                role,
                opened.mask if role == "previous" and case.roi is not None else None,
            )
            for role in case.inputs()
        ]
        if case.reference is not None:
            images.append(image_html(on_screen(opened.reference, opened.data_range), "reference"))
    except MedebenchError as error:
        images = [text_html(str(error), "cannot be shown:")]
    texts = {"case": case.id, "organ": case.organ, "task": case.task, **case.texts()}
    told = [text_html(text, name.replace("_", " ")) for name, text in texts.items() if text]
    return "".join(images + told)
