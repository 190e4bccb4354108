"""Editors, and the registry that finds them by name."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from medebench.editors.base import BatchEditor, Edit, Editor, NotTried, Refused, Request, case_seed
from medebench.errors import InputError, MedebenchError, NotReadyError
from medebench.registry import Registry
from medebench.settings import (
    ARGUMENT,
    Settings,
    read_settings,
    split_call,
    split_name,
    split_own,
)

EDITORS = Registry(
    "editor",
    "medebench.editors",
    {
        "identity": "medebench.editors.controls:Identity",
        "reference": "medebench.editors.controls:Reference",
        "blur": "medebench.editors.controls:Blur",
        "noise": "medebench.editors.controls:Noise",
        "inpaint": "medebench.editors.controls:Inpaint",
        "phantom-editor": "medebench.editors.diffusion.presets:PhantomEditor",
        "instruct-pix2pix": "medebench.editors.diffusion.presets:InstructPix2Pix",
        "paint-by-inpaint": "medebench.editors.diffusion.presets:PaintByInpaint",
        "instruct-diffusion": "medebench.editors.diffusion.presets:InstructDiffusion",
        "imagic": "medebench.editors.imagic.editor:Imagic",
        "radedit": "medebench.editors.radedit.editor:RadEdit",
        "chest-editor": "medebench.editors.radedit.chest:ChestEditor",
        "icedit": "medebench.editors.diffusion.icedit:ICEdit",
        "seed-x": "medebench.editors.external.seedx:SeedX",
        "flux-kontext": "medebench.editors.diffusion.presets:FluxKontext",
        "qwen-image-edit": "medebench.editors.diffusion.presets:QwenImageEdit",
        "diffusers": "medebench.editors.diffusion.family:DiffusionEditor",
        "gemini": "medebench.editors.api.gemini:GeminiEditor",
        "openai-image": "medebench.editors.api.openai_image:OpenAIImageEditor",
        "command": "medebench.editors.external.command:CommandEditor",
        "http": "medebench.editors.external.http:HttpEditor",
        "composed": "medebench.editors.wrapping.composed:Composed",
        "refine": "medebench.editors.wrapping.refine:Refine",
    },
)


@dataclass(frozen=True)
class Chosen:
    """An editor as the user asked for it: its name, its settings in full, the thing itself."""

    name: str
    settings: dict[str, Any]
    #: Settings that do not change the pictures.
    how: dict[str, Any]
    #: Tells this editor from another of the same name; empty for built-in ones.
    origin: str
    editor: Editor
    control: bool
    sees: tuple[str, ...]

    @property
    def judged_by(self) -> str:
        """The judge that looks at outputs while they are made, if one does."""
        return str(getattr(self.editor, "judged_by", ""))

    def problems(self) -> list[str]:
        """What stands in the editor's way on this machine, a line each, with what to do."""
        ask = getattr(self.editor, "problems", None)
        return list(ask()) if callable(ask) else []

    def lacks(self) -> list[str]:
        """The same, for a message that does not name the editor otherwise."""
        return [f"editor '{self.name}': {one}" for one in self.problems()]

    def identity(self) -> str:
        """What tells the editor's weights from others, where it has any."""
        ask = getattr(self.editor, "identity", None)
        return str(ask()) if callable(ask) else ""

    def prepare(self) -> None:
        """Load what the editor needs; wrong weights or settings show here."""
        ask = getattr(self.editor, "prepare", None)
        if callable(ask):
            ask()

    def share(self, other: Chosen) -> bool:
        """Use what another editor has loaded, where both would load the same."""
        ask = getattr(self.editor, "share", None)
        return bool(callable(ask) and ask(other.editor))

    def close(self) -> None:
        """Let go of what the editor holds: a worker, connections."""
        ask = getattr(self.editor, "close", None)
        if callable(ask):
            ask()

    def require_ready(self) -> None:
        """Before any work: nothing is written for an editor that cannot run."""
        if found := self.lacks():
            raise NotReadyError("\n".join(found))


def find_editor(call: str, given: dict[str, Any] | None = None) -> Chosen:
    """`NAME[:key=value,...]` (and `given`, from a plan), checked and made ready."""
    name, rest = split_name(call)
    kind = EDITORS.find(name)
    if not callable(getattr(kind, "edit", None)):
        raise InputError(f"editor '{name}': has no method edit(request)")
    model = getattr(kind, "Settings", Settings)
    settings: dict[str, Any]
    if takes_rest := getattr(kind, "rest", None):
        settings, whole = split_own(rest, model.model_fields)
        settings |= {takes_rest: whole} if whole else {}
    else:
        settings = _settings(call, getattr(kind, "argument", None), model.model_fields)
    _check_named(name, kind, model, settings | (given or {}))
    checked = read_settings(model, {**settings, **(given or {})}, f"editor '{name}'")
    try:
        editor = kind(checked)
    except MedebenchError as error:
        if late := _late(kind, model, settings | (given or {})):
            raise InputError(f"{error} (settings of '{name}', as {late}=…, come first)") from error
        raise
    except Exception as error:
        raise InputError(f"editor '{name}': {type(error).__name__}: {error}") from error
    dumped = checked.model_dump(mode="json")
    aside: frozenset[str] = getattr(model, "how", frozenset())
    kept = {name: value for name, value in dumped.items() if name not in aside}
    how = {name: value for name, value in dumped.items() if name in aside}
    # One around another editor says what is written of that one.
    if callable(tell := getattr(editor, "written_inner", None)):
        inner, how["inner"] = tell()
        kept |= inner
    return Chosen(
        name=name.rpartition(":")[2] if ".py:" in name else name,
        settings=kept,
        how=how,
        origin=EDITORS.origin(name),
        editor=editor,
        control=bool(getattr(kind, "control", False)),
        sees=tuple(getattr(editor, "sees", ())),
    )


def _check_named(name: str, kind: Any, model: type[Settings], given: dict[str, Any]) -> None:
    """What must be named is asked for with an example; settings after the rest are pointed out."""
    example = getattr(kind, "example", "")
    lacking = [key for key, one in model.model_fields.items() if one.is_required()]
    lacking = [key for key in lacking if given.get(key) in (None, "")]
    if lacking and example:
        article = "an" if lacking[0][0] in "aeio" else "a"
        raise InputError(f"editor '{name}': name {article} {lacking[0]}, such as {example}")
    if (late := _late(kind, model, given)) and not hasattr(kind, "written_inner"):
        raise InputError(f"editor '{name}': settings come first; move {late}=… to the front")


def _late(kind: Any, model: type[Settings], given: dict[str, Any]) -> str:
    """A setting of the editor's own behind what stays whole, where it is not read."""
    rest = str(given.get(getattr(kind, "rest", ""), ""))
    return next((key for key in model.model_fields if f",{key}=" in rest), "")


def _settings(call: str, argument: str | None, known: Collection[str]) -> dict[str, Any]:
    _, given = split_call(call, argument=True)
    if ARGUMENT not in given:
        return dict(given)
    value = given.pop(ARGUMENT)
    if argument is None:
        raise InputError(f"'{call}': expected name:key=value,key=value, found '{value}'")
    if value in known and value != argument:
        raise InputError(f"'{call}': {value} needs a value, as in {value}=…")
    return {argument: value, **given}


__all__ = [
    "EDITORS",
    "BatchEditor",
    "Chosen",
    "Edit",
    "Editor",
    "NotTried",
    "Refused",
    "Request",
    "Settings",
    "case_seed",
    "find_editor",
]
