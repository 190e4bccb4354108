from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from medebench.cli.common import Json, Workers, guarded, print_json, progress_bar, say


@guarded
def make(
    kind: Annotated[str, typer.Argument(help="What to make: phantoms or chest-phantoms.")],
    out: Annotated[Path, typer.Option(help="Folder to write; must not exist yet.")],
    count: Annotated[int, typer.Option(min=1, max=100_000, help="How many cases.")] = 130,
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same pixels.")] = 0,
    workers: Workers = None,
    as_json: Json = False,
) -> None:
    """Draw phantoms: medical-looking cases in the layout of the MedEBench release.

    Examples:

        medebench cases make phantoms --count 130 --seed 0 --out phantoms

        medebench cases make chest-phantoms --count 64 --out chests
    """
    from medebench.errors import InputError

    if kind not in ("phantoms", "chest-phantoms"):
        raise InputError(f"'{kind}' cannot be made; there is: phantoms, chest-phantoms")
    out = out.expanduser().absolute()
    with progress_bar("drawing phantoms") as progress:

        def drawn(done: int) -> None:
            progress(done, count)

        try:
            if kind == "phantoms":
                from medebench.cases.phantoms import write_phantoms

                write_phantoms(out, count, seed, progress=drawn, workers=workers)
            else:
                from medebench.cases.phantoms.chest.write import write_chest_phantoms

                write_chest_phantoms(out, count, seed, progress=drawn, workers=workers)
        except FileExistsError:
            raise InputError(f"{out}: exists and is not empty; choose another --out") from None
    if as_json:
        print_json({"out": str(out), "count": count, "seed": seed})
    else:
        say(f"{count} phantoms in {out}")
