"""Two tasks of a user's own, all in one file: answers to questions, and a text with a figure."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np

import medebench as mb
from medebench.tasks import Card, CardImage, CardText, Task

LONG = "The lesion is well defined, of low density and without contrast. " * 40
HOSTILE = "</script><b>bold</b> & “quoted”"
CASES = 12

Questions = Task(
    "questions",
    "answer a question about medical images",
    gives=("text",),
    takes=("prompt", "answer"),
    headline=("exact", "words"),
    groups=("modality", "difficulty"),
    noun="answer",
)


class _Figured(Task):
    """Its card also has the ward, the number of words and the negative of the figure."""

    def card(self, case: mb.OpenCase, output: mb.Output | None = None) -> Card:
        card = super().card(case, output)
        texts = [*card.texts, CardText("Ward", f"ward {case.case.id}")]
        images = [*card.images]
        if output is not None and output.text is not None and output.image is not None:
            texts.append(CardText("Length", f"{len(output.text.split())} words", "output"))
            images.append(CardImage("Negative", 255 - output.image, "output"))
        return replace(card, texts=tuple(texts), images=tuple(images))


Figured = _Figured(
    "figured",
    "write a report with a figure",
    gives=("text", "image"),
    takes=("prompt",),
    headline=("exact",),
    groups=("subtask",),
    noun="illustrated report",
)


class _System:
    summary = "for tests"

    def __init__(self, settings: object) -> None:
        self.settings = settings


class First(_System):
    """Always the first choice."""

    name = "first"
    gives = ("text",)

    def edit(self, request: mb.Request) -> str:
        return request.case.case.choices[0]


class Knowing(_System):
    """Right, with a long answer and a hostile one; refuses once."""

    name = "knowing"
    gives = ("text",)

    def edit(self, request: mb.Request) -> str:
        case = request.case.case
        if case.id == "q5":
            raise mb.Refused("it does not answer this")
        return case.answer + {"q3": f". {LONG}", "q4": HOSTILE}.get(case.id, "")


class Writer(_System):
    name = "writer"
    gives = ("text", "image")

    def edit(self, request: mb.Request) -> mb.Output:
        case = request.case.case
        figure = np.full((300, 400, 3), 40, np.uint8)
        cv2.circle(figure, (200, 150), 40 + 6 * int(case.id[1:]), (190, 180, 160), -1)
        return mb.Output(figure, f"Report on {case.id}: one round lesion, no effusion.")


@mb.metric("exact", "whether it is the expected answer", label="Exact match", of="text")
def exact(case: mb.OpenCase, text: str) -> float:
    return float(text == case.case.answer)


@mb.metric("words", "number of words", better="neither", high=math.inf, decimals=1, of="text")
def words(case: mb.OpenCase, text: str) -> float:
    return float(len(text.split()))


def write_cases(folder: Path) -> Path:
    """Questions with two scans each, choices and answers; in groups that are not organs."""
    (folder / "scans").mkdir(parents=True)
    rows = []
    for i in range(CASES):
        rng = np.random.default_rng(i)
        images = {}
        for name, size in (("arterial", (240, 320)), ("venous", (200, 200))):
            noise = cv2.GaussianBlur(rng.random(size).astype(np.float32), (0, 0), 12)
            scan = cv2.normalize(noise, None, 0, 255, cv2.NORM_MINMAX).astype(np.uint8)
            images[name] = f"scans/{i}{name}.png"
            cv2.imwrite(str(folder / images[name]), scan)
        rows.append(
            {
                "id": f"q{i}",
                "prompt": f"Is there a lesion in segment {i} of the liver?",
                "choices": ["yes", "no", "it cannot be told from these images"],
                "answer": "no" if i % 3 else "yes",
                "modality": ("CT", "MR", "X-ray")[i % 3] if i else "",
                "groups": {
                    "difficulty": "hard" if i % 2 else "easy",
                    "subtask": "follow-up" if i % 4 else "triage",
                },
                "images": images if i != 7 else {},
            }
        )
    (folder / "cases.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return folder


def make_runs(folder: Path, task: str, systems: list[str], out: Path) -> list[mb.Run]:
    cases = mb.load_cases(folder, task=f"{__file__}:{task}")
    runs = [mb.edit(cases, f"{__file__}:{name}", out / name.lower()) for name in systems]
    mb.score(runs, metrics=[f"{__file__}:exact", f"{__file__}:words"])
    return runs
