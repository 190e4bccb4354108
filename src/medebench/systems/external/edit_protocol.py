"""What a worker is told and what its answer means; docs/workers.md is the protocol's text."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from medebench.errors import ImageError, one_line
from medebench.images.picture import encode_png, read_picture
from medebench.outputs import Output, Part
from medebench.systems.answer_prompts import question_facts, question_text
from medebench.systems.picture_frame import in_frame
from medebench.systems.request import Refused, Request
from medebench.workers.line_protocol import VERSION, whole

#: The first knows edits of one picture only; the second texts, choices and several pictures.
VERSIONS = (VERSION, VERSION + 1)
#: More than this, as JSON, a worker cannot put into the ledger beside one output.
LONGEST_DETAIL = 64_000


def version_for(request: Request) -> int:
    """The first version that can say all of a request."""
    case = request.case.case
    plain = tuple(request.gives) == ("image",) and not case.choices and not case.images
    return VERSIONS[0] if plain else VERSIONS[1]


def require_given(request: Request, gives: Sequence[Part]) -> None:
    """Refuse what the user did not say that it gives, before anybody is asked."""
    if lacking := [part for part in request.gives if part not in gives]:
        raise Refused(f"the case asks for {' and '.join(lacking)}, which needs gives=both or text")


def describe(
    request: Request, instruction: str, settings: Mapping[str, Any], version: int
) -> dict[str, Any]:
    """All of a request but its pictures."""
    case = request.case.case
    told: dict[str, Any] = {
        "medebench": version,
        "id": case.id,
        "k": request.k,
        "seed": request.seed,
        "instruction": instruction,
        "range": request.case.data_range,
        "settings": dict(settings),
    }
    if version == VERSIONS[0]:
        return told
    told |= {"gives": list(request.gives), "choices": list(case.choices)}
    return told | ({"asked": question_text(request)} if "text" in request.gives else {})


def pictures(request: Request) -> Iterator[tuple[str, bytes]]:
    """All input images by role, the first one being the one to edit, as PNG."""
    case = request.case
    yield from ((role, encode_png(case.image(role))) for role in case.case.inputs())


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
    data: bytes | None, request: Request, answer: Mapping[str, Any], more: Mapping[str, Any]
) -> Output:
    """The parts that were asked for, with what is known of how they came about."""
    if request.demonstrations:
        more = {**more, "demonstrations": [one.case.id for one in request.demonstrations]}
    detail = {**more, **detail_of(answer), **_noted(answer, request)}
    text = _text(answer, detail) if "text" in request.gives else None
    if "image" not in request.gives:
        return Output(text=text, detail=detail)
    if data is None:
        raise Refused("the worker gave no picture", detail)
    try:
        picture = read_picture(Path("the worker's picture"), data)
    except ImageError as error:
        raise Refused(str(error), detail) from error
    try:
        fitted, sizes = in_frame(picture, request)
    except Refused as refused:
        raise Refused(str(refused), {**detail, **refused.detail}) from None
    return Output(fitted, text, detail={**detail, **sizes})


def _text(answer: Mapping[str, Any], detail: dict[str, Any]) -> str:
    text = answer.get("text")
    if not isinstance(text, str):
        raise Refused("the worker gave no text", detail)
    if not text.strip():
        raise Refused("the worker answered with nothing", detail)
    return whole(text)


def _noted(answer: Mapping[str, Any], request: Request) -> dict[str, Any]:
    """What an answer says of itself, and what was asked."""
    told: dict[str, Any] = {}
    if "text" in request.gives:
        told |= question_facts(request, question_text(request))
        told |= {"finish": "length", "truncated": True} if answer.get("truncated") is True else {}
    return told | ({"input_shown": False} if answer.get("input_shown") is False else {})


def detail_of(answer: Mapping[str, Any]) -> dict[str, Any]:
    """What the worker wants to have in the ledger: under a key of its own, and bounded."""
    detail = answer.get("detail")
    if not isinstance(detail, dict) or not detail:
        return {}
    text = json.dumps(detail, ensure_ascii=False, allow_nan=False)
    if len(text) > LONGEST_DETAIL:
        return {"said": f"a detail of {len(text):,} characters, which is too long to keep"}
    return {"said": json.loads(whole(text))}
