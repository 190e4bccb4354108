"""Which failure type edits of known kind get: `python tools/planted_edits.py`.

Every edit is made from a case's own pictures, so what it is, is known. Types come from pixels
alone and from the offline judge, never from a model. Cases are phantoms and, where it is given,
the excerpt of the release; each is one half for choosing thresholds (`--half choose`) and one half
that had no say in them (`--half report`).
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

import medebench as mb
from medebench.cases import OpenCase
from medebench.grounding import FAILURE_TYPES, GROUNDING_METRICS, Evidence, diagnose
from medebench.images.picture import Picture
from medebench.judge import assess_now, find_judge
from medebench.metrics import Undefined
from medebench.metrics.intended import EDIT_COMPLETION, EDIT_RESIDUAL
from medebench.phantoms.drawings import write_phantoms

MEASURES = (*GROUNDING_METRICS, EDIT_COMPLETION, EDIT_RESIDUAL)
UNDECIDED = "undecided"
#: How far a pixel is thrown, and the width of a feathered border, in pixels.
SCATTER, FEATHER = 8, 8
#: Seeds of the phantoms: one half chooses, the other is reported.
SEEDS = {"choose": 0, "report": 1000}


class Scene:
    """A case, another one beside it, and the ways to edit it."""

    def __init__(self, case: OpenCase, other: OpenCase) -> None:
        self.case, self.previous, self.reference = case, case.previous, case.reference
        self.roi, self.top = case.roi, case.data_range
        self.other = other
        self.random = np.random.default_rng(7)

    def _whole(self, values: NDArray[np.floating]) -> Picture:
        return np.clip(np.round(values), 0, self.top).astype(self.previous.dtype)

    def paste(self, content: Picture, under: Picture | None = None) -> Picture:
        output = (self.previous if under is None else under).copy()
        output[self.roi] = content[self.roi]
        return output

    def feathered(self) -> Picture:
        soft = cv2.GaussianBlur(self.roi.astype(np.float64), (0, 0), FEATHER / 2)[..., None]
        return self._whole(self.previous * (1 - soft) + self.reference * soft)

    def scattered(self) -> Picture:
        height, width = self.roi.shape
        down, right = np.indices((height, width))
        steps = self.random.integers(-SCATTER, SCATTER + 1, (2, height, width))
        down = np.clip(down + steps[0], 0, height - 1)
        right = np.clip(right + steps[1], 0, width - 1)
        stays = ~self.roi[down, right]
        content = self.reference[down, right]
        content[stays] = self.reference[stays]
        return self.paste(content)

    def blot(self) -> Picture:
        mean = self.reference[self.roi].mean(axis=0)
        return self.paste(np.broadcast_to(mean.round(), self.previous.shape))

    def mirrored(self) -> Picture:
        """The ROI's own content, mirrored about the middle of its bounding box."""
        rows, columns = np.flatnonzero(self.roi.any(1)), np.flatnonzero(self.roi.any(0))
        box = np.s_[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
        content = self.reference.copy()
        content[box] = content[box][:, ::-1]
        return self.paste(content)

    def foreign(self) -> Picture:
        """What another case has in the bounding box of its ROI."""
        rows, columns = (np.flatnonzero(self.other.roi.any(axis)) for axis in (1, 0))
        patch = self.other.reference[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
        own = np.flatnonzero(self.roi.any(1)), np.flatnonzero(self.roi.any(0))
        box = np.s_[own[0][0] : own[0][-1] + 1, own[1][0] : own[1][-1] + 1]
        size = (own[1][-1] + 1 - own[1][0], own[0][-1] + 1 - own[0][0])
        content = self.previous.copy()
        content[box] = cv2.resize(patch, tuple(map(int, size)), interpolation=cv2.INTER_AREA)
        return self.paste(content)

    def noisy(self) -> Picture:
        noise = self.random.normal(0, 0.15 * self.top, self.previous.shape)
        return self.paste(self._whole(self.reference + noise))

    def blurred(self) -> Picture:
        return self.paste(np.asarray(cv2.GaussianBlur(self.reference, (0, 0), 6.0)))

    def half(self) -> Picture:
        return self.paste(self._whole((self.previous + self.reference.astype(float)) / 2))

    def rimmed(self, picture: Picture) -> Picture:
        output = picture.copy()
        output[:2], output[-2:], output[:, :2], output[:, -2:] = (self.top,) * 4
        return output

    def gamma(self, picture: Picture) -> Picture:
        return self._whole(self.top * (picture / self.top) ** 1.3)

    def brighter(self, picture: Picture) -> Picture:
        return self._whole(picture * 1.08 + 0.03 * self.top)

    def moved(self, picture: Picture) -> Picture:
        """By one pixel down and right, as resampling does it."""
        return np.roll(picture, (1, 1), (0, 1))

    def swapped(self) -> Picture:
        """In the ROI; where it is grey, nothing is swapped, and it is still the right edit."""
        return self.paste(self.reference[..., ::-1])

    def repainted(self) -> Picture:
        size = self.previous.shape[1::-1]
        return np.asarray(cv2.resize(self.other.reference, size, interpolation=cv2.INTER_AREA))


Plant = Callable[[Scene], Picture]
#: Name, how it is made, and the types it may get: the first is the right one.
PLANTS: dict[str, tuple[Plant, tuple[str, ...]]] = {
    "identity": (lambda s: s.previous.copy(), ("nothing",)),
    "white rim": (lambda s: s.rimmed(s.previous), ("nothing",)),
    "gamma 1.3": (lambda s: s.gamma(s.previous), ("nothing",)),
    "brighter": (lambda s: s.brighter(s.previous), ("nothing",)),
    "reference pasted": (lambda s: s.paste(s.reference), ("success",)),
    "pasted, feathered": (lambda s: s.feathered(), ("success",)),
    "pasted, white rim": (lambda s: s.rimmed(s.paste(s.reference)), ("success",)),
    "pasted, brighter": (lambda s: s.brighter(s.paste(s.reference)), ("success", UNDECIDED)),
    "pasted, moved": (lambda s: s.moved(s.paste(s.reference)), ("success",)),
    "half strength": (lambda s: s.half(), ("weak", "success", UNDECIDED)),
    "scattered by 8": (lambda s: s.scattered(), ("damaged", "weak", UNDECIDED)),
    "flat blot": (lambda s: s.blot(), ("damaged", "weak", UNDECIDED)),
    "mirrored": (lambda s: s.mirrored(), ("weak", UNDECIDED)),
    "noise in the ROI": (lambda s: s.noisy(), ("damaged", "weak", UNDECIDED)),
    "blurred ROI": (lambda s: s.blurred(), ("damaged", "weak", UNDECIDED)),
    "another case's ROI": (lambda s: s.foreign(), ("weak", "damaged", UNDECIDED)),
    "red and blue swapped": (lambda s: s.swapped(), ("weak", "damaged", UNDECIDED)),
    "another picture": (lambda s: s.repainted(), ("repainted",)),
    "whole reference": (lambda s: s.reference.copy(), ("success",)),
}


def scenes(folder: Path, half: str) -> Iterator[Scene]:
    """Cases with a reference and an ROI; every second one belongs to a half."""
    every = [mb.open_case(case) for case in mb.load_cases(folder) if case.reference and case.roi]
    for index, case in enumerate(every):
        if half == "all" or index % 2 == (half == "report"):
            yield Scene(case, every[(index + len(every) // 2) % len(every)])


def scores(case: OpenCase, output: Picture) -> dict[str, float | None]:
    found: dict[str, float | None] = {}
    for metric in MEASURES:
        try:
            found[metric.name] = metric(case, output)
        except Undefined:
            found[metric.name] = None
    verdicts = assess_now(find_judge("offline"), case, output).verdicts
    return found | {name: verdict.value for name, verdict in verdicts.items()}


def kind_of(found: dict[str, float | None], judge: str | None) -> str:
    try:
        return diagnose(Evidence.of(found, judge)).type
    except Undefined:
        return UNDECIDED


def table(folder: Path, half: str, judge: str | None) -> list[str]:
    """Rows of Markdown: each plant with how often it got which type."""
    counts: dict[str, Counter[str]] = {name: Counter() for name in PLANTS}
    for scene in scenes(folder, half):
        for name, (plant, _) in PLANTS.items():
            counts[name][kind_of(scores(scene.case, plant(scene)), judge)] += 1
    kinds = [*FAILURE_TYPES, UNDECIDED]
    lines = ["| planted | " + " | ".join(kinds) + " | as meant |", "|---" * (len(kinds) + 2) + "|"]
    for name, (_, meant) in PLANTS.items():
        found = counts[name]
        right = f"{sum(found[kind] for kind in meant)} of {found.total()}"
        cells = [str(found[kind]) if found[kind] else "" for kind in kinds]
        lines.append(f"| {name} | " + " | ".join([*cells, right]) + " |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--excerpt", type=Path, help="folder of the release or its excerpt")
    parser.add_argument("--half", choices=["choose", "report", "all"], default="report")
    parser.add_argument("--judge", action="store_true", help="with the offline judge's scores")
    parser.add_argument("--phantoms", type=int, default=39)
    given = parser.parse_args()
    judge = "offline" if given.judge else None
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        write_phantoms(folder, given.phantoms, seed=SEEDS.get(given.half, 0))
        sets = {"phantoms": (folder, "all")}
        if given.excerpt:
            sets["excerpt"] = given.excerpt, given.half
        for name, (path, half) in sets.items():
            print(f"\n{name}, half: {given.half}, {'offline judge' if judge else 'no judge'}\n")
            print("\n".join(table(path, half, judge)))


if __name__ == "__main__":
    main()
