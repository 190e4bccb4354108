"""The paper's Table 7: fine-tuning with few pairs, and showing them in context."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

#: EA, CP, VQ by the number of pairs.
ByPairs = Mapping[int, Mapping[str, float]]


@dataclass(frozen=True)
class PublishedTask:
    task: str
    by_samples: ByPairs
    by_demonstrations: ByPairs


@dataclass(frozen=True)
class PublishedParadigms:
    name: str
    #: What was fine-tuned, and what was shown the pairs.
    trained: str
    shown: str
    #: Test images of each task.
    images: int
    steps_per_sample: int
    note: str
    #: Cases that the release has of tasks too small for test and training to be disjoint.
    sizes: Mapping[str, int]
    tasks: tuple[PublishedTask, ...]

    @property
    def samples(self) -> tuple[int, ...]:
        return tuple(self.tasks[0].by_samples)

    @property
    def demonstrations(self) -> tuple[int, ...]:
        return tuple(self.tasks[0].by_demonstrations)

    def overlaps(self, task: str) -> bool:
        """Whether the release has fewer cases than the test images and the most pairs together."""
        size = self.sizes.get(task)
        return size is not None and size < self.images + max(self.samples)

    @property
    def doubts(self) -> list[str]:
        """What must be said wherever a number of it is shown."""
        small = [one.task for one in self.tasks if self.overlaps(one.task)]
        counts = ", ".join(f"{task} {self.sizes[task]}" for task in small)
        return [
            f"{self.name}: {self.note}. Nothing tells a step from one number of pairs to the next "
            "apart from chance; other images and another judge than here, so the numbers are for "
            "the form of the curve, not for its height.",
            f"{self.images} test images beside {max(self.samples)} training pairs cannot be "
            f"disjoint for these tasks of the release, which has too few cases: {counts}.",
        ]


@cache
def published_paradigms() -> PublishedParadigms:
    file = files("medebench.analysis") / "published" / "medebench_table7.json"
    told = json.loads(file.read_text(encoding="utf-8"))
    tasks = tuple(
        PublishedTask(one["task"], _by(one["by_samples"]), _by(one["by_demonstrations"]))
        for one in told.pop("tasks")
    )
    return PublishedParadigms(**told, tasks=tasks)


def _by(cells: Mapping[str, Mapping[str, float]]) -> ByPairs:
    return {int(pairs): scores for pairs, scores in cells.items()}
