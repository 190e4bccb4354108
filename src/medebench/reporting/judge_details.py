"""What a judge said about each output, in small scripts that the page loads when asked.

The texts of thousands of judgements would make the page slow to open, so cases are cut into
chunks and a chunk is fetched with the first case that is looked at.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from medebench.judge.score_names import JUDGE_SETTINGS, judge_of
from medebench.metrics.learned_metrics import find_learned
from medebench.page.page_folder import script
from medebench.page.private_paths import without_folders
from medebench.page.score_columns import DIAGNOSTIC
from medebench.reporting.collect import Entry, Material
from medebench.runs.ledger import ScoreRow
from medebench.runs.run_folder import Run
from medebench.runs.stages.run_diagnosis import FINDING

#: Cases in one script; `static/store.js` counts the same way.
CHUNK = 50
_LONGEST = 2000
#: Of what a judge was asked and answered word by word.
_LONGEST_TALK = 20_000
_TALK = ("differences", "asked", "answered")
#: Said once for all in the methods, or of use only to machines.
_HIDDEN = (
    *("judge", "stand_in", *JUDGE_SETTINGS, "variant", "rubric_hash", "without", "repeats", "sd"),
    *("tokens_in", "tokens_out", "price"),
)
#: What is shown of the diagnosis: why, and what the editor's attention was recorded for.
_GROUNDED = ((FINDING, "why"), ("attention_iou", "concept"))
_NAMES = {
    "asked": "question",
    "answered": "answer",
    "values": "values of the repeats",
    "over": "computed from",
    "own": "the judge's own opinion of the whole, which is not used",
    "order": "order in which it was shown",
    "unread": "repeats that could not be read",
}


def detail_scripts(material: Material, keys: Sequence[str]) -> dict[int, str]:
    """By number of the chunk, scripts of {case key: [[run, k, metric, field, text], ...]}.

    Several things are a list instead of a text. What a judge saw stands beside each of its scores
    in the ledger, and is shown once.
    """
    numbers = {key: number for number, key in enumerate(keys)}
    chunks: dict[int, dict[str, list[list[Any]]]] = {}
    for entry in material.entries:
        own = {key_id(material, key): key for key in entry.cases}
        for row in entry.told:
            key = own.get(row.case_id)
            if key is None or not row.detail or find_learned(row.metric):
                continue
            if row.metric in DIAGNOSTIC and not _is_shown(entry, key, row):
                continue
            chunk = chunks.setdefault(numbers[key] // CHUNK, {})
            for field, value in row.detail.items():
                if row.metric in DIAGNOSTIC and (row.metric, field) not in _GROUNDED:
                    continue
                if field in _HIDDEN or value in (None, "", [], {}):
                    continue
                talk = field in _TALK
                what = shown(value) if talk else as_text(value)
                what = hide(entry.run, what)
                metric = judge_of(row.metric) if talk else row.metric
                line = [entry.index, row.k, metric, _NAMES.get(field, field), what]
                lines = chunk.setdefault(key, [])
                if line not in lines:
                    lines.append(line)
    return {
        number: script(f"MEDEBENCH_DETAILS_{number}", chunk)
        for number, chunk in sorted(chunks.items())
    }


def _is_shown(entry: Entry, key: str, row: ScoreRow) -> bool:
    """Whether the diagnosis has something to say here, and about the picture that is shown."""
    output = entry.outputs.get((key, row.k))
    told = any((row.metric, field) in _GROUNDED for field in row.detail)
    return told and output is not None and output.sha256 == row.output


def key_id(material: Material, key: str) -> str:
    return material.places[key][1]


def shown(value: Any) -> str | list[str]:
    """A list of differences or answers stays a list."""
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return [as_text(one, _LONGEST_TALK) for one in value]
    return as_text(value, _LONGEST_TALK)


def hide(run: Run, what: str | list[str]) -> str | list[str]:
    if isinstance(what, str):
        return without_folders(run, what)
    return [without_folders(run, one) for one in what]


def as_text(value: Any, longest: int = _LONGEST) -> str:
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        text = "; ".join(value)
    elif isinstance(value, list) and all(isinstance(one, float) for one in value):
        text = ", ".join(f"{one:.4g}" for one in value)
    elif isinstance(value, float):
        text = f"{value:.4g}"
    elif isinstance(value, str | int):
        text = str(value)
    else:
        text = json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
    return text if len(text) <= longest else text[: longest - 1] + "…"
