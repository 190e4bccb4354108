"""What a phantom is: the parameters, the rendered case, and one editing task."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .stage import Image, Stage

VERSION = 1  # raise whenever the pixels or texts of an existing case change

ORGANS = (
    "Skin", "Hair", "Eyes", "Nose", "Face", "Teeth", "Ears", "Torso", "Feet", "Mouth", "Hands",
    "Gastrointestinal Tract", "Spine and Bones",
)  # fmt: skip

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


@dataclass(frozen=True, slots=True)
class TaskInfo:
    """One line of the task list."""

    organ: str
    task: str
    kind: str
    modality: str


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


def no_words(_: Params) -> Words:
    return {}


@dataclass(frozen=True, slots=True)
class Texts:
    """Sentence templates; ``words`` fills the fields from the parameters."""

    key: str
    prompts: tuple[str, ...]
    rephrased: tuple[str, ...]
    descriptions: tuple[str, ...]
    words: Callable[[Params], Words] = field(default=no_words)

    def write(self, params: Params) -> tuple[str, str, str, str]:
        """Prompt, rephrased prompt, description and key concept."""
        words = dict(self.words(params))
        key = words.setdefault("key", self.key)
        a, b, c = params["phrases"]
        prompt = self.prompts[a % len(self.prompts)].format(**words)
        other = self.rephrased[b % len(self.rephrased)].format(**words)
        return prompt, other, self.descriptions[c % len(self.descriptions)].format(**words), key


@dataclass(frozen=True, slots=True)
class Task:
    """An editing task: how to sample it and how to draw its before and after."""

    organ: str
    task: str
    kind: str
    modality: str
    sample: Callable[[Draw], Params]
    pair: Callable[[Params], tuple[Image, Image]]
    texts: Texts


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
    return Stage(
        p["noise"],
        focus=focus,
        zoom=zoom * p["zoom"],
        turn=p["turn"],
        mirror=p["mirror"],
        shift=(p["shift"][0], p["shift"][1]),
    )


def side(p: Params, natural: str = "right") -> str:
    """Image side of something drawn on the ``natural`` side before mirroring."""
    return natural if not p["mirror"] else {"left": "right", "right": "left"}[natural]
