from __future__ import annotations

from typing import Annotated

import typer

from medebench.cli.console import Json, guarded, print_json, print_line, say
from medebench.cli.study_serve import Database, StudyFolder
from medebench.errors import InputError


@guarded
def invite(
    study: StudyFolder,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help="Annotators, or admin; default: everyone who never had a link.", metavar="NAME"
        ),
    ] = None,
    revoke: Annotated[
        bool, typer.Option("--revoke", help="Revoke their links and sessions; issue none.")
    ] = False,
    origin: Annotated[
        str, typer.Option(help="Public address of the server: https://study.example.org.")
    ] = "http://127.0.0.1:8765",
    database: Database = None,
    as_json: Json = False,
) -> None:
    """Create new personal links; the old ones stop working.

    Example: medebench study invite study annotator-1
    """
    from medebench.study import open_study
    from medebench.study.server.answer_store import open_store
    from medebench.study.server.security import read_origin

    # Before anybody's old link ends.
    base = read_origin(origin)
    opened = open_study(study)
    if revoke and not names:
        raise InputError("--revoke: name the people whose links to revoke")
    with open_store(opened, database) as store:
        # All names first: one that is wrong must not come after links that have ended.
        if unknown := [name for name in names or [] if name not in store.everybody]:
            raise InputError(
                f"{unknown[0]}: nobody has this name; there are {', '.join(store.everybody)}"
            )
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
        say("everybody already has a link; name those who need a new one")
