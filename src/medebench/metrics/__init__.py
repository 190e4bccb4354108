"""Metrics: pure functions, and the registry that finds them by name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass

from medebench.aliases import current_name
from medebench.device import DEVICES
from medebench.entry import Entry
from medebench.errors import InputError, NotReadyError, UnknownNameError
from medebench.metrics.learned_metrics import LEARNED, find_learned
from medebench.metrics.metric import (
    AnyMetric,
    BatchMetric,
    Better,
    Measured,
    Metric,
    MetricInfo,
    SetMetric,
    SetScore,
    Subject,
    Undefined,
    metric,
)
from medebench.registry import Registry

#: Of edited images, in the order of tables.
_EDITING = {
    "cp_published": "medebench.metrics.context:CP_PUBLISHED",
    "cp": "medebench.metrics.context:CP",
    "ssim": "medebench.metrics.pixel:SSIM",
    "psnr": "medebench.metrics.pixel:PSNR",
    "change_inside": "medebench.metrics.pixel:CHANGE_INSIDE",
    "change_outside": "medebench.metrics.pixel:CHANGE_OUTSIDE",
    "edit_completion": "medebench.metrics.intended:EDIT_COMPLETION",
    "edit_residual": "medebench.metrics.intended:EDIT_RESIDUAL",
}
#: Of answers and of images with text (metrics/text/); a row a line.
_TEXT: dict[str, str] = {
    "choice_accuracy": "medebench.metrics.text.choice_accuracy:CHOICE_ACCURACY",
    "choice_accuracy_circular": "medebench.metrics.text.circular_accuracy:CIRCULAR",
    "gap_accuracy": "medebench.metrics.text.gap_accuracy:GAP_ACCURACY",
    "key_accuracy": "medebench.metrics.text.key_accuracy:KEY_ACCURACY",
    "exact_match": "medebench.metrics.text.exact_match:EXACT_MATCH",
    "token_f1": "medebench.metrics.text.exact_match:TOKEN_F1",
    "answer_length": "medebench.metrics.text.answer_form:ANSWER_LENGTH",
    "answer_language": "medebench.metrics.text.answer_form:ANSWER_LANGUAGE",
    "answer_refused": "medebench.metrics.text.answer_form:ANSWER_REFUSED",
    "bleu_sacre": "medebench.metrics.text.bleu_sacre:BLEU_SACRE",
    "rouge_l": "medebench.metrics.text.rouge_l:ROUGE_L",
    "cider": "medebench.metrics.text.cider:CIDER",
    "finding_precision": "medebench.metrics.text.finding_scores:FINDING_PRECISION",
    "finding_recall": "medebench.metrics.text.finding_scores:FINDING_RECALL",
    "finding_f1": "medebench.metrics.text.finding_scores:FINDING_F1",
    "findings_hallucinated": "medebench.metrics.text.finding_scores:FINDINGS_HALLUCINATED",
    "findings_omitted": "medebench.metrics.text.finding_scores:FINDINGS_OMITTED",
    "finding_coverage": "medebench.metrics.text.finding_scores:FINDING_COVERAGE",
    "report_sections": "medebench.metrics.text.report_sections:REPORT_SECTIONS",
    "finding_f1_findings": "medebench.metrics.text.report_sections:FINDING_F1_FINDINGS",
    "finding_f1_impression": "medebench.metrics.text.report_sections:FINDING_F1_IMPRESSION",
    "rouge_l_findings": "medebench.metrics.text.report_sections:ROUGE_L_FINDINGS",
    "rouge_l_impression": "medebench.metrics.text.report_sections:ROUGE_L_IMPRESSION",
}
#: How large an image came, and the metrics of MedGEN-Bench as it published them.
_MEDGEN = {
    "output_aspect_ratio": "medebench.metrics.output_size:OUTPUT_ASPECT_RATIO",
    "output_size_ratio": "medebench.metrics.output_size:OUTPUT_SIZE_RATIO",
    "psnr_medgen": "medebench.metrics.medgen.published_pixels:PSNR_MEDGEN",
    "ssim_medgen": "medebench.metrics.medgen.published_pixels:SSIM_MEDGEN",
    "bleu_medgen": "medebench.metrics.medgen.published_texts:BLEU_MEDGEN",
    "exact_medgen": "medebench.metrics.medgen.published_texts:EXACT_MEDGEN",
    "exact_medgen_v2": "medebench.metrics.medgen.published_texts:EXACT_MEDGEN_V2",
    "token_f1_medgen": "medebench.metrics.medgen.published_texts:TOKEN_F1_MEDGEN",
}
METRICS = Registry("metric", "medebench.metrics", _EDITING | _TEXT | _MEDGEN)


#: In a list of names: those of edited images that need nothing; all whose weights are here; of
#: these, the ones that MedGEN-Bench has published.
DEFAULT, READY, MEDGEN = "default", "ready", "medgen"


def find_metrics(
    names: Iterable[str | AnyMetric] | None = None,
    *,
    device: str = "auto",
    batch: int | None = None,
) -> list[AnyMetric]:
    """The metrics of these names, or the built-in ones that need no weights; each name once.

    An object that is a metric already stays itself.

    `default`, `ready` and `medgen` stand for groups of names. What is not ready is said here,
    before any work: NotReadyError.
    """
    return [one for _, one in find_named_metrics(names, device=device, batch=batch)]


def find_named_metrics(
    names: Iterable[str | AnyMetric] | None = None,
    *,
    device: str = "auto",
    batch: int | None = None,
) -> list[tuple[str | None, AnyMetric]]:
    """The same, each with the name by which it is found again; None for objects."""
    if device not in DEVICES:
        raise InputError(f"device '{device}': choose {', '.join(DEVICES[:-1])} or {DEVICES[-1]}")
    found: dict[str, tuple[str | None, AnyMetric]] = {}
    for name in _names(names):
        call = name if isinstance(name, str) else None
        one = find_metric(name, device, batch) if isinstance(name, str) else name
        if found.setdefault(one.name, (call, one))[1].variant != one.variant:
            raise InputError(
                f"two metrics with different weights are called '{one.name}'; score with one of "
                "them, or rename a folder"
            )
    return list(found.values())


def metric_info(name: str) -> MetricInfo | None:
    """What the numbers under this name mean, weights or not; None for what is not known."""
    if learned := find_learned(name):
        return learned.info()
    try:
        one = METRICS.find(current_name(name))
    except InputError:
        return None
    return one.info if isinstance(one, Metric | BatchMetric | SetMetric) else None


def metric_part(name: str) -> str | None:
    """What of an output a metric is about ("image", "text", "output"); None if not known."""
    if learned := find_learned(name):
        return str(getattr(learned, "of", "image"))
    try:
        one = METRICS.find(current_name(name))
    except InputError:
        return None
    return one.of if isinstance(one, Metric | BatchMetric) else "image"


def not_ready(name: str) -> str | None:
    """Why a metric cannot be computed here, and what to do."""
    try:
        find_metric(name)
    except InputError as error:
        return str(error).removeprefix(f"metric '{name}': ")
    return None


@dataclass(frozen=True, repr=False, kw_only=True)
class MetricEntry(Entry):
    """A metric in a list: which way is better, and between what."""

    better: Better
    low: float
    high: float


def list_metrics() -> list[MetricEntry]:
    """All metrics that can be named, with what each needs and whether it can be computed here.

    Returns:
        The built-in ones first; those of other packages and those with a network follow.

    >>> [one.name for one in mb.list_metrics()][:3]
    ['cp_published', 'cp', 'ssim']
    """
    found = []
    for name in (*METRICS.names(), *LEARNED):
        if one := metric_info(name):
            told = {key: getattr(one, key) for key in ("summary", "needs", "better", "low", "high")}
            found.append(MetricEntry(name=name, problem=not_ready(name), **told))
    return found


def _names(given: Iterable[str | AnyMetric] | None) -> list[str | AnyMetric]:
    names: list[str | AnyMetric] = []
    for name in [DEFAULT] if given is None else given:
        if name == DEFAULT:
            names.extend(_EDITING)
        elif name in (READY, MEDGEN):
            every = (*METRICS.builtin, *(one for one in LEARNED if not_ready(one) is None))
            names.extend(one for one in every if name == READY or "_medgen" in one)
        else:
            names.append(name)
    return names


def find_metric(name: str, device: str = "auto", batch: int | None = None) -> AnyMetric:
    """One metric by its name, ready to be computed here."""
    name = current_name(name)
    learned = find_learned(name)
    try:
        one = learned.make(device, batch) if learned else METRICS.find(name)
    except UnknownNameError:
        every = [*METRICS.names(), *LEARNED]
        begins = [one for one in every if name and one.startswith(name.lower())]
        close = begins or difflib.get_close_matches(name.lower(), every, 1, 0.5)
        hint = f"did you mean '{close[0]}'? " if close else ""
        raise InputError(f"no metric '{name}'; {hint}`medebench metrics` lists them") from None
    except InputError as error:
        if not learned or str(error).startswith("metric '"):
            raise
        raise type(error)(f"metric '{name}': {error}") from error
    if isinstance(one, type) and issubclass(one, BatchMetric | SetMetric):
        raise InputError(f"metric '{name}': is a class; pass an instance of it")
    if not isinstance(one, Metric | BatchMetric | SetMetric):
        raise InputError(f"metric '{name}': is not a Metric; decorate it with medebench.metric")
    taken = one.name in METRICS.builtin or one.name in LEARNED
    if not learned and taken and name != one.name:
        raise InputError(f"metric '{name}': '{one.name}' is a built-in name; choose another")
    if not isinstance(one, Metric) and (problem := one.problem()):
        raise NotReadyError(f"metric '{name}': {problem}")
    return one


__all__ = [
    "DEFAULT",
    "LEARNED",
    "METRICS",
    "READY",
    "AnyMetric",
    "BatchMetric",
    "Measured",
    "Metric",
    "MetricEntry",
    "MetricInfo",
    "SetMetric",
    "SetScore",
    "Subject",
    "Undefined",
    "find_learned",
    "find_metric",
    "find_metrics",
    "find_named_metrics",
    "list_metrics",
    "metric",
    "metric_info",
    "metric_part",
    "not_ready",
]
