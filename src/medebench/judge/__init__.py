"""Judges, and the registry that finds them by name."""

from __future__ import annotations

from medebench.errors import InputError
from medebench.judge.base import Judge, Verdict
from medebench.registry import Registry

JUDGES = Registry("judge", "medebench.judges", {"offline": "medebench.judge.offline:OfflineJudge"})


def find_judge(name: str) -> Judge:
    judge = JUDGES.find(name)()
    if not isinstance(judge, Judge):
        raise InputError(f"judge '{name}': needs name, summary, stand_in, scores and judge()")
    return judge


__all__ = ["JUDGES", "Judge", "Verdict", "find_judge"]
