"""What maps that never look at the picture reach on a set of cases, organ by organ.

`python tools/attention_floors.py CASES` prints the IoU of the centred blob, the whole frame and
other cases' ROIs with the ROI, with 95 % intervals over source images, beside Table 4 of the paper.
"""

from __future__ import annotations

import argparse

import polars as pl

import medebench as mb
from medebench.analysis import summarise
from medebench.analysis.interval import UNIT
from medebench.analysis.published_tables import published_attention
from medebench.analysis.score_frame import COLUMNS
from medebench.cases import Case
from medebench.grounding.attention_floors import FLOORS, Floors, case_floors


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    given.add_argument("cases", help="folder, phantoms:..., or whatever `medebench cases` takes")
    options = given.parse_args()
    try:
        cases = mb.load_cases(options.cases)
    except mb.MedebenchError as error:
        given.error(str(error))
    marked = {case.id: case for case in cases if case.roi is not None}
    found = case_floors(marked)
    known = {key: one for key, one in found.items() if not isinstance(one, str)}
    print(f"{len(known)} of {len(cases)} cases have floors")
    if not known:
        raise SystemExit(0)
    published = published_attention()
    rows = frame(marked, known)
    print(f"{'':24}{'cases':>6}" + "".join(f"{one:>26}" for one in FLOORS.values()), end="")
    print(f"{published.name:>20}")
    least = {}
    for organ in sorted(set(rows["group"])):
        part = rows.filter(pl.col("group") == organ)
        table = cells(part)
        print(f"{organ or 'no organ named':24}{part['case'].n_unique():>6}", end="")
        beside = published.iou.get(organ)
        text = "" if beside is None else f"{beside:.3f}"
        print("".join(f"{table.get(one, ('–', 0.0))[0]:>26}" for one in FLOORS), f"{text:>19}")
        if beside is not None:
            reached = [mean for name, (_, mean) in table.items() if name != "other"]
            least[organ] = max(reached) >= round(beside, 3)
    everything = cells(rows)
    print(f"{'all cases':24}{len(known):>6}", end="")
    print("".join(f"{everything.get(one, ('–', 0.0))[0]:>26}" for one in FLOORS))
    if least:
        print(f"blob or frame reach the published IoU in {sum(least.values())} of {len(least)}")


def frame(cases: dict[str, Case], found: dict[str, Floors]) -> pl.DataFrame:
    """The IoU of every floor as scores."""
    rows = []
    for key, floors in found.items():
        source, case = mb.open_case(cases[key]).source, cases[key]
        for name, floor in floors.items():
            about = [name, name, True, case.organ, key, 0, source]
            rows.append([*about, "attention_iou", floor.iou, None])
    types = {"value": pl.Float64, "reason": pl.String}
    return pl.DataFrame(rows, schema=list(COLUMNS), schema_overrides=types, orient="row")


def cells(rows: pl.DataFrame) -> dict[str, tuple[str, float]]:
    """By floor its mean with interval, in words and as a number."""
    found = {}
    for one in summarise(rows, bounds={"attention_iou": UNIT}).iter_rows(named=True):
        ends = "" if one["low"] is None else f" ({one['low']:.3f}–{one['high']:.3f})"
        found[one["run"]] = f"{one['mean']:.3f}{ends}", one["mean"]
    return found


if __name__ == "__main__":
    main()
