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
    from medebench.cases.phantoms import VERSION
    from medebench.cases.phantoms.chest import VERSION as CHEST_VERSION
    from medebench.errors import InputError
    from medebench.files import unwritable, whole_folder
    from medebench.stamp import read_stamp, write_stamp

    if kind not in ("phantoms", "chest-phantoms"):
        raise InputError(f"'{kind}' cannot be made; there is: phantoms, chest-phantoms")
    out = out.expanduser().absolute()
    version = VERSION if kind == "phantoms" else CHEST_VERSION
    made_from = {"kind": kind, "count": count, "seed": seed, "version": version}
    complete = read_stamp(out, made_from) is not None
    if not complete:
        try:
            with whole_folder(out) as folder:
                _draw(kind, folder, count, seed, workers)
                write_stamp(folder, made_from)
        except OSError as error:
            raise unwritable(out, error) from error
    if as_json:
        print_json({"out": str(out), "count": count, "seed": seed, "already_complete": complete})
    else:
        say(f"{'already complete: ' if complete else ''}{count} phantoms in {out}")


def _draw(kind: str, out: Path, count: int, seed: int, workers: int | None) -> None:
    from medebench.cases.phantoms import write_phantoms
    from medebench.cases.phantoms.chest.write import write_chest_phantoms

    write = write_phantoms if kind == "phantoms" else write_chest_phantoms
    with progress_bar("drawing phantoms") as progress:
        write(out, count, seed, progress=lambda done: progress(done, count), workers=workers)
