"""The tables that two trees wrote: every number in every CSV file and machine-readable result."""

from __future__ import annotations

import csv
import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from trees.differences import Found, leaves, read_json, same_leaf

#: Written by the user or for the program itself, or about time and place.
_LEFT_OUT = {"images.csv", "recipe.json", "run.json", "study.json", "stress.json", "cache"}
_LEFT_OUT |= {"cases", "brought", "assets", "exits.json"}
#: Columns that say what a row is about.
_ABOUT = {"run", "run_a", "run_b", "editor", "model", "organ", "task", "case", "k", "metric"}
_ABOUT |= {"basis", "family", "annotator", "annotator_a", "annotator_b", "dimension", "part"}
_ABOUT |= {"predictor", "measure", "set", "edit", "sample", "threshold"}
_ABOUT_TIME = ("seconds", "duration", "created", "versions", "elapsed")

Table = list[dict[str, str]]


def compare_tables(old: Path, new: Path, found: Found) -> None:
    before, after = _files(old), _files(new)
    for name, path in sorted(before.items()):
        there = after.get(name) or _moved(path, before, after, found)
        if there is None:
            found.differences.append(f"{name}: is gone")
            continue
        found.checked["tables"] += 1
        if path.suffix == ".csv":
            compare_csv(name, read_table(path), read_table(there), found)
        else:
            compare_json(name, path, there, found)
    for name in sorted(after.keys() - before.keys()):
        found.notes[f"new file: {name}"] += 1


def _files(folder: Path) -> dict[str, Path]:
    found = {}
    for path in sorted([*folder.rglob("*.csv"), *folder.rglob("*.json")]):
        parts = path.relative_to(folder).parts
        if not set(parts) & _LEFT_OUT and not path.name.startswith("."):
            found["/".join(parts)] = path
    return found


def _moved(
    path: Path, before: Mapping[str, Path], after: Mapping[str, Path], found: Found
) -> Path | None:
    """The file of the new tree that holds what is not at its old place any more."""
    fresh = {name: there for name, there in after.items() if name not in before}
    same = {n: p for n, p in fresh.items() if p.name == path.name and p.suffix == path.suffix}
    if not same and path.suffix == ".csv":
        mine = read_table(path)
        same = {n: p for n, p in fresh.items() if p.suffix == ".csv" and read_table(p) == mine}
    for name, there in same.items():
        found.notes[f"moved file: {path.name} -> {name}"] += 1
        return there
    return None


def read_table(path: Path) -> Table:
    with path.open(newline="", encoding="utf-8-sig") as file:
        return list(csv.DictReader(file))


def compare_csv(name: str, old: Table, new: Table, found: Found) -> None:
    """Cell by cell.

    Rows belong together that are alike in what they are about, and in all columns whose cells,
    taken together, are the same in both tables: neither order nor rows more or less matter.
    """
    old = [
        {
            found.renamed.get(column, column): found.renamed.get(cell, cell)
            for column, cell in row.items()
        }
        for row in old
    ]
    before, after = _columns(old), _columns(new)
    for column in [one for one in before if one not in after]:
        now = next((n for n in after if n not in before and after[n] == before[column]), None)
        if now is None:
            found.differences.append(f"{name}: column {column} is gone")
            del before[column]
        else:
            found.notes[f"renamed column: {column} -> {now}"] += 1
            old = [{(now if c == column else c): cell for c, cell in row.items()} for row in old]
            before = {(now if c == column else c): cells for c, cells in before.items()}
    for column in after.keys() - before.keys():
        found.notes[f"new column: {name}: {column}"] += 1
    keys = [
        column
        for column in before
        if before[column] == after[column]
        or (column in _ABOUT and _one_holds_the_other(set(before[column]), set(after[column])))
    ]
    rest = [column for column in before if column not in keys]
    waiting: defaultdict[tuple[str, ...], list[dict[str, str]]] = defaultdict(list)
    for row in reversed(new):
        waiting[_key(row, keys)].append(row)
    for row in old:
        found.checked["numbers"] += sum(1 for c in keys if _is_number(row[c]))
        place = f"{name}: row {_about(row)}"
        if not (there := waiting[_key(row, keys)]):
            found.differ(place, "there", "no such row")
            continue
        twin = there.pop()
        for column in rest:
            cells = (row[column] or None, twin[column] or None)
            same_leaf(f"{place}: {column}", *cells, found, f"{name}: {column}")
    for row in (row for rows in waiting.values() for row in rows):
        found.differ(f"{name}: row {_about(row)}", "no such row", "there")


def _columns(table: Table) -> dict[str, Counter[str]]:
    names = list(table[0]) if table else []
    return {name: Counter(row[name] for row in table) for name in names}


def _one_holds_the_other(one: set[str], other: set[str]) -> bool:
    return one <= other or other <= one


def _key(row: Mapping[str, str], columns: Sequence[str]) -> tuple[str, ...]:
    return tuple(row[column] for column in columns)


def _about(row: Mapping[str, str]) -> str:
    """Which row it is, for people."""
    told = [cell for column, cell in row.items() if column in _ABOUT and cell]
    return " ".join(told or list(row.values())[:6])


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def compare_json(name: str, old: Path, new: Path, found: Found) -> None:
    roots = [str(path.absolute().parents[0]) for path in (old, new)]
    before, after = (dict(leaves(read_json(path.read_text("utf-8")))) for path in (old, new))
    basis = "table.basis"
    if basis in before and before[basis] != after.get(basis):
        # Other rows of the same table, which is compared where it lies, with all its bases.
        found.notes[f"{name}: shows {after.get(basis)} instead of {before[basis]}"] += 1
        before, after = (_without(one, "table.") for one in (before, after))
    for place, leaf in before.items():
        if any(word in place for word in _ABOUT_TIME) or _is_path(leaf, roots):
            continue
        parts = [found.renamed.get(part, part) for part in place.split(".")]
        if (now := ".".join(parts)) in after:
            mine = found.renamed.get(leaf, leaf) if isinstance(leaf, str) else leaf
            same_leaf(f"{name}: {place}", mine, after[now], found, f"{name}: {parts[-1]}")
        else:
            found.differ(f"{name}: {place}", json.dumps(leaf), "is gone")
    known = {".".join(found.renamed.get(p, p) for p in place.split(".")) for place in before}
    for place in after.keys() - known:
        found.notes[f"new in {name}: {place}"] += 1


def _without(found: Mapping[str, Any], start: str) -> dict[str, Any]:
    return {place: leaf for place, leaf in found.items() if not place.startswith(start)}


def _is_path(leaf: object, roots: Sequence[str]) -> bool:
    return isinstance(leaf, str) and (leaf.startswith("/") or any(r in leaf for r in roots))
