"""Rankings as a CSV file: a study done elsewhere comes in, one done here goes out."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from pathlib import Path

from medebench.errors import InputError
from medebench.files import read_bytes
from medebench.spreadsheet import original, plain
from medebench.study.design import EDITING
from medebench.study.rankings import About, Given, Rankings

REQUIRED = ("annotator", "case", "dimension", "model", "rank")
#: `showing` is 2 where an annotator ranked a case for the second time, `control` 1 where the model
#: is a control.
OPTIONAL = ("organ", "source", "showing", "control")
#: Stands for `organ` where cases are grouped by something else.
GROUP = "group"
COLUMNS = (*REQUIRED, *OPTIONAL)


def rankings_csv(rankings: Rankings) -> str:
    """One row for each annotator, case, dimension and model."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    group = "organ" if rankings.grouping == "organ" else GROUP
    writer.writerow([group if name == "organ" else name for name in COLUMNS])
    for key, ranks in sorted(rankings.given.items()):
        about = rankings.cases[key.case]
        for model, rank in sorted(ranks.items(), key=lambda one: (one[1], one[0])):
            row = (key.annotator, key.case, key.dimension, model, f"{rank:g}")
            control = int(model in rankings.controls)
            cells = (*row, about.group, about.source, key.showing, control)
            writer.writerow([plain(cell) if isinstance(cell, str) else cell for cell in cells])
    return stream.getvalue()


def read_rankings(path: Path) -> Rankings:
    """A table with the columns `REQUIRED`; smaller ranks are better, equal ones are ties."""
    given: dict[Given, dict[str, float]] = {}
    cases: dict[str, About] = {}
    controls: set[str] = set()
    known_sources = True
    for line, row in _rows(path):
        key, model = _key(path, line, row), row["model"]
        if _flag(path, line, "control", row.get("control", "") or "0", ("0", "1")) == 1:
            controls.add(model)
        known_sources &= bool(row.get("source"))
        ranks = given.setdefault(key, {})
        if model in ranks:
            raise InputError(
                f"{path}: line {line}: '{key.annotator}' ranks '{model}' a second time for case "
                f"'{key.case}', {key.dimension}; remove one of the two"
            )
        ranks[model] = _rank(path, line, row["rank"])
        about = About(row.get("organ", row.get(GROUP, "")), row.get("source", "") or key.case)
        if (known := cases.setdefault(key.case, about)) != about:
            field = "group" if known.group != about.group else "source"
            raise InputError(
                f"{path}: line {line}: {field} of case '{key.case}' is '{getattr(about, field)}', "
                f"but '{getattr(known, field)}' in an earlier line"
            )
    if not given:
        raise InputError(f"{path}: has no rows")
    return Rankings(
        tuple(sorted({key.annotator for key in given})),
        tuple(sorted({model for ranks in given.values() for model in ranks})),
        _in_order({key.dimension for key in given}),
        dict(sorted(cases.items())),
        given,
        frozenset(controls),
        known_sources,
    )


def _in_order(names: set[str]) -> tuple[str, ...]:
    usual = [one for one in EDITING if one in names]
    return (*usual, *sorted(names - set(usual)))


def _rows(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    try:
        text = read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}: byte {error.start}: is not UTF-8; save it as CSV UTF-8"
        ) from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    first = text.partition("\n")[0]
    comma = max(",;\t", key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=comma, strict=True)
    try:
        names = [name.strip().lower() for name in next(reader, [])]
        _check_names(path, names)
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            if len(cells) != len(names):
                raise InputError(
                    f"{path}: line {reader.line_num}: has {len(cells)} cells, but the first line "
                    f"has {len(names)}"
                )
            values = (original(cell.strip()) for cell in cells)
            yield reader.line_num, dict(zip(names, values, strict=True))
    except csv.Error as error:
        raise InputError(f"{path}: line {reader.line_num}: is not CSV ({error})") from None


def _check_names(path: Path, names: list[str]) -> None:
    if missing := [name for name in REQUIRED if name not in names]:
        raise InputError(
            f"{path}: line 1: column '{missing[0]}' is missing; the columns are "
            f"{', '.join(REQUIRED)}, and if known {', '.join(OPTIONAL)}"
        )
    if twice := [name for name in COLUMNS if names.count(name) > 1]:
        raise InputError(f"{path}: line 1: column '{twice[0]}' appears twice")


def _key(path: Path, line: int, row: dict[str, str]) -> Given:
    for name in ("annotator", "case", "dimension", "model"):
        if not row[name]:
            raise InputError(f"{path}: line {line}: {name} is empty")
    showing = _flag(path, line, "showing", row.get("showing", "") or "1", ("1", "2"))
    return Given(row["annotator"], row["case"], row["dimension"].lower(), showing)


def _flag(path: Path, line: int, name: str, text: str, allowed: tuple[str, str]) -> int:
    if text not in allowed:
        meant = " or ".join(allowed)
        raise InputError(f"{path}: line {line}: {name} is '{text}'; expected {meant}")
    return int(text)


def _rank(path: Path, line: int, text: str) -> float:
    try:
        rank = float(text)
    except ValueError:
        rank = math.nan
    if not (math.isfinite(rank) and rank >= 1):
        raise InputError(
            f"{path}: line {line}: rank is '{text}'; expected a number from 1 (best) upwards; "
            "leave out what was not ranked"
        )
    return rank
