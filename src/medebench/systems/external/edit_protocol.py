"""What a worker is told and what its answer means; docs/workers.md is the protocol's text."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from medebench.errors import ImageError, one_line
from medebench.images.picture import encode_png, read_picture
from medebench.outputs import Output
from medebench.systems.request import Refused, Request
from medebench.systems.returned_output import fit_answer
from medebench.workers.line_protocol import VERSION, whole

#: More than this, as JSON, a worker cannot put into the ledger beside one output.
LONGEST_DETAIL = 64_000


def describe(request: Request, instruction: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """All of a request but its pictures."""
    case = request.case.case
    return {
        "medebench": VERSION,
        "id": case.id,
        "k": request.k,
        "seed": request.seed,
        "instruction": instruction,
        "range": request.case.data_range,
        "settings": dict(settings),
    }


def demonstrated(request: Request) -> Iterator[tuple[bytes, bytes, str]]:
    """Before, after (PNG) and instruction of each case the worker is shown."""
    for shown in request.demonstrations:
        if shown.case.reference is not None:
            yield encode_png(shown.previous), encode_png(shown.reference), shown.case.prompt


def introduced(said: Mapping[str, Any]) -> dict[str, Any]:
    """Who the worker says it is, for the ledger."""
    given = {name: said.get(name) for name in ("name", "identity")}
    known = {
        name: one_line(whole(text), 200)
        for name, text in given.items()
        if isinstance(text, str) and text
    }
    return {"worker": known} if known else {}


def refuse_if_told(answer: Mapping[str, Any], more: Mapping[str, Any]) -> None:
    """Raise the worker's own refusal, if that is what it says."""
    if "refused" in answer:
        said = answer["refused"]
        reason = one_line(whole(said)) if isinstance(said, str) else ""
        raise Refused(
            reason or "the worker refused without a reason", {**more, **detail_of(answer)}
        )


def made(
    data: bytes, request: Request, answer: Mapping[str, Any], more: Mapping[str, Any]
) -> Output:
    """The edit, in the case's own size, with what is known of how it came about."""
    try:
        picture = read_picture(Path("the worker's picture"), data)
    except ImageError as error:
        raise Refused(str(error)) from error
    if request.demonstrations:
        more = {**more, "demonstrations": [one.case.id for one in request.demonstrations]}
    height, width = request.case.previous.shape[:2]
    try:
        fitted, sizes = fit_answer(picture, width, height)
    except Refused as refused:
        raise Refused(str(refused), {**more, **detail_of(answer), **refused.detail}) from None
    return Output(fitted, detail={**more, **detail_of(answer), **sizes})


def detail_of(answer: Mapping[str, Any]) -> dict[str, Any]:
    """What the worker wants to have in the ledger: under a key of its own, and bounded."""
    detail = answer.get("detail")
    if not isinstance(detail, dict) or not detail:
        return {}
    text = json.dumps(detail, ensure_ascii=False, allow_nan=False)
    if len(text) > LONGEST_DETAIL:
        return {"said": f"a detail of {len(text):,} characters, which is too long to keep"}
    return {"said": json.loads(whole(text))}
