"""`editors`: what is there, whether it is ready here, and what can be set."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated, Any

import typer

from medebench.cli.common import Json, guarded, print_json, print_line, print_table
from medebench.cli.listing import show_rows

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic.fields import FieldInfo


@guarded
def editors(
    name: Annotated[str | None, typer.Argument(help="One editor, with all it can be told.")] = None,
    as_json: Json = False,
) -> None:
    """List the editors, what each needs, and whether it is ready on this machine.

    Examples:

        medebench editors

        medebench editors instruct-pix2pix
    """
    from medebench.editors import EDITORS

    if name is not None:
        facts = _facts(name)
        return print_json(facts) if as_json else _print_one(facts)
    rows = [_facts(one) for one in EDITORS.names()]
    if as_json:
        return print_json(rows)
    shown = [
        {
            "editor": row["editor"],
            "what it is": row["summary"],
            "needs": row["needs"],
            "ready here": _short(row),
        }
        for row in rows
    ]
    show_rows(shown)
    print_line("One of them, with all its settings and a command to copy: medebench editors NAME")
    return None


def _facts(name: str) -> dict[str, Any]:
    from medebench.editors import EDITORS

    kind = EDITORS.find(name)
    fields = _model(kind).model_fields
    problems = _problems(name, kind)
    return {
        "editor": name,
        "kind": "control" if getattr(kind, "control", False) else "model",
        "sees": ["image", "instruction", *getattr(kind, "sees", ())],
        "settings": {one: _default(info) for one, info in fields.items()},
        "required": [one for one, info in fields.items() if info.is_required()],
        "described": {one: info.description or "" for one, info in fields.items()},
        "values": {one: _values(info) for one, info in fields.items()},
        "needs": getattr(kind, "needs", "nothing"),
        "ready": not problems,
        "problems": problems,
        "summary": getattr(kind, "summary", ""),
    }


def _model(kind: Any) -> type[BaseModel]:
    from medebench.settings import Settings

    model: type[BaseModel] = getattr(kind, "Settings", Settings)
    return model


def _problems(name: str, kind: Any) -> list[str]:
    """Asked of editors that can tell; others may load their model when they are made.

    One that must be told more than its name is asked as in its example.
    """
    from medebench.editors import find_editor
    from medebench.errors import MedebenchError

    required = any(info.is_required() for info in _model(kind).model_fields.values())
    if required and not getattr(kind, "example", ""):
        return [f"must be told more; for instance {_example_call(name)}"]
    if not callable(getattr(kind, "problems", None)):
        return []
    try:
        return find_editor(shlex.split(_example_call(name))[0] if required else name).problems()
    except MedebenchError as error:
        return [str(error)]
    except Exception as error:
        return [f"{type(error).__name__}: {error}"]


def _short(facts: dict[str, Any]) -> str:
    if facts["problems"]:
        return "no: " + "; ".join(one.partition("; ")[0] for one in facts["problems"])
    if not facts["required"]:
        return "yes"
    first = facts["required"][0]
    return f"yes; name {'an' if first[0] in 'aeio' else 'a'} {first}"


def _default(info: FieldInfo) -> Any:
    return None if info.is_required() else info.get_default(call_default_factory=True)


def _text(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, float):
        return f"{value:g}"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _values(info: FieldInfo) -> str:
    """What may be given, in words: `1 to 1000`, `a | b`, `text`."""
    from typing import Literal, get_args, get_origin

    kinds = [
        one for one in (get_args(info.annotation) or (info.annotation,)) if one is not type(None)
    ]
    if get_origin(info.annotation) is Literal:
        return " | ".join(map(str, get_args(info.annotation)))
    if len(kinds) == 1 and get_origin(kinds[0]) is Literal:
        return " | ".join(map(str, (*get_args(kinds[0]), "none")))
    if get_origin(info.annotation) is dict:
        return "JSON"
    if kinds == [bool]:
        return "true | false"
    if kinds == [int] or kinds == [float]:
        limits = {type(one).__name__: one for one in info.metadata}
        low = next((getattr(limits[k], k.lower()) for k in ("Ge", "Gt") if k in limits), None)
        high = next((getattr(limits[k], k.lower()) for k in ("Le", "Lt") if k in limits), None)
        if low is not None and high is not None:
            return f"{'above ' if 'Gt' in limits else ''}{low} to {high}"
        if low is None:
            return "a number"
        return f"above {low:g}" if "Gt" in limits else f"{low} or more"
    return "text" if kinds == [str] else ""


def _example_call(name: str) -> str:
    from medebench.editors import EDITORS

    kind = EDITORS.find(name)
    if example := getattr(kind, "example", ""):
        return str(example)
    fields = _model(kind).model_fields
    required = [one for one, info in fields.items() if info.is_required()]
    if required:
        return f"{name}:{','.join(f'{one}=…' for one in required)}"
    free = next((one for one in ("steps", *fields) if one in fields), None)
    return name if free is None else f"{name}:{free}={_text(_default(fields[free]))}"


def _print_one(facts: dict[str, Any]) -> None:
    from rich import box
    from rich.table import Table

    name = facts["editor"]
    print_line(f"{name} ({facts['kind']}): {facts['summary']}")
    print_line(f"sees: {', '.join(facts['sees'])}")
    print_line(f"needs: {facts['needs']}")
    asked = f" (as {_example_call(name)})" if facts["required"] else ""
    for line in facts["problems"] or ["yes"]:
        print_line(f"ready here: {line if facts['ready'] else f'no, {line}'}{asked}")
    if facts["settings"]:
        table = Table(box=box.SIMPLE_HEAD)
        for column in ("setting", "default", "may be", "what it is"):
            table.add_column(column)
        for one, default in facts["settings"].items():
            shown = "(to be named)" if one in facts["required"] else _text(default) or "-"
            table.add_row(one, shown, facts["values"][one], facts["described"][one])
        print_table(table)
    short = name.rpartition(":")[2] if ".py:" in name else name
    print_line(f"medebench edit phantoms --editor {_example_call(name)} --out runs/{short}")
