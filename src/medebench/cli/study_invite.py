from __future__ import annotations

from typing import Annotated

import typer

from medebench.cli.common import Json, guarded, print_json, print_line, say
from medebench.cli.study_serve import Database, StudyFolder
from medebench.errors import InputError


@guarded
def invite(
    study: StudyFolder,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help="Annotators, or admin; default: all who never had a link.", metavar="NAME"
        ),
    ] = None,
    revoke: Annotated[
        bool, typer.Option("--revoke", help="End their links and sessions, make no new ones.")
    ] = False,
    origin: Annotated[
        str, typer.Option(help="How browsers reach the server: https://study.example.org.")
    ] = "http://127.0.0.1:8765",
    database: Database = None,
    as_json: Json = False,
) -> None:
    """Make new personal links; the old ones stop working.

    Example: medebench study invite study annotator-1
    """
    from medebench.study import open_study
    from medebench.study.server.security import read_origin
    from medebench.study.server.store import open_store

    # Before anybody's old link ends.
    base = read_origin(origin)
    opened = open_study(study)
    if revoke and not names:
        raise InputError("--revoke: name those whose links shall end")
    with open_store(opened, database) as store:
        # All names first: one that is wrong must not come after links that have ended.
        if unknown := [name for name in names or [] if name not in store.everybody]:
            raise InputError(f"{unknown[0]}: nobody of this name; {', '.join(store.everybody)}")
        if revoke:
            for name in names or []:
                store.revoke(name)
            say(f"revoked: {', '.join(names or [])}")
            return
        chosen = names or store.never_invited()
        links = {name: f"{base}/join#{store.invite(name)}" for name in chosen}
    if as_json:
        print_json(links)
        return
    for name, link in links.items():
        print_line(f"{name}: {link}")
    if not links:
        say("everybody has had a link; name those who need a new one")
