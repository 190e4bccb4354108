"""`write_results`: everything a study says into one folder, renewed in place."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from medebench.files import sweep, unwritable
from medebench.page.page_folder import Folder
from medebench.study.results.answer_text import answers
from medebench.study.results.figures.draw_study import draw_results
from medebench.study.results.people_tables import latex
from medebench.study.results.results_model import StudyResults
from medebench.study.results.study_markdown import markdown
from medebench.study.results.study_tables import csv_files, results_json

#: By which a folder of results is known.
MARKER = ".medebench-study-results.json"


def spoken(results: StudyResults) -> StudyResults:
    """The results with the answer in words, where that has not been put in yet."""
    said = (
        one if one.answer else replace(one, answer=answers(one, results))
        for one in results.dimensions
    )
    return replace(results, dimensions=tuple(said))


def write_results(results: StudyResults, out: str | Path) -> list[Path]:
    """Write all files into `out` and say where they are.

    An earlier set of results in the same folder is renewed: what is no longer part of it goes,
    what somebody else put there stays.
    """
    path = Path(out).expanduser().absolute()
    folder = Folder(path, marker=MARKER, own=(), holds="holds no results")
    try:
        results = spoken(results)
        content = json.dumps(results_json(results), indent=2, ensure_ascii=False, allow_nan=False)
        made: dict[str, str | bytes] = {
            "results.md": markdown(results),
            "results.tex": latex(results),
            "results.json": content + "\n",
            **csv_files(results),
        }
        for drawing in draw_results(results):
            made |= drawing.files()
        folder.expect(made)
        for place in (path, path / "figures"):
            sweep(place)
        folder.write_all(made)
        folder.close({})
    except OSError as error:
        raise unwritable(path, error) from error
    return [path / name for name in made]
