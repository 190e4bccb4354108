"""What a judge said about each output, in small scripts that the page loads when asked.

The texts of thousands of judgements would make the page slow to open, so cases are cut into
chunks and a chunk is fetched with the first case that is looked at.
"""

from __future__ import annotations

import json
from typing import Any

from medebench.report.collect import Material
from medebench.report.facts import JUDGE_SETTINGS
from medebench.report.gallery import script

#: Cases in one script; `static/store.js` counts the same way.
CHUNK = 50
_LONGEST = 2000
_HIDDEN = ("judge", "stand_in", *JUDGE_SETTINGS)


def detail_scripts(material: Material, keys: list[str]) -> dict[int, str]:
    """By number of the chunk, scripts of {case key: [[run, k, metric, field, text], ...]}."""
    numbers = {key: number for number, key in enumerate(keys)}
    chunks: dict[int, dict[str, list[list[Any]]]] = {}
    for entry in material.entries:
        own = {key_id(material, key): key for key in entry.cases}
        with entry.run.ledger() as ledger:
            for row in ledger.scores():
                key = own.get(row.case_id)
                if key is None or not row.detail:
                    continue
                for field, value in row.detail.items():
                    if field not in _HIDDEN and value not in (None, "", [], {}):
                        chunk = chunks.setdefault(numbers[key] // CHUNK, {})
                        line = [entry.index, row.k, row.metric, field, as_text(value)]
                        chunk.setdefault(key, []).append(line)
    return {
        number: script(f"MEDEBENCH_DETAILS_{number}", chunk)
        for number, chunk in sorted(chunks.items())
    }


def key_id(material: Material, key: str) -> str:
    return material.places[key][1]


def as_text(value: Any) -> str:
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        text = "; ".join(value)
    elif isinstance(value, float):
        text = f"{value:.4g}"
    elif isinstance(value, str | int):
        text = str(value)
    else:
        text = json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
