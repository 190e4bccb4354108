"""Results of the paper, shipped as data: a new model's row stands beside them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

OVERALL = "Overall"
#: What the paper calls a score, and which dimension or variant that is here.
SCORES = {"EA": "ea", "CP": "cp_published", "VQ": "vq"}

#: The encoder of the paper, and LPIPS as the paper's script computed it.
PUBLISHED_ENCODER = "clip-vit-l14"
PUBLISHED_LPIPS = "lpips_alex_published"
DIMENSIONS = ("EA", "CP", "VQ")
#: Learned metric -> its row in the paper's Table 3, if it or a near relative is there.
ROWS = {
    "lpips_alex": "LPIPS",
    "lpips_vgg": "LPIPS",
    PUBLISHED_LPIPS: "LPIPS",
    "isim": "ISim",
    "talign_prompt": "TAlign_prompt",
    "talign_description": "TAlign_description",
    "dalign_prompt": "DAlign_prompt",
    "dalign_description": "DAlign_description",
    "imagereward_prompt": "ImageReward_prompt",
    "imagereward_description": "ImageReward_description",
}

#: Values of two decimals may lie this far from a mean of others of two decimals.
ROUNDED = 0.01


@dataclass(frozen=True)
class PublishedTable:
    name: str
    judge: str
    cases: int
    note: str
    #: organ -> cases of the release
    sizes: dict[str, int]
    #: model -> organ (or "Overall") -> score -> value
    models: dict[str, dict[str, dict[str, float]]]

    @property
    def caption(self) -> str:
        return (
            f"published, {self.name}, {self.judge} judge, {self.cases:,} real cases; "
            "other data and judge, not comparable row by row"
        )

    def micro(self, model: str, score: str) -> float | None:
        """The value the paper prints for all cases."""
        return self.models[model][OVERALL].get(score)

    def macro(self, model: str, score: str) -> float | None:
        """The mean over the paper's organs of the values it prints for each."""
        organs = [cells for organ, cells in self.models[model].items() if organ != OVERALL]
        values = [cells[score] for cells in organs if score in cells]
        return sum(values) / len(values) if values else None

    def weighted(self, model: str, score: str) -> float:
        """What the values it prints for each organ give for all cases."""
        cells = self.models[model]
        return sum(cells[organ][score] * size for organ, size in self.sizes.items()) / self.cases

    def doubt(self, model: str, scores: Iterable[str]) -> str:
        """Where the value for all cases does not follow from those of the organs, in words."""
        found = [
            f"the printed overall {score} ({printed:.2f}) does not follow from the organs, which "
            f"give {self.weighted(model, score):.3f} weighted by cases; the other models’ do"
            for score in scores
            if (printed := self.micro(model, score)) is not None
            and abs(printed - self.weighted(model, score)) > ROUNDED
        ]
        return "; ".join(found)


@cache
def published_table() -> PublishedTable:
    file = files("medebench.analysis") / "published" / "medebench_table2.json"
    return PublishedTable(**json.loads(file.read_text(encoding="utf-8")))


@dataclass(frozen=True)
class PublishedAttention:
    """How well the paper's model looked where it was to edit, organ by organ."""

    name: str
    editor: str
    note: str
    #: What maps that never saw the picture reach on the same data.
    floors: str
    iou: dict[str, float]

    @property
    def mean(self) -> float:
        return sum(self.iou.values()) / len(self.iou)


@cache
def published_attention() -> PublishedAttention:
    file = files("medebench.analysis") / "published" / "medebench_table4.json"
    return PublishedAttention(**json.loads(file.read_text(encoding="utf-8")))


@dataclass(frozen=True)
class PublishedWorth:
    """How far each metric of the paper ranks edits as people do."""

    name: str
    note: str
    #: Why these figures may flatter some metrics: to be shown wherever one of them is.
    doubt: str
    #: The same within a sentence.
    doubt_brief: str
    cases: int
    people: int
    #: The same between the two people: more cannot be expected of a metric.
    between_people: float
    #: metric -> EA, CP, VQ -> Spearman's rho
    rho: dict[str, dict[str, float]]


@cache
def published_worth() -> PublishedWorth:
    file = files("medebench.analysis") / "published" / "medebench_table3.json"
    return PublishedWorth(**json.loads(file.read_text(encoding="utf-8")))


@dataclass(frozen=True)
class Worth:
    """Spearman's rho with people as published; of the metric itself, or of a near relative."""

    #: The row of the paper.
    row: str = ""
    rho: dict[str, float] = field(default_factory=dict)
    exact: bool = False
    #: What to say where it is not of the metric itself.
    words: str = "not published"


def worth_of(family: str, encoder: str, unranked: str = "") -> Worth:
    """What the paper says of a learned metric with this encoder."""
    row = ROWS.get(family.removesuffix("_published")) or ROWS.get(family)
    if not row:
        return Worth(words=f"not published; {unranked}" if unranked else "not published")
    rho = published_worth().rho[row]
    # ImageReward has no variant but the paper's.
    exact = family.endswith("_published") or family.startswith("imagereward")
    if exact and encoder in ("", PUBLISHED_ENCODER):
        return Worth(row, rho, True, "")
    whose = PUBLISHED_LPIPS
    if encoder:
        whose = f"{family.removesuffix('_published')}_published_{PUBLISHED_ENCODER}"
    numbers = ", ".join(f"{name} {rho[name]:.2f}" for name in DIMENSIONS)
    other = "encoder" if exact else "variant"
    return Worth(row, rho, False, f"not published for this {other}; {whose}: {numbers}")
