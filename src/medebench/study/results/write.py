"""`write_results`: everything a study says into one folder, renewed in place."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from medebench.errors import InputError
from medebench.files import TEMPORARY, sweep, unwritable, write_bytes
from medebench.study.results.figures import draw_results
from medebench.study.results.latex import latex
from medebench.study.results.markdown import markdown
from medebench.study.results.model import StudyResults
from medebench.study.results.tables import csv_files, results_json
from medebench.study.results.words import answers

#: Names the files that are ours, so that nothing else is ever removed.
MARKER = ".medebench-study-results.json"


def spoken(results: StudyResults) -> StudyResults:
    """The results with the answer in words, where that has not been put in yet."""
    said = (
        one if one.answer else replace(one, answer=answers(one, results))
        for one in results.dimensions
    )
    return replace(results, dimensions=tuple(said))


def result_files(results: StudyResults) -> dict[str, bytes]:
    """name -> content; the same results give the same bytes."""
    results = spoken(results)
    text = {
        "results.md": markdown(results),
        "results.tex": latex(results),
        "results.json": json.dumps(
            results_json(results), indent=2, ensure_ascii=False, allow_nan=False
        )
        + "\n",
        **csv_files(results),
    }
    made = {name: content.encode("utf-8") for name, content in text.items()}
    for drawing in draw_results(results):
        made[f"figures/{drawing.name}.svg"] = drawing.svg.encode("utf-8")
        made[f"figures/{drawing.name}.pdf"] = drawing.pdf
    return made


def write_results(results: StudyResults, out: str | Path) -> list[Path]:
    """Write all files into `out` and say where they are.

    An earlier set of results in the same folder is renewed: what is no longer part of it goes,
    what somebody else put there stays.
    """
    folder = Path(out).expanduser().absolute()
    try:
        earlier = _open(folder)
        made = result_files(results)
        # All names first: whoever is stopped half way is taken up again, not refused.
        _mark(folder, [*earlier, *made])
        for own in (folder, folder / "figures"):
            sweep(own)
        for name, content in made.items():
            path = folder / name
            if not (path.is_file() and path.read_bytes() == content):
                write_bytes(path, content)
        for name in earlier:
            if name not in made:
                (folder / name).unlink(missing_ok=True)
        _mark(folder, [*made])
    except OSError as error:
        raise unwritable(folder, error) from error
    return [folder / name for name in made]


def _open(folder: Path) -> list[str]:
    """The names an earlier set of results has; refuses a folder that is somebody else's."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: is a file; choose another --out")
    if (folder / "figures").is_symlink():
        raise InputError(f"{folder / 'figures'}: is a link; remove it or choose another --out")
    marker = folder / MARKER
    if marker.is_file():
        return _names(marker)
    if folder.is_dir() and any(not p.name.startswith(TEMPORARY) for p in folder.iterdir()):
        raise InputError(f"{folder}: is not empty and holds no results; choose another --out")
    return []


def _names(marker: Path) -> list[str]:
    try:
        names = json.loads(marker.read_text(encoding="utf-8"))["files"]
    except (OSError, ValueError, KeyError, TypeError):
        return []
    found = names if isinstance(names, list) else []
    return [name for name in found if isinstance(name, str) and _is_ours(name)]


def _is_ours(name: str) -> bool:
    """A damaged or foreign marker must not make us remove what lies elsewhere."""
    path = Path(name)
    inside = path.parent in (Path(), Path("figures"))
    return inside and not path.is_absolute() and path.name not in ("", "..", MARKER)


def _mark(folder: Path, names: list[str]) -> None:
    text = json.dumps({"format": 1, "files": sorted(dict.fromkeys(names))}, indent=1) + "\n"
    write_bytes(folder / MARKER, text.encode("utf-8"))
