"""The ledgers of two trees, row by row.

Read from the SQLite files, because an export leaves out what is out of date. Tables and columns are
known by what they hold, so that ledgers of several versions can be compared.
"""

from __future__ import annotations

import difflib
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from trees.differences import Found, leaves, read_json, same_leaf

#: Other names of columns, to the one used here.
COLUMNS = {"case_id": "case", "reason_code": "code", "reason_kind": "code", "kind": "code"}
COLUMNS |= {"group": "part", "subset": "part", "reason_text": "reason", "index": "k"}
#: What each kind of table is told by, and what must be equal in it.
KEYS = {
    "scores": ("case", "k", "metric"),
    "outputs": ("case", "k"),
    "sets": ("metric", "part"),
    "cases": ("case",),
}
EQUAL = {
    "scores": ("value", "cost"),
    "outputs": ("sha256", "seed"),
    "sets": ("value", "low", "high", "n", "n_references"),
    "cases": ("organ", "task", "source"),
}
#: What one of the two may know without the other: a version that came later.
_UNEQUAL = {"scores": ("seen",), "outputs": (), "sets": ("variant",), "cases": ("digest",)}

Row = Mapping[str, Any]


class Key(NamedTuple):
    ledger: str
    table: str
    key: tuple[Any, ...]

    def __str__(self) -> str:
        return f"{self.ledger}: {self.table} {' '.join(map(str, self.key))}"


def read_ledgers(folder: Path) -> dict[Key, Row]:
    """Every row of every ledger below a folder."""
    rows: dict[Key, Row] = {}
    for path in sorted(folder.rglob("ledger.sqlite")):
        name = str(path.parent.relative_to(folder))
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
            db.row_factory = sqlite3.Row
            tables = db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
            for (table,) in tables:
                told = db.execute(f"PRAGMA table_info('{table}')")
                columns = [COLUMNS.get(one["name"], one["name"]) for one in told]
                if (kind := kind_of_table(columns)) is None:
                    continue
                for one in db.execute(f"SELECT * FROM '{table}'"):
                    row = dict(zip(columns, one, strict=True))
                    rows[Key(name, kind, tuple(row[c] for c in KEYS[kind]))] = row
    return rows


def kind_of_table(columns: list[str]) -> str | None:
    """
    >>> kind_of_table(["case", "k", "metric", "value", "reason"])
    'scores'
    """
    for kind, key in KEYS.items():
        if set(key) <= set(columns) and (kind == "cases" or "reason" in columns):
            return kind
    return None


def compare_ledgers(old: Path, new: Path, found: Found) -> None:
    before, after = read_ledgers(old), read_ledgers(new)
    for metric, now in renamed_metrics(before, after, found.renamed).items():
        found.renamed[metric] = now
        found.notes[f"renamed metric: {metric} -> {now}"] += 1
    before = {_renamed(key, found.renamed): row for key, row in before.items()}
    found.checked["ledgers"] += len({key.ledger for key in before})
    for key in sorted(before.keys() | after.keys(), key=str):
        if key not in after:
            found.differ(str(key), _result(before[key]), "no row")
        elif key not in before:
            found.differ(str(key), "no row", _result(after[key]))
        else:
            found.checked[key.table] += 1
            _compare_rows(key, before[key], after[key], found)


def _compare_rows(key: Key, old: Row, new: Row, found: Found) -> None:
    for column in EQUAL[key.table]:
        if (column in old) != (column in new):
            found.notes[f"column {key.table}.{column} is only in one of the two"] += 1
        elif column == "value" and (old[column] is None) != (new[column] is None):
            found.differ(str(key), _result(old), _result(new))
        elif old.get(column) != new.get(column):
            found.differ(f"{key}: {column}", old[column], new[column])
    for column in _UNEQUAL[key.table]:
        if column in old and column in new and old[column] != new[column]:
            found.notes[f"other {key.table}.{column}: a continued run may do it again"] += 1
    before, after = old.get("reason"), new.get("reason")
    if before is not None and after is not None:
        found.checked["reasons"] += 1
        found.texts["reason"].pair(before, after, new.get("code"))
        if "code" in old and "code" in new and old["code"] != new["code"]:
            found.differ(f"{key}: code of the reason", old["code"], new["code"])
    elif (before is None) != (after is None) and "value" not in old:
        found.differ(str(key), _result(old), _result(new))
    _compare_details(key, old.get("detail"), new.get("detail"), found)


def _compare_details(key: Key, old: str | None, new: str | None, found: Found) -> None:
    before, after = (dict(leaves(read_json(text or "{}"))) for text in (old, new))
    for path in sorted(before.keys() | after.keys()):
        now = ".".join(found.renamed.get(part, part) for part in path.split("."))
        if path in before and now in after and path == "variant":
            if before[path] != after[now]:
                found.notes[f"other variant of {key.key[-1]}: a continued run does it again"] += 1
        elif path in before and now in after:
            told = f"detail {path} of {key.table}"
            same_leaf(f"{key}: detail {path}", before[path], after[now], found, told)
        elif path in before:
            found.notes[f"detail of {key.table} gone: {path}"] += 1
        elif path not in {found.renamed.get(one, one) for one in before}:
            found.notes[f"detail of {key.table} new: {path}"] += 1


def renamed_metrics(
    old: Mapping[Key, Row], new: Mapping[Key, Row], given: Mapping[str, str]
) -> dict[str, str]:
    """Metrics that are gone, to new ones with the same values for the same outputs."""
    before, after = _by_metric(old), _by_metric(new)
    gone = [m for m in before if m not in after and m not in given]
    fresh = [m for m in after if m not in before and m not in given.values()]
    found: dict[str, str] = {}
    for metric in gone:
        same = [one for one in fresh if before[metric] == after[one]]
        if same and any(value is not None for value in before[metric].values()):
            best = max(same, key=lambda one: difflib.SequenceMatcher(None, metric, one).ratio())
            fresh.remove(best)
            found[metric] = best
    return found


def _by_metric(rows: Mapping[Key, Row]) -> dict[str, dict[tuple[Any, ...], float | None]]:
    found: dict[str, dict[tuple[Any, ...], float | None]] = {}
    for key, row in rows.items():
        if "metric" in KEYS[key.table]:
            place = (key.ledger, key.table, *(row[c] for c in KEYS[key.table] if c != "metric"))
            found.setdefault(row["metric"], {})[place] = row["value"]
    return found


def _renamed(key: Key, names: Mapping[str, str]) -> Key:
    columns = KEYS[key.table]
    parts = zip(columns, key.key, strict=True)
    changed = tuple(names.get(one, one) if column == "metric" else one for column, one in parts)
    return key._replace(key=changed)


def _result(row: Row) -> str:
    """Value or reason of a row, for people."""
    if row.get("reason") is not None:
        return f"reason '{row['reason']}'"
    return repr(row.get("value", row.get("sha256")))
