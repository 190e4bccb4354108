from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from medebench.cli.common import Json, Workers, guarded, print_json, progress_bar, say


@guarded
def make(
    kind: Annotated[str, typer.Argument(help="What to make: phantoms.")],
    out: Annotated[Path, typer.Option(help="Folder to write; must not exist yet.")],
    count: Annotated[int, typer.Option(min=1, max=100_000, help="How many cases.")] = 130,
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same pixels.")] = 0,
    workers: Workers = None,
    as_json: Json = False,
) -> None:
    """Draw phantoms: medical-looking cases in the layout of the MedEBench release.

    Example: medebench cases make phantoms --count 130 --seed 0 --out phantoms
    """
    from medebench.cases.phantoms import write_phantoms
    from medebench.errors import InputError

    if kind != "phantoms":
        raise InputError(f"'{kind}' cannot be made; there is: phantoms")
    out = out.expanduser().absolute()
    with progress_bar("drawing phantoms") as progress:
        try:
            write_phantoms(
                out, count, seed, progress=lambda done: progress(done, count), workers=workers
            )
        except FileExistsError:
            raise InputError(f"{out}: exists and is not empty; choose another --out") from None
    if as_json:
        print_json({"out": str(out), "count": count, "seed": seed})
    else:
        say(f"{count} phantoms in {out}")
