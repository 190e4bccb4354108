"""A set with a question, an edit and an image with text, and systems that answer all of it."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from PIL import Image

import medebench as mb
from medebench.cases import Case, CaseSet
from medebench.files import cache_folder
from tests.conftest import draw
from tests.models.server import Call

HERE = __file__
QUESTIONS = (
    ("Which side is the effusion on?", "There is a left pleural effusion."),
    ("Is there a fracture?", "There is a fracture of the right radius."),
    ("What does the image show?", "A mass in the left upper lobe, no pneumothorax."),
    ("Where is the lesion?", "The lesion lies in the right lobe of the liver."),
    ("Which kidney is enlarged?", "The left kidney is enlarged."),
)
TURNS = (
    ("Project the volume onto one slice.", "The slice shows the left kidney."),
    ("Show the slice at 40 percent.", "The slice shows the right lobe of the liver."),
    ("Show the slice at 60 percent.", "The slice shows the left lung without effusion."),
    ("Show the slice at 70 percent.", "The slice shows the right lung with a nodule."),
)


def cases(text: str = "", progress: Any = None, folder: Any = None) -> CaseSet:
    """Questions, edits and projections, as MedGEN-Bench mixes them."""
    root = cache_folder() / "mixed-judge"
    root.mkdir(parents=True, exist_ok=True)

    def image(number: int):
        path = root / f"{number}.png"
        if not path.exists():
            Image.fromarray(draw(number)).save(path)
        return path

    made = [
        Case(f"ask-{n}", image(n), question, task="question-answering", answer=answer)
        for n, (question, answer) in enumerate(QUESTIONS)
    ]
    made += [
        Case(
            f"clean-{n}",
            image(10 + n),
            "Remove the artifact.",
            task="artifact-removal",
            reference=image(20 + n),
        )
        for n in range(4)
    ]
    made += [
        Case(
            f"turn-{n}",
            image(30 + n),
            prompt,
            task="3d-to-2d-projection",
            reference=image(40 + n),
            answer=answer,
        )
        for n, (prompt, answer) in enumerate(TURNS)
    ]
    return CaseSet("mixed", root, tuple(made), text, task="medgen")


class Unified(mb.System):
    """Gives image and text for everything, also where nobody asked for the text."""

    gives = ("image", "text")

    def generate(self, request):
        seed = int(request.case.case.id.partition("-")[2])
        return mb.Output(draw(100 + seed), f"A finding on the left, number {seed}.")


def keys_of(call: Call) -> list[str]:
    """What the judge was asked to score, by the schema it was sent."""
    return list(call.body["response_format"]["json_schema"]["schema"]["required"])


def graded(values: dict[str, float], otherwise: float) -> Any:
    """A judge that gives every score that is asked for, and no other."""

    def answer(call: Call) -> str:
        return json.dumps(
            {
                key: {"reason": f"because of {key}", "score": values.get(key, otherwise)}
                for key in keys_of(call)
            }
        )

    return answer


def blank(case: mb.OpenCase) -> Any:
    return np.zeros_like(case.previous)
