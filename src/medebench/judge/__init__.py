"""Judges, and the registry that finds them by name."""

from __future__ import annotations

from typing import Any

from medebench.clients.find import VENDORS
from medebench.errors import InputError, MedebenchError
from medebench.judge.base import Judge, Verdict
from medebench.judge.model import JudgeOptions, ModelJudge, model_judge
from medebench.registry import Registry
from medebench.settings import read_settings

JUDGES = Registry("judge", "medebench.judges", {"offline": "medebench.judge.offline:OfflineJudge"})


#: How the names of judged scores begin: editing accuracy (or, without a model, how much of the
#: intended change was made), visual quality, context.
PREFIXES = ("ea_", "intended_", "vq_", "context_")


def find_judge(name: str, options: dict[str, Any] | None = None) -> Judge | ModelJudge:
    """A judge by name, or a model as judge: `openai:NAME`, `gemini:NAME`, `anthropic:NAME`."""
    if name.partition(":")[0] in VENDORS and ".py:" not in name:
        return model_judge(name, read_settings(JudgeOptions, options or {}, f"judge '{name}'"))
    if options:
        raise InputError(f"judge '{name}': takes no {', '.join(options)}; only models do")
    try:
        judge = JUDGES.find(name)()
    except MedebenchError:
        raise
    except Exception as error:
        raise InputError(f"judge '{name}': {type(error).__name__}: {error}") from error
    if not isinstance(judge, Judge):
        raise InputError(f"judge '{name}': needs name, summary, stand_in, scores and judge()")
    if bad := [score for score in judge.scores if not score.startswith(PREFIXES)]:
        raise InputError(f"judge '{name}': score '{bad[0]}' must begin with {', '.join(PREFIXES)}")
    return judge


__all__ = ["JUDGES", "Judge", "JudgeOptions", "ModelJudge", "Verdict", "find_judge"]
