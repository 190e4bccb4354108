"""`systems`, `editors`: what is there, whether it is ready here, and what can be set."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from medebench.cli.console import Json, guarded, print_json, print_line, print_table
from medebench.cli.listing_commands import show_rows

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

Named = Annotated[str | None, typer.Argument(help="Show this one with all its settings.")]


@guarded
def systems(name: Named = None, as_json: Json = False) -> None:
    """List the systems: what each gives and needs, and whether it is ready on this machine.

    A folder with a system.json, such as a trained adapter, is a system that is named by its path.

    Examples:

        medebench systems

        medebench systems instruct-pix2pix

        medebench systems path/to/adapter
    """
    _show("system", name, as_json)


@guarded
def editors(name: Named = None, as_json: Json = False) -> None:
    """List the editors, which are the systems that edit images.

    Examples:

        medebench editors

        medebench editors instruct-pix2pix
    """
    _show("editor", name, as_json)


def _show(noun: str, name: str | None, as_json: bool) -> None:
    from medebench.systems import Editor, system_class
    from medebench.systems.system_lookup import system_names

    if name is not None:
        facts = _facts(noun, name)
        return print_json(facts) if as_json else _print_one(noun, facts)
    names = system_names()
    if noun == "editor":
        names = [one for one in names if issubclass(system_class(one), Editor)]
    rows = [_facts(noun, one) for one in names]
    if as_json:
        return print_json(rows)
    columns = {noun: noun, "what it is": "summary", "gives": "gives", "needs": "needs"}
    if noun == "editor":
        del columns["gives"]
    show_rows(
        [
            {**{head: row[key] for head, key in columns.items()}, "ready here": _short(row)}
            for row in rows
        ]
    )
    print_line(f"One of them, with all its settings and a command to copy: medebench {noun}s NAME")
    return None


def _facts(noun: str, name: str) -> dict[str, Any]:
    from medebench.systems import system_class
    from medebench.systems.system_list import system_problems
    from medebench.systems.system_lookup import set_by_name

    kind, told = system_class(name), set_by_name(name)
    fields = kind.Settings.model_fields
    problems = system_problems(name, kind)
    return {
        noun: name,
        "kind": "control" if kind.control else "model",
        "gives": list(kind.gives),
        "sees": ["image", "instruction", *kind.sees],
        "settings": {one: told.get(one, _default(info)) for one, info in fields.items()},
        "required": [one for one, info in fields.items() if info.is_required() and one not in told],
        "described": {one: info.description or "" for one, info in fields.items()},
        "values": {one: _values(info) for one, info in fields.items()},
        "needs": kind.needs,
        "ready": not problems,
        "problems": problems,
        "summary": kind.summary,
    }


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

    if get_origin(info.annotation) is Literal:
        return " | ".join(map(str, get_args(info.annotation)))
    if get_origin(info.annotation) is dict:
        return "JSON"
    kinds = set(get_args(info.annotation) or (info.annotation,)) - {type(None)}
    kind = kinds.pop() if len(kinds) == 1 else None
    if get_origin(kind) is Literal:
        return " | ".join(map(str, (*get_args(kind), "none")))
    if kind not in (int, float):
        return "true | false" if kind is bool else "text" if kind is str else ""
    names = ("ge", "gt", "le", "lt")
    limits = {n: getattr(one, n) for one in info.metadata for n in names if hasattr(one, n)}
    low, high = limits.get("ge", limits.get("gt")), limits.get("le", limits.get("lt"))
    if low is None:
        return "a number"
    if high is not None:
        return f"{'above ' if 'gt' in limits else ''}{low} to {high}"
    return f"above {low:g}" if "gt" in limits else f"{low} or more"


def _example_call(name: str) -> str:
    from medebench.systems import system_class
    from medebench.systems.system_lookup import set_by_name

    kind = system_class(name)
    if set_by_name(name):
        return name
    if kind.example:
        return kind.example
    fields = kind.Settings.model_fields
    required = [one for one, info in fields.items() if info.is_required()]
    if required:
        return f"{name}:{','.join(f'{one}=…' for one in required)}"
    free = next((one for one in ("steps", *fields) if one in fields), None)
    return name if free is None else f"{name}:{free}={_text(_default(fields[free]))}"


def _print_one(noun: str, facts: dict[str, Any]) -> None:
    from rich import box
    from rich.table import Table

    name = facts[noun]
    print_line(f"{name} ({facts['kind']}): {facts['summary']}")
    print_line(f"gives: {', '.join(facts['gives'])}")
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
    short = name.rpartition(":")[2] if ".py:" in name else Path(name).name
    command = "edit phantoms --editor" if noun == "editor" else "generate CASES --system"
    print_line(f"medebench {command} {_example_call(name)} --out runs/{short}")
