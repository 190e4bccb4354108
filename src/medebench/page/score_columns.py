"""What a reader must know about a score before looking at its numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from medebench.analysis import Bounds
from medebench.analysis.published_tables import PUBLISHED_ENCODER
from medebench.grounding import GROUNDING_METRICS
from medebench.judge.score_names import JUDGE_SCORES, judge_of, judge_text
from medebench.metrics import MetricInfo, metric_info, metric_part
from medebench.metrics.learned_metrics import LEARNED, find_learned
from medebench.page.number import between, number
from medebench.runs.stages.attention_scores import SCORES as ATTENTION_SCORES
from medebench.runs.stages.run_diagnosis import FINDING
from medebench.tasks import EDITING, Task

STAND_IN = "offline stand-in, knows pixels only; not comparable with the paper's GPT-4o"
#: Metrics that everybody knows come first.
_ORDER = ("cp", "cp_published", "ssim", "psnr", "change_inside", "change_outside")
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
HEADLINES = ("cp", "cp_published")
#: Ends the name of a likeness to references that are only one of many right images.
DESCRIBED = "_described"
_OPEN = "many images are right here, so likeness to the one reference ranks nobody"


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
    #: "ea", "vq", "cp", a rubric's criterion or "": what it is about, whatever its variant.
    dimension: str = ""
    judge: str = ""
    stand_in: bool = False
    #: How often the judge was asked about each output.
    repeats: int = 1
    #: Of a learned metric: what it is a variant of, and whose eyes it uses.
    family: str = ""
    encoder: str = ""
    #: The label cut into the lines of a column's head.
    head: tuple[str, ...] = ()
    #: How the numbers come about, and why nobody should be called the best by them, if so.
    definition: str = ""
    unranked: str = ""
    #: The part of an output it is about: "image", "text", or "output" for all of it.
    of: str = "image"
    #: Whether it compares images with the reference image.
    likeness: bool = False

    @property
    def described(self) -> bool:
        """Whether it is about cases where many images are right, so that it ranks nobody."""
        return self.name.endswith(DESCRIBED)

    @property
    def worst(self) -> float | None:
        """What a failure gets: the bad end of the scale of a text; None where it has none."""
        if self.of == "image" or self.better == "neither":
            return None
        end = self.low if self.better == "higher" else self.high
        return end if math.isfinite(end) else None

    @property
    def bounds(self) -> Bounds:
        """The ends of the scale, which the interval of a mean must know."""
        return Bounds(self.low, self.high)

    @property
    def lines(self) -> tuple[str, ...]:
        return self.head or (self.label,)

    @property
    def short(self) -> str:
        """The label without the encoder, where that stands beside it."""
        return self.label.removesuffix(f", {self.encoder}")

    def text(self, value: float | None, *, signed: bool = False) -> str:
        """The number as it is printed; an en dash where there is none."""
        return number(value, self.decimals, signed=signed)

    def ends(self, interval: tuple[float, float] | None) -> str:
        """The interval as it is printed; nothing where there is none."""
        return between(interval, self.decimals)

    def wins(self, first: float, second: float) -> bool:
        return first < second if self.better == "lower" else first > second

    def stands_for(self, name: str) -> bool:
        """Whether it is this score; a judge's are named without the judge."""
        return self.name == name or (bool(self.judge) and self.dimension == name)

    @property
    def ranked(self) -> bool:
        """Whether the best of a column is worth a mark."""
        return self.better != "neither" and not self.unranked


def describe(names: Iterable[str], details: Mapping[str, Mapping[str, object]]) -> list[Score]:
    """The scores of these names in the order of the table; `details` is one ledger entry each."""
    known = [_describe(name, details.get(name, {})) for name in names]
    judges: dict[str, set[str]] = {}
    for score in known:
        judges.setdefault(score.dimension, set()).add(score.judge)
    named = [
        replace(s, label=f"{s.label}, {judge_of(s.name)}")
        if s.judge and len(judges[s.dimension]) > 1
        else s
        for s in known
    ]
    return sorted(named, key=_place)


def order(scores: Iterable[Score], headline: str, task: Task = EDITING) -> list[Score]:
    """Those that lead the task, then the rest; for editing EA, both CPs, VQ."""
    given = list(scores)
    if task.name != EDITING.name:
        first = [s.name for s in dimensions(given, headline, task)]
        return sorted(given, key=lambda s: (_index(first, s.name), *_place(s)))
    return sorted(given, key=lambda s: (*_place(s)[:1], s.name != headline, *_place(s)[1:]))


def dimensions(scores: Iterable[Score], headline: str, task: Task = EDITING) -> list[Score]:
    """One score for each that leads the task, as far as there are any; a real judge goes first.

    For editing these are EA, CP and VQ; without a judge, how much of the intended change was made
    stands in EA's place under its own name. Where there is none, up to three others from 0 to 1.
    """
    found: dict[str, Score] = {}
    given = list(scores)
    if task.name != EDITING.name:
        for name in task.headline:
            own = [score for score in given if score.stands_for(name)]
            if own:
                found[name] = min(own, key=lambda s: (s.stand_in, s.name != headline))
        leads = sorted(found.values(), key=lambda s: s.name != headline)
        return leads or _others(given)
    for score in sorted(given, key=lambda s: (s.stand_in, s.name != headline)):
        if score.dimension:
            found.setdefault(score.dimension, score)
    first = "ea" if "ea" in found else "intended"
    usual = [found[d] for d in (first, "cp", "vq") if d in found]
    return usual or _others(given)


