"""A set or a case in a few facts, and a case as one picture."""

from __future__ import annotations

from collections import Counter
from typing import Any

import cv2
import numpy as np

from medebench.cases.case import Case
from medebench.cases.caseset import CaseSet
from medebench.cases.image import encode_png
from medebench.cases.opened import open_case

_CYAN = (0, 200, 220)


def describe_set(cases: CaseSet) -> dict[str, Any]:
    organs = Counter(case.organ or "(none)" for case in cases)
    return {
        "name": cases.name,
        "source": cases.source,
        "cases": len(cases),
        "organs": dict(organs.most_common()),
        "tasks": len({(case.organ, case.task) for case in cases}),
        "with reference": sum(case.reference is not None for case in cases),
        "with ROI": sum(case.roi is not None for case in cases),
        "fingerprint": cases.fingerprint,
    }


def describe_case(case: Case) -> dict[str, Any]:
    opened = open_case(case)
    height, width = opened.previous.shape[:2]
    facts: dict[str, Any] = {"id": case.id, "organ": case.organ, "task": case.task}
    facts |= case.texts()
    facts |= {"key concept": case.key_concept, "modality": case.modality, "url": case.url}
    facts = {name: value for name, value in facts.items() if value}
    facts["size"] = f"{width} x {height}, {opened.previous.dtype}"
    if case.roi is not None:
        facts["ROI"] = f"{float(opened.roi.mean()):.1%} of the picture"
    if opened.keep is not None:
        facts["keep mask"] = f"{float(opened.keep.mean()):.1%} of the picture"
    return facts | {role: str(path) for role, path in case.files().items()}


def strip(case: Case) -> bytes:
    """Previous with the ROI outlined and, beside it, the reference, as PNG bytes."""
    opened = open_case(case)
    scale = 255 / opened.data_range
    panels = [(opened.previous * scale).astype(np.uint8)]
    if case.roi is not None:
        contours, _ = cv2.findContours(
            opened.roi.astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE
        )
        outlined = panels[0].copy()
        cv2.drawContours(outlined, contours, -1, _CYAN, 2)
        panels.append(outlined)
    if case.reference is not None:
        panels.append((opened.reference * scale).astype(np.uint8))
    gap = np.full((panels[0].shape[0], 8, 3), 255, np.uint8)
    joined = [part for panel in panels for part in (panel, gap)][:-1]
    return encode_png(np.concatenate(joined, axis=1))
