from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from medebench.cli.console import guarded, print_line, say

StudyFolder = Annotated[Path, typer.Argument(help="Study folder.", metavar="STUDY")]
Database = Annotated[
    str | None,
    typer.Option(
        envvar="MEDEBENCH_DATABASE",
        help="postgresql://user:password@host/name; default: SQLite in the study's folder.",
        metavar="URL",
    ),
]
Origin = Annotated[
    str | None, typer.Option(help="Public address, if behind a proxy: https://study.example.org.")
]


@guarded
def serve(
    study: StudyFolder,
    host: Annotated[
        str,
        typer.Option(help="Address to listen on; anything but 127.0.0.1 is open to the network."),
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 = any free port.")] = 8765,
    database: Database = None,
    origin: Origin = None,
) -> None:
    """Let annotators rank in the browser.

    The first time it prints a personal link for each annotator and one for the administrator;
    afterwards those links stay valid, and `medebench study invite` makes new ones. Ctrl-C stops
    the server; the same command continues.

    Example: medebench study serve study
    """
    from medebench.study import open_study
    from medebench.study.server.answer_store import open_store
    from medebench.study.server.security import read_origin
    from medebench.study.server.serve import UNKNOWN, warning
    from medebench.study.server.serve import serve as start

    opened = open_study(study)
    outside = read_origin(origin) if origin is not None else None
    with open_store(opened, database) as store:
        uninvited = store.never_invited()
    began = []

    def tell(url: str) -> None:
        base = outside or url
        began.append(base)
        if uninvited:
            with open_store(opened, database) as store:
                links = {name: f"{base}/join#{store.invite(name)}" for name in uninvited}
            print_line("Personal links, shown this once (they are stored only as hashes):")
            for name, link in links.items():
                print_line(f"  {name}: {link}")
        else:
            folder = shlex.quote(str(study))
            say(f"everybody has a link; `medebench study invite {folder} NAME` makes a new one")
        if UNKNOWN in base:
            say(f"replace {UNKNOWN} with the name or address of this machine")
        say(f"{opened.design.title}: {base}/ (Ctrl-C ends it)")

    if words := warning(host, outside):
        say(f"warning: {words}")
    start(opened, host=host, port=port, database=database, origin=outside, on_ready=tell)
    if began:
        say("stopped; all saved answers are kept")
