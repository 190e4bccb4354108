"""A task that gives texts and one that gives images with texts, with cases and systems."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import cv2
import numpy as np

import medebench as mb
from medebench.tasks import Task

ANSWERS = Task(
    "toy-answers",
    "answer a question about an image, or about none",
    gives=("text",),
    takes=("prompt",),
    groups=("modality",),
    noun="answer",
)
EXPLAINED = Task(
    "toy-explained",
    "draw what is asked for and explain it",
    gives=("image", "text"),
    takes=("prompt", "previous"),
    groups=("subtask",),
    rubric=str(Path(__file__).with_name("toys.yaml")),
)
#: Shown as it stands: it is no markup.
MARKUP = (
    "<b>Nothing</b> to see. <img src=x onerror=alert(1)>"
    "<script>document.title = 'hit'</script> &amp; so on"
)
REPORT = (
    "There is a small apical pneumothorax on the left; the pleural line is 1 cm from the wall.\n\n"
    "Findings\n  - heart of normal size\n  - no mediastinal shift\n\tno consolidation\n\n"
)


class _System:
    summary = "a toy"
    sees = ()
    control = False
    text = ""
    radius = 0

    class Settings(mb.Settings):
        pass

    def __init__(self, settings: Settings) -> None:
        pass

    def edit(self, request: Any) -> Any:
        case = request.case
        text = f"{self.text}" if case.case.id != "1" else f"{self.text} Case 1."
        if case.case.previous is None or "draw" not in case.case.prompt:
            return text
        image = case.previous.copy()
        cv2.circle(image, (40, 30), self.radius, (255, 255, 255), -1)
        return mb.Output(image, text)


class Good(_System):
    text = REPORT * 5
    radius = 12


class Middle(_System):
    text = "Pneumothorax on the left."
    radius = 4


class Poor(_System):
    text = MARKUP
    radius = 28


def write_cases(folder: Path, *, draws: bool = False, count: int = 6) -> mb.CaseSet:
    """Questions, with an image, with two, and with none; some with choices and an answer."""
    folder.mkdir(parents=True)
    records = []
    for number in range(1, count + 1):
        about: dict[str, Any] = {"id": str(number), "modality": "X-ray" if number % 2 else "CT"}
        if draws:
            about["prompt"] = f"Please draw the nodule of case {number}, and explain it."
            about["groups"] = {"subtask": "nodules" if number % 2 else "fluid"}
        else:
            about["prompt"] = f"What does case {number} show?"
            about["answer"] = "A pneumothorax on the left."
        if draws or number % 3:
            about["previous"] = _image(folder / f"{number}.png", number, (120, 90))
        if number % 3 == 1 and not draws:
            about["images"] = {"lateral": _image(folder / f"{number}-l.png", number + 50, (60, 90))}
            about["choices"] = ["Pneumothorax", "Effusion", "Normal"]
        records.append(about)
    table = folder / "cases.jsonl"
    table.write_text("".join(json.dumps(one) + "\n" for one in records), "utf-8")
    name = "EXPLAINED" if draws else "ANSWERS"
    return mb.load_cases(folder, task=f"{Path(__file__)}:{name}")


def _image(path: Path, seed: int, size: tuple[int, int]) -> str:
    random = np.random.default_rng(seed)
    small = random.integers(0, 200, (6, 6, 3), np.uint8)
    cv2.imwrite(str(path), cv2.resize(small, size, interpolation=cv2.INTER_CUBIC))
    return path.name


def make_runs(cases: mb.CaseSet, folder: Path) -> list[mb.Run]:
    """Good, Middle and Poor, in folders that tell nothing of it."""
    return [
        mb.edit(cases, f"{Path(__file__)}:{name}", folder / run)
        for run, name in (("alpha", "Good"), ("beta", "Middle"), ("gamma", "Poor"))
    ]
