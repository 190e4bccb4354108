"""`case_figure`: chosen cases with the outputs of all runs, and scores under each, as one file."""

from __future__ import annotations

import difflib
import io
from collections.abc import Sequence
from pathlib import Path

from medebench.aliases import current_name
from medebench.errors import InputError
from medebench.files import unwritable, write_bytes
from medebench.page.figure_style import save, standalone
from medebench.page.score_columns import Score, dimensions
from medebench.reporting.collect import Entry, Material, collect
from medebench.reporting.figures import case_sheet
from medebench.reporting.output_grid import CaseGrid, Grids, all_scores
from medebench.reporting.sweeps import chosen_of, deciding
from medebench.runs.run_folder import Run, open_ledgers
from medebench.runs.score_run import open_runs

#: What one page of a paper, and a screen, can hold.
MOST_CASES, MOST_RUNS = 24, 24
FORMATS = (".svg", ".pdf", ".png")


def case_figure(
    runs: Run | str | Path | Sequence[Run | str | Path],
    cases: Sequence[str],
    out: str | Path,
    *,
    metrics: Sequence[str] | None = None,
    k: int | None = None,
) -> Path:
    """Draw chosen cases as one figure: input with the ROI outlined, reference, every output.

    Under each output stand its scores, the best of each case in bold; an output that failed is an
    empty frame with the reason. A sweep is drawn as a grid over its settings.

    Args:
        runs: scored runs, opened or as folders; a column each. Or one sweep.
        cases: ids, a row each, in this order.
        out: the file: .svg, .pdf or .png.
        metrics: which scores, a judge's with or without the judge ("vq"); those that lead the task
            unless given.
        k: which output of each case; the first there is unless given.

    Returns:
        Where the figure is.

    >>> run = mb.edit("phantoms:count=2", "blur", tmp / "drawn")
    >>> _ = mb.score(run, "cp,ssim")
    >>> mb.case_figure(run, ["1"], tmp / "figure.pdf", metrics=["cp"]).name
    'figure.pdf'
    """
    opened = open_runs(runs)
    path = _target(opened, Path(out).expanduser().absolute())
    if not 1 <= len(cases) <= MOST_CASES or len(opened) > MOST_RUNS:
        told = f"{len(cases)} cases of {len(opened)} runs"
        raise InputError(
            f"{told}: a figure has 1 to {MOST_CASES} cases of at most {MOST_RUNS} runs"
        )
    with open_ledgers(opened):
        material = collect(opened)
        scores = _scores(material, metrics, k)
        keys = [key for case in dict.fromkeys(cases) for key in _keys(material, case)]
        grids = _grids(material, scores, keys, k)
        with case_sheet.draw(grids, scores) as made:
            if (form := path.suffix.lower()) == ".png":
                stream = io.BytesIO()
                made.savefig(
                    stream,
                    format="png",
                    metadata={"Software": None},
                    facecolor="white",
                    dpi=case_sheet.RESOLUTION,
                )
                data = stream.getvalue()
            else:
                svg, pdf = save(made)
                data = pdf if form == ".pdf" else standalone(svg).encode()
    try:
        write_bytes(path, data)
    except OSError as error:
        raise unwritable(path, error) from error
    return path


def _grids(
    material: Material, scores: Sequence[Score], keys: Sequence[str], k: int | None
) -> list[CaseGrid]:
    grids = Grids(material, scores, keys)
    if (sweep := _sweep(material, k)) is None:
        return [grids.runs(key, k) for key in keys]
    _, chosen = chosen_of(sweep.run)
    return [grids.settings(sweep, key, chosen) for key in keys]


def _sweep(material: Material, k: int | None) -> Entry | None:
    """The sweep that is to be drawn as a grid over its settings, if it is one."""
    swept = [entry for entry in material.entries if entry.run.info.sweep and k is None]
    if swept and len(material.entries) > 1:
        raise InputError(
            f"{swept[0].run.path}: is a sweep of {len(swept[0].run.info.sweep)} settings; draw it "
            "alone, or choose one of its settings with k"
        )
    return swept[0] if swept else None


def _scores(material: Material, metrics: Sequence[str] | None, k: int | None) -> list[Score]:
    """Those that were asked for; of a sweep the one that decided; else those that lead."""
    known = all_scores(material)
    if metrics is None:
        if (sweep := _sweep(material, k)) is not None:
            return [deciding(material, sweep)]
        return dimensions(material.scores, "", material.task)
    found: dict[str, Score] = {}
    for name in metrics:
        own = [score for score in known if score.stands_for(current_name(name))]
        if not own:
            there = ", ".join(score.name for score in known)
            raise InputError(f"metric '{name}': no run has it; there are: {there}")
        found |= {score.name: score for score in own}
    return list(found.values())


def _keys(material: Material, case: str) -> list[str]:
    """Of one case, unless two runs hold different ones under its id."""
    if found := [key for key, (_, case_id, _) in material.places.items() if case_id == str(case)]:
        return found
    ids = [case_id for _, case_id, _ in material.places.values()]
    close = difflib.get_close_matches(str(case), ids, 1)
    hint = f"did you mean '{close[0]}'?" if close else f"there are {len(ids)}, such as '{ids[0]}'"
    raise InputError(f"case '{case}': is in none of the runs; {hint}")


def _target(runs: Sequence[Run], out: Path) -> Path:
    if out.suffix.lower() not in FORMATS:
        raise InputError(f"{out}: a figure ends in {', '.join(FORMATS)}")
    if out.is_dir():
        raise InputError(f"{out}: is a folder; name a file")
    if any(out.resolve().is_relative_to(run.path.resolve()) for run in runs):
        raise InputError(f"{out}: lies inside a run; choose another --out")
    return out
