"""What the scores of a judge are called, and who gave them."""

from __future__ import annotations

from collections.abc import Mapping

#: By how the name of a score begins: what tables call it, and what it says.
JUDGE_SCORES = {
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