def _others(scores: Sequence[Score]) -> list[Score]:
    return [s for s in leading(scores) if s.ranked and s.better == "higher" and s.high <= 1][:3]


def leading(scores: Iterable[Score]) -> list[Score]:
    """Without the learned metrics, which have a section of their own; all where there is no other.

    >>> [s.name for s in leading(describe(["isim_clip-vit-l14", "ssim"], {}))]
    ['ssim']
    """
    given = list(scores)
    return [score for score in given if not score.family] or given


def _place(score: Score) -> tuple[int, int, str]:
    if score.family:
        # The encoder of the paper goes first.
        encoder = score.encoder.replace(PUBLISHED_ENCODER, "")
        return 4, list(LEARNED).index(score.family), encoder
    first = {"ea": 0, "intended": 0, "cp": 1, "vq": 2}.get(score.dimension, 3)
    return first, _index(_ORDER, score.name.removesuffix(DESCRIBED)), score.name


def _index(names: Sequence[str], name: str) -> int:
    """Its place among these; behind them where it is not one of them."""
    return names.index(name) if name in names else len(names)


def is_likeness(name: str, detail: Mapping[str, object]) -> bool:
    """Whether a metric compares images with the reference image, and may rank by that."""
    info = metric_info(name)
    if info is not None and info.unranked:
        return False  # A published one stays whole, as it stands in the paper.
    needs = info.needs if info is not None else _told_list(detail, "needs")
    return "reference" in needs and _part(name, detail) != "text"


def _part(name: str, detail: Mapping[str, object]) -> str:
    told = detail.get("metric")
    own = told.get("of", "image") if isinstance(told, Mapping) else "image"
    return metric_part(name) or str(own)


def _told_list(detail: Mapping[str, object], name: str) -> Sequence[object]:
    told = detail.get("metric")
    found = told.get(name) if isinstance(told, Mapping) else None
    return found if isinstance(found, list) else ()


def _describe(name: str, detail: Mapping[str, object]) -> Score:
    if name.endswith(DESCRIBED):
        whole = _describe(name.removesuffix(DESCRIBED), detail)
        return replace(
            whole,
            name=name,
            label=f"{whole.label}, described",
            summary=f"{whole.summary}; {_OPEN}",
            unranked=_OPEN,
            # Nor does it belong to the table of learned metrics, which is about ranks.
            family="",
            head=(*whole.lines, "described"),
        )
    kind, _, judge = name.partition("_")
    if judge and (kind in JUDGE_SCORES or judge_text(detail)):
        told = _told(name, detail.get("metric"))
        own = told.label or kind.replace("-", " ").capitalize(), told.summary
        label, summary = JUDGE_SCORES.get(kind, own)
        full = judge_text(detail) or judge
        repeats = int(str(detail.get("repeats") or 1))
        full += f", mean of {repeats} repeats" if repeats > 1 else ""
        stand_in = judge == "offline" or bool(detail.get("stand_in"))
        # A rubric may count errors instead of giving grades.
        count = told.better == "lower"
        way: tuple[Literal["higher", "lower"], float, float] = (
            ("lower", told.low, told.high) if count else ("higher", 0.0, 1.0)
        )
        decimals = _decimals(told) if count else 3
        made = Score(name, label, summary, *way, decimals, kind, full, stand_in, repeats)
        return replace(made, of="output")
    if learned := find_learned(name):
        # Asked of the family, because an encoder may lie in a folder that only its user has.
        family, encoder = learned.name, learned.which or ""
        metric = metric_info(family)
        assert metric is not None
        label = ", ".join(filter(None, [f"{metric.label} {metric.sublabel}".rstrip(), encoder]))
        head = tuple(filter(None, (metric.label, metric.sublabel, encoder)))
    else:
        family, encoder, head = "", "", ()
        metric = next((m for m in GROUNDING_METRICS if m.name == name), None) or metric_info(name)
        metric = metric or _told(name, detail.get("metric"))
        label = metric.label or name
    return Score(
        name,
        label,
        metric.summary,
        metric.better,
        metric.low,
        metric.high,
        _decimals(metric),
        "cp" if name in HEADLINES else "",
        family=family,
        encoder=encoder,
        head=head,
        definition=metric.definition,
        unranked=metric.unranked,
        of=_part(name, detail),
        likeness=is_likeness(name, detail),
    )


def _decimals(metric: MetricInfo) -> int:
    if metric.decimals is not None:
        return metric.decimals
    return 2 if metric.high > 1 else 3


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
        label=str(told.get("label", "")),
        decimals=_whole(told.get("decimals")),
        definition=str(told.get("definition", "")),
    )


def _whole(value: object) -> int | None:
    """A number of decimals that somebody else's ledger tells; nonsense counts as nothing."""
    return value if isinstance(value, int) and 0 <= value <= 12 else None
