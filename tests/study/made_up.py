"""Seeded results of a study that never was, for tests of what is written about one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from medebench.analysis.agreement import Agreement
from medebench.analysis.estimate import Estimate
from medebench.analysis.interval import Interval
from medebench.analysis.ordering import Ordering, Standing
from medebench.analysis.worth import MetricWorth, Worths
from medebench.page.score_columns import describe
from medebench.study.results.results_model import AnnotatorFacts, DimensionResults, StudyResults

HOSTILE = (
    "<script>alert(1)</script>",
    "50% & $x_1$ \\input{secret} #{}^~",
    "=HYPERLINK(`x`)|*_[a](b)",
    "Лёгкие 肺 🫁 مرحبا",
    "a-very-long-name-of-a-model-that-nobody-would-choose-but-somebody-does-v2",
)
MODELS = ("ip2p", "imagic", "seedx", "icedit", "gemini", "identity")
METRICS = (
    "intended_offline",
    "vq_offline",
    "ea_openai:gpt-4o",
    "cp",
    "cp_published",
    "ssim",
    "psnr",
    "lpips_alex",
    "lpips_alex_published",
    "isim_clip-vit-l14",
    "talign_description_clip-vit-l14",
)
NOTHING = Estimate(None, None, 0, 52, "all outputs of a case have the same value")


def about(
    value: float, half: float = 0.07, n: int = 52, of: int = 52, reason: str = ""
) -> Estimate:
    """A number with an interval around it, within −1 and 1."""
    ends = Interval(max(-1.0, value - half), min(1.0, value + half))
    return Estimate(value, ends, n, of, reason)


def made_worths(
    rhos: dict[str, float | None],
    *,
    half: float = 0.07,
    ceiling: Estimate | None = None,
    sources: int = 48,
) -> Worths:
    """Metrics from best to worst; one that is 0.1 or more behind the best is clearly behind.

    After correction for their number, intervals are 0.02 wider on either side. On the same terms,
    one person is what `ceiling` says.
    """
    person = about(0.84, 0.05) if ceiling is None else ceiling
    names = sorted(rhos, key=lambda name: -2.0 if rhos[name] is None else -(rhos[name] or 0.0))
    names.sort(key=lambda name: rhos[name] is None)
    best = max((value for value in rhos.values() if value is not None), default=0.0)
    found = []
    for name in names:
        value = rhos[name]
        if value is None:
            found.append(MetricWorth(name, NOTHING, NOTHING, None, None, None))
            continue
        gap = best - value
        first = name == names[0]
        found.append(
            MetricWorth(
                name,
                about(value, half),
                about(value * 0.85, half),
                0.96 if first else 0.01,
                None if first else about(gap, 0.05),
                None if first else (0.003 if gap >= 0.1 else 0.4),
                about(value, half + 0.02).interval,
                sources,
                None if person.value is None else about(value - person.value, 0.04),
            )
        )
    return Worths(tuple(found), person)


def made_ordering(
    models: Sequence[str], preferred: Sequence[float], *, sure: bool = True
) -> Ordering:
    """Models with these chances; `sure` says whether all differences are significant."""
    order = sorted(range(len(models)), key=lambda i: -preferred[i])
    strengths = {i: 4.0 * (preferred[i] - 0.5) for i in order}
    standings = [
        Standing(
            models[i],
            Estimate(
                1 + (1 - preferred[i]) * (len(models) - 1),
                Interval(1.0, float(len(models))),
                52,
                52,
            ),
            Estimate(strengths[i], Interval(strengths[i] - 0.3, strengths[i] + 0.3), 52, 52),
            Estimate(
                preferred[i],
                Interval(max(0.0, preferred[i] - 0.05), min(1.0, preferred[i] + 0.05)),
                52,
                52,
            ),
            Interval(max(1.0, place - 0.5), min(len(models), place + 0.5)),
        )
        for place, i in enumerate(order, start=1)
    ]
    differences = {}
    for a, b in combinations(order, 2):
        gap = strengths[a] - strengths[b]
        half = gap / 2 if sure else gap + 0.2
        found = Estimate(gap, Interval(gap - half, gap + half), 52, 52)
        differences[models[a], models[b]] = (found, 0.002 if sure else 0.41)
    return Ordering(tuple(standings), 0.2, differences)


def made_agreement(people: Sequence[str], value: float | None) -> Agreement:
    if value is None or len(people) < 2:
        nothing = Estimate(None, None, 0, 0, "only one annotator ranked")
        return Agreement(nothing, nothing, nothing, nothing, {})
    pairs = {
        pair: about(value + 0.03 * (-1) ** i, 0.08)
        for i, pair in enumerate(combinations(people, 2))
    }
    return Agreement(
        about(value, 0.05), about(value - 0.08, 0.05), about(value - 0.03), about(0.8, 0.04), pairs
    )


def made_up(
    *,
    seed: int = 0,
    models: Sequence[str] = MODELS,
    controls: Sequence[str] = ("identity",),
    metrics: Sequence[str] = METRICS,
    people: Sequence[str] = ("ann", "bob"),
    dimensions: Sequence[str] = ("ea", "cp", "vq"),
    agree: float = 0.84,
    sure: bool = True,
    sources: int = 48,
    with_runs: bool = True,
    origin: str = "study",
) -> StudyResults:
    rng = np.random.default_rng(seed)
    found = []
    for key in dimensions:
        rhos: dict[str, float | None] = {
            name: float(value)
            for name, value in zip(metrics, rng.uniform(-0.25, 0.85, len(metrics)), strict=True)
        }
        if len(metrics) > 3:
            rhos[metrics[-1]] = None
        ceiling = about(agree, 0.05) if len(people) > 1 else NOTHING
        preferred = np.linspace(0.8, 0.2, len(models))[rng.permutation(len(models))]
        found.append(
            DimensionResults(
                key,
                made_agreement(people, agree),
                made_ordering(models, preferred.tolist(), sure=sure),
                made_worths(rhos, ceiling=ceiling, sources=sources) if with_runs else None,
            )
        )
    facts = tuple(
        AnnotatorFacts(
            name,
            ranked=50 - i,
            skipped=i,
            asked=52,
            controls_passed=7 - i,
            controls_failed=i,
            repeated=6,
            seconds=41.5 if origin == "study" else None,
            consistency={key: about(0.9 - 0.1 * i, 0.1, 6, 6) for key in dimensions},
        )
        for i, name in enumerate(people)
    )
    details = {
        "intended_offline": {"judge": "offline", "stand_in": True},
        "vq_offline": {"judge": "offline", "stand_in": True},
        "ea_openai:gpt-4o": {"judge": "openai:gpt-4o", "rubric": "description v1 (823f6fea)"},
    }
    scores = {one.name: one for one in describe(metrics, details)} if with_runs else {}
    return StudyResults(
        "A study that never was",
        origin,
        facts,
        tuple(models),
        frozenset(controls),
        52,
        52 if len(people) > 1 else 0,
        sources,
        tuple(found),
        scores,
        {"roi_share": "it has no better direction"} if with_runs else {},
        compared=_compared(models, controls),
        notes=("1 case is only partly ranked and not counted.",),
    )


def _compared(models: Sequence[str], controls: Sequence[str]) -> tuple[str, ...]:
    """Without controls where that leaves three models."""
    alone = tuple(name for name in models if name not in controls)
    return alone if len(alone) > 2 else tuple(models)


def hostile(seed: int = 0) -> StudyResults:
    """Names that mean something to HTML, LaTeX, Markdown, spreadsheets and matplotlib."""
    return made_up(
        seed=seed,
        models=HOSTILE,
        controls=HOSTILE[:1],
        metrics=("ssim", *HOSTILE),
        people=HOSTILE[:3],
        dimensions=("ea", HOSTILE[1], HOSTILE[0]),
    )
