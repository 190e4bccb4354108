"""What other parts of the package bring to a report where they are there; asked for here alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any


def published_versions() -> Sequence[Any]:
    """Results of MedGEN-Bench as published, by version of the paper."""
    found = _find("medebench.analysis.published_medgen", "published_medgen")
    return () if found is None else tuple(found())


def pass_rates() -> Callable[..., Sequence[Any]] | None:
    """Shares of outputs that pass the published thresholds."""
    return _find("medebench.analysis.pass_rates", "pass_rates")


def find_findings(text: str) -> Sequence[Any]:
    """The findings that a text names, where there is a reader of findings."""
    found = _find("medebench.metrics.text.findings", "find_findings")
    return () if found is None else tuple(found(text))


def _find(module: str, name: str) -> Callable[..., Any] | None:
    try:
        found: Callable[..., Any] = getattr(import_module(module), name)
    except (ImportError, AttributeError):
        return None
    return found
