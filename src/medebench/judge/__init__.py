"""Judges, and the registry that finds them by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from medebench.entry import Entry
from medebench.errors import InputError, MedebenchError
from medebench.judge.judge import Judge, Judgement, LocalJudge, PlainJudge, Verdict, assess_now
from medebench.judge.model_judge import JudgeOptions, ModelJudge, model_judge
from medebench.models.model_lookup import list_providers, names_model, with_provider
from medebench.registry import Registry
from medebench.settings import read_settings

JUDGES = Registry(
    "judge", "medebench.judges", {"offline": "medebench.judge.offline_judge:OfflineJudge"}
)


#: How the names of judged scores begin: editing accuracy (or, without a model, how much of the
#: intended change was made), visual quality, context.
PREFIXES = ("ea_", "intended_", "vq_", "context_")


def find_judge(name: str, options: dict[str, Any] | None = None) -> Judge:
    """A judge by name, or a model as judge: `openai:NAME`, `file.py:Provider:NAME`, ..."""
    if names_model(name):
        return model_judge(name, read_settings(JudgeOptions, options or {}, f"judge '{name}'"))
    known = name in JUDGES.names() or ".py:" in name
    served = f"openai:{name}" if "base_url" in (options or {}) else None
    if not known and (call := served or with_provider(name)):
        raise InputError(f"no judge '{name}'; a model is named with its provider: '{call}'")
    if options:
        raise InputError(f"judge '{name}': takes no {', '.join(options)}; only models do")
    try:
        judge = JUDGES.find(name)()
    except MedebenchError:
        raise
    except Exception as error:
        raise InputError(f"judge '{name}': {type(error).__name__}: {error}") from error
    found = as_judge(judge, name)
    about_images = getattr(judge, "of", "image") == "image"
    bad = [score for score in found.scores if not score.startswith(PREFIXES)]
    if about_images and bad:
        raise InputError(f"judge '{name}': score '{bad[0]}' must begin with {', '.join(PREFIXES)}")
    return found


@dataclass(frozen=True, repr=False, kw_only=True)
class JudgeEntry(Entry):
    """A judge in a list; a model's scores are those of the rubric it is given."""

    #: Judge and version, as the ledger has it.
    version: str
    stand_in: bool = False
    scores: tuple[str, ...] = ()


def list_judges() -> list[JudgeEntry]:
    """All judges that can be named: those that need no server, and the models of each provider.

    Returns:
        Judges by the name that `mb.score(run, judge=...)` takes.

    >>> [one.name for one in mb.list_judges() if not one.needs]
    ['offline']
    """
    found = []
    for name in JUDGES.names():
        one = find_judge(name)
        needs = tuple({getattr(one, "needs", "nothing")} - {"nothing"})
        facts: dict[str, Any] = {"summary": one.summary, "needs": needs, "version": one.name}
        found.append(
            JudgeEntry(name=name, stand_in=one.stand_in, scores=tuple(one.scores), **facts)
        )
    for model in (one for one in list_providers() if "text" in one.gives):
        call, summary = f"{model.name}:NAME", "a model that sees images judges by a rubric"
        facts = {"needs": model.needs, "problem": model.problem, "version": call}
        found.append(JudgeEntry(name=call, summary=summary, **facts))
    return found


def as_judge(judge: Any, name: str = "") -> Judge:
    """A judge of either form as one that can be driven like all others."""
    if isinstance(judge, Judge):
        return judge
    if isinstance(judge, PlainJudge):
        return LocalJudge(judge)
    called = name or type(judge).__name__
    raise InputError(f"judge '{called}': needs name, summary, stand_in, scores and judge()")


__all__ = [
    "JUDGES",
    "Judge",
    "JudgeEntry",
    "JudgeOptions",
    "Judgement",
    "LocalJudge",
    "ModelJudge",
    "PlainJudge",
    "Verdict",
    "as_judge",
    "assess_now",
    "find_judge",
    "list_judges",
]
