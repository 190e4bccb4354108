"""What a reader must know about a score before looking at its numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from medebench.analysis import Bounds
from medebench.grounding import GROUNDING_METRICS
from medebench.metrics import MetricInfo, metric_info
from medebench.report.families import FAMILIES, PUBLISHED_ENCODER, Family, family_of
from medebench.runs.attending import SCORES as ATTENTION_SCORES
from medebench.runs.diagnosing import FINDING

STAND_IN = "offline stand-in, knows pixels only; not comparable with the paper's GPT-4o"
_LABELS = {
    "cp": "CP",
    "cp_published": "CP published",
    "ssim": "SSIM",
    "psnr": "PSNR (dB)",
    "change_inside": "Change inside",
    "change_outside": "Change outside",
}
#: What the diagnosis is made of: it has a section of its own and stays out of the tables.
DIAGNOSTIC = frozenset(
    {
        FINDING,
        "edit_completion",
        "edit_residual",
        *ATTENTION_SCORES,
        *(one.name for one in GROUNDING_METRICS),
    }
)
_JUDGED = {
    "ea": ("EA", "editing accuracy: whether the instruction was carried out"),
    "intended": (
        "Intended change made",
        "how far the change is the one the reference shows, by colour; no editing accuracy",
    ),
    "vq": ("VQ", "visual quality: whether the result looks real"),
    "context": ("Context", "contextual preservation as the judge sees it, a baseline only"),
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
    #: "ea", "intended", "vq", "cp" or "": what the score is about, whatever its variant.
    dimension: str = ""
    judge: str = ""
    stand_in: bool = False
    #: How often the judge was asked about each output.
    repeats: int = 1
    #: Of a learned metric (see `families`): what it is a variant of, and whose eyes it uses.
    family: str = ""
    encoder: str = ""

    @property
    def bounds(self) -> Bounds:
        """The ends of the scale, which the interval of a mean must know."""
        return Bounds(self.low, self.high)

    @property
    def head(self) -> list[str]:
        """The label cut into the lines of a column's head."""
        if not self.family:
            return [self.label]
        shown = FAMILIES.get(self.family, Family(self.family))
        return [line for line in (shown.name, shown.kind, self.encoder) if line]

    @property
    def short(self) -> str:
        """The label without the encoder, where that stands beside it."""
        return self.label.removesuffix(f", {self.encoder}")

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

    @property
    def ranked(self) -> bool:
        """Whether the best of a column is worth a mark."""
        unranked = self.family in FAMILIES and FAMILIES[self.family].unranked
        return self.better != "neither" and not unranked


def describe(names: Iterable[str], details: Mapping[str, Mapping[str, object]]) -> list[Score]:
    """The scores of these names in the order of the table; `details` is one ledger entry each."""
    known = [_describe(name, details.get(name, {})) for name in names]
    several = {d: len({s.judge for s in known if s.dimension == d}) > 1 for d in _JUDGED}
    named = [
        replace(s, label=f"{s.label}, {judge_of(s.name)}")
        if several.get(s.dimension) and s.judge
        else s
        for s in known
    ]
    return sorted(named, key=_place)


def order(scores: Iterable[Score], headline: str) -> list[Score]:
    """EA, the CP that leads, the other CP, VQ, then the rest."""
    return sorted(scores, key=lambda s: (*_place(s)[:1], s.name != headline, *_place(s)[1:]))


def dimensions(scores: Iterable[Score], headline: str) -> list[Score]:
    """One score each for EA, CP and VQ, as far as there are any; a real judge goes first.

    Without one, how much of the intended change was made stands in EA's place under its own name.
    Where there is none of the three, up to three others on the same scale.
    """
    found: dict[str, Score] = {}
    given = list(scores)
    for score in sorted(given, key=lambda s: (s.stand_in, s.name != headline)):
        if score.dimension:
            found.setdefault(score.dimension, score)
    first = "ea" if "ea" in found else "intended"
    usual = [found[d] for d in (first, "cp", "vq") if d in found]
    return usual or [s for s in leading(given) if s.better == "higher" and s.high <= 1][:3]


def leading(scores: Iterable[Score]) -> list[Score]:
    """Without the learned metrics, which have a section of their own; all where there is no other.

    >>> [s.name for s in leading(describe(["isim_clip-vit-l14", "ssim"], {}))]
    ['ssim']
    """
    given = list(scores)
    return [score for score in given if not score.family] or given


def judge_of(metric: str) -> str:
    """The judge in the name of its score.

    >>> judge_of("ea_openai:gpt-4o+prompt")
    'openai:gpt-4o+prompt'
    """
    return metric.partition("_")[2]


def judge_text(detail: Mapping[str, object]) -> str:
    """Who judged and how it was asked; the same for every score of one judge.

    >>> judge_text({"judge": "openai:gpt-4o", "rubric": "description v1", "temperature": 0.0})
    'openai:gpt-4o, rubric description v1, temperature 0.0'
    """
    without = detail.get("without")
    refused = without if isinstance(without, list) else []
    settings = [
        f"{key} {'not accepted by the model' if key in refused else detail[key]}"
        for key in JUDGE_SETTINGS
        if detail.get(key) is not None
    ]
    return ", ".join([str(detail["judge"]), *settings]) if detail.get("judge") else ""


def _place(score: Score) -> tuple[int, int, str]:
    if score.family:
        families = [*FAMILIES, score.family]
        # The encoder of the paper goes first.
        encoder = score.encoder.replace(PUBLISHED_ENCODER, "")
        return 4, families.index(score.family), encoder
    names = list(_LABELS)
    first = {"ea": 0, "intended": 0, "cp": 1, "vq": 2}.get(score.dimension, 3)
    return first, names.index(score.name) if score.name in names else len(names), score.name


def _describe(name: str, detail: Mapping[str, object]) -> Score:
    kind, _, judge = name.partition("_")
    if kind in _JUDGED and judge:
        label, summary = _JUDGED[kind]
        full = judge_text(detail) or judge
        repeats = int(str(detail.get("repeats") or 1))
        full += f", mean of {repeats} repeats" if repeats > 1 else ""
        stand_in = judge == "offline" or bool(detail.get("stand_in"))
        return Score(name, label, summary, "higher", 0.0, 1.0, 3, kind, full, stand_in, repeats)
    if learned := family_of(name):
        return _describe_learned(name, *learned)
    metric: MetricInfo | None = next((m for m in GROUNDING_METRICS if m.name == name), None)
    metric = metric or metric_info(name)
    if metric is None:
        metric = _told(name, detail.get("metric"))
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


def _told(name: str, told: object) -> MetricInfo:
    """A metric that is not found by its name here: what it wrote beside its scores, if anything."""
    if not isinstance(told, Mapping):
        return MetricInfo(name, "a metric of the user", "neither", 0.0, 1.0)
    better = told.get("better")
    return MetricInfo(
        name,
        str(told.get("summary", "a metric of the user")),
        better if better in ("higher", "lower") else "neither",
        float(told.get("low", 0.0)),
        float(told.get("high", 1.0)),
    )


def _describe_learned(name: str, family: str, encoder: str) -> Score:
    """Asked of the family, because an encoder may lie in a folder that only its user has."""
    known, shown = metric_info(family), FAMILIES.get(family, Family(family))
    assert known is not None
    return Score(
        name,
        f"{shown.label}, {encoder}" if encoder else shown.label,
        known.summary,
        known.better,
        known.low,
        known.high,
        shown.decimals,
        family=family,
        encoder=encoder,
    )
