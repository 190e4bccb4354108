"""What a phantom is: the parameters, the rendered case, and one editing task."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypedDict, TypeVar

import numpy as np
from numpy.typing import NDArray

from medebench.phantoms.drawings.stage import Image, Stage

VERSION = 1  # raise whenever the pixels or texts of an existing case change

ORGANS = ("Skin", "Hair", "Eyes", "Nose", "Face", "Teeth", "Ears", "Torso", "Feet", "Mouth",
          "Hands", "Gastrointestinal Tract", "Spine and Bones")  # fmt: skip

#: Colours of studio backdrops and clothes.
BACKDROPS = np.array([
    (0.30, 0.44, 0.52), (0.22, 0.33, 0.40), (0.62, 0.68, 0.70), (0.16, 0.18, 0.21),
    (0.36, 0.50, 0.46), (0.74, 0.74, 0.72), (0.26, 0.30, 0.42), (0.50, 0.46, 0.42),
])  # fmt: skip

Params = dict[str, Any]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PhantomSpec:
    """Everything needed to render a case again."""

    index: int
    seed: int
    organ: str
    task: str
    params: Params


@dataclass(frozen=True, slots=True)
class Phantom:
    """A rendered case: aligned images, exact region of interest and texts."""

    spec: PhantomSpec
    previous: NDArray[np.uint8]
    reference: NDArray[np.uint8]
    roi: NDArray[np.uint8]
    prompt: str
    rephrased_prompt: str
    description: str
    key_concept: str
    modality: str
    kind: str


class Draw:
    """Parameter sampler over uniform draws; values are rounded to stay readable as JSON."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def real(self, low: float, high: float) -> float:
        return round(low + (high - low) * float(self._rng.random()), 4)

    def whole(self, low: int, high: int) -> int:
        """Integer in low..high inclusive."""
        return int(self._rng.integers(low, high + 1))

    def pick(self, options: Sequence[T]) -> T:
        return options[self.whole(0, len(options) - 1)]

    def flip(self) -> bool:
        return self.whole(0, 1) == 1

    def sign(self) -> int:
        return 1 if self.flip() else -1


Words = Mapping[str, str]


class TaskTexts(TypedDict):
    kind: str
    modality: str
    key_concept: str
    prompts: list[str]
    rephrased_prompts: list[str]
    descriptions: list[str]


@cache
def _texts() -> dict[str, dict[str, TaskTexts]]:
    """Kind, modality and sentence templates of every task, by organ and task."""
    read: dict[str, dict[str, TaskTexts]] = {}
    for name in ("tasks.json", "unseen_tasks.json"):
        for organ, tasks in json.loads(Path(__file__).with_name(name).read_text("utf-8")).items():
            read.setdefault(organ, {}).update(tasks)
    return read


@dataclass(frozen=True, slots=True)
class Task:
    """An editing task: how to sample it and how to draw its before and after.

    ``words`` fills the fields of its sentences in ``tasks.json`` or ``unseen_tasks.json`` from the
    parameters.
    """

    organ: str
    task: str
    sample: Callable[[Draw], Params]
    pair: Callable[[Params], tuple[Image, Image]]
    words: Callable[[Params], Words] = lambda _: {}

    @property
    def templates(self) -> TaskTexts:
        return _texts()[self.organ][self.task]

    def texts(self, params: Params) -> TaskTexts:
        """Every phrasing of the task for these parameters."""
        templates = self.templates
        words = {"key": templates["key_concept"], **self.words(params)}

        def filled(sentences: list[str]) -> list[str]:
            return [sentence.format(**words) for sentence in sentences]

        return {
            **templates,
            "key_concept": words["key"],
            "prompts": filled(templates["prompts"]),
            "rephrased_prompts": filled(templates["rephrased_prompts"]),
            "descriptions": filled(templates["descriptions"]),
        }


def common(d: Draw) -> Params:
    """Parameters every scene has: grain, complexion, pose jitter, light and phrasing."""
    return {
        "noise": d.whole(0, 2**31 - 1),
        "tone": d.real(0.0, 1.0),
        "undertone": d.real(-1.0, 1.0),
        "light": [d.real(-0.75, 0.75), d.real(-0.85, -0.3), d.real(0.75, 1.1)],
        "backdrop": d.whole(0, 7),
        "mirror": d.flip(),
        "turn": d.real(-0.06, 0.06),
        "zoom": d.real(0.95, 1.08),
        "shift": [d.real(-7.0, 7.0), d.real(-7.0, 7.0)],
        "phrases": [d.whole(0, 59), d.whole(0, 59), d.whole(0, 59)],
    }


def stage(p: Params, focus: tuple[float, float] = (128.0, 128.0), zoom: float = 1.0) -> Stage:
    """The stage of sampled parameters, optionally closing in on a focus."""
    pose = {"turn": p["turn"], "mirror": p["mirror"], "shift": (p["shift"][0], p["shift"][1])}
    return Stage(p["noise"], focus=focus, zoom=zoom * p["zoom"], **pose)


def side(p: Params, natural: str = "right") -> str:
    """Image side of something drawn on the ``natural`` side before mirroring."""
    return natural if not p["mirror"] else {"left": "right", "right": "left"}[natural]
