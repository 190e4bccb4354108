"""What a reader must know about a score before looking at its numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from medebench.errors import InputError
from medebench.metrics import METRICS, Metric

STAND_IN = "offline stand-in, not comparable with the paper's GPT-4o"
_LABELS = {
    "cp": "CP",
    "cp_published": "CP published",
    "ssim": "SSIM",
    "psnr": "PSNR (dB)",
    "change_inside": "Change inside",
    "change_outside": "Change outside",
}
_JUDGED = {
    "ea": ("EA", "editing accuracy: whether the instruction was carried out"),
    "vq": ("VQ", "visual quality: whether the result looks real"),
}
#: What a judge may write beside its scores about how it was asked.
JUDGE_SETTINGS = ("model", "rubric", "temperature")
HEADLINES = ("cp", "cp_published")


@dataclass(frozen=True)
class Score:
    """A column: one metric, or one score of one judge."""

    name: str
    label: str
    summary: str
    better: Literal["higher", "lower", "neither"]
    low: float
    high: float
    decimals: int = 3
    #: "ea", "vq", "cp" or "": what the score is about, whatever its variant.
    dimension: str = ""
    judge: str = ""
    stand_in: bool = False

    def text(self, value: float | None, *, signed: bool = False) -> str:
        """The number as it is printed; an en dash where there is none."""
        if value is None:
            return "–"
        text = f"{value:+.{self.decimals}f}" if signed else f"{value:.{self.decimals}f}"
        # A mean of -0.0001 must not be shown as "-0.000".
        if float(text) == 0:
            text = text.lstrip("+-")
        return text.replace("-", "−")

    def wins(self, first: float, second: float) -> bool:
        return first < second if self.better == "lower" else first > second


def describe(names: Iterable[str], details: Mapping[str, Mapping[str, object]]) -> list[Score]:
    """The scores of these names in the order of the table; `details` is one ledger entry each."""
    known = [_describe(name, details.get(name, {})) for name in names]
    several = {d: len({s.judge for s in known if s.dimension == d}) > 1 for d in ("ea", "vq")}
    named = [
        replace(s, label=f"{s.label}, {s.name[3:]}") if several.get(s.dimension) and s.judge else s
        for s in known
    ]
    return sorted(named, key=_place)


def order(scores: Iterable[Score], headline: str) -> list[Score]:
    """EA, the CP that leads, the other CP, VQ, then the rest."""
    return sorted(scores, key=lambda s: (*_place(s)[:1], s.name != headline, *_place(s)[1:]))


def dimensions(scores: Iterable[Score], headline: str) -> list[Score]:
    """One score each for EA, CP and VQ, as far as there are any; a real judge goes first.

    Where there is none of the three, up to three others on the same scale.
    """
    found: dict[str, Score] = {}
    given = list(scores)
    for score in sorted(given, key=lambda s: (s.stand_in, s.name != headline)):
        if score.dimension:
            found.setdefault(score.dimension, score)
    usual = [found[d] for d in ("ea", "cp", "vq") if d in found]
    return usual or [s for s in given if s.better == "higher" and s.high <= 1][:3]


def _place(score: Score) -> tuple[int, int, str]:
    names = list(_LABELS)
    first = {"ea": 0, "cp": 1, "vq": 2}.get(score.dimension, 3)
    return first, names.index(score.name) if score.name in names else len(names), score.name


def _describe(name: str, detail: Mapping[str, object]) -> Score:
    kind, _, judge = name.partition("_")
    if kind in _JUDGED and judge:
        label, summary = _JUDGED[kind]
        settings = [f"{key} {detail[key]}" for key in JUDGE_SETTINGS if detail.get(key) is not None]
        full = ", ".join([str(detail.get("judge") or judge), *settings])
        stand_in = judge == "offline" or bool(detail.get("stand_in"))
        return Score(name, label, summary, "higher", 0.0, 1.0, 3, kind, full, stand_in)
    try:
        metric = METRICS.find(name)
    except InputError:
        metric = None
    if not isinstance(metric, Metric):
        return Score(name, name, "a metric of the user", "neither", 0.0, 1.0)
    return Score(
        name,
        _LABELS.get(name, name),
        metric.summary,
        metric.better,
        metric.low,
        metric.high,
        2 if metric.high > 1 else 3,
        "cp" if name in HEADLINES else "",
    )
