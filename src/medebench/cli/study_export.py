from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from medebench.cli.common import Json, guarded, print_json, say
from medebench.cli.study_serve import Database, StudyFolder


@guarded
def export(
    study: StudyFolder,
    out: Annotated[Path, typer.Option(help="The CSV file.")],
    database: Database = None,
    as_json: Json = False,
) -> None:
    """Write the rankings as CSV, a row for each annotator, case, dimension and model.

    `medebench study results` reads such a file as well.

    Example: medebench study export study --out rankings.csv
    """
    from medebench.study import export_rankings, open_study

    rows = export_rankings(open_study(study), out, database)
    if as_json:
        print_json({"rows": rows, "file": str(out)})
    else:
        say(f"{rows:,} ranks: {out}")
