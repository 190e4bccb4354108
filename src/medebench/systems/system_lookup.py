"""Systems by name, and one as the user asked for it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from medebench.errors import InputError, MedebenchError, NotReadyError
from medebench.models import PROVIDERS, Provider
from medebench.models.model_lookup import find_provider
from medebench.registry import Registry
from medebench.settings import (
    ARGUMENT,
    Settings,
    read_settings,
    split_call,
    split_name,
    split_own,
)
from medebench.systems.capabilities import as_system, noun, verb, writes
from medebench.systems.request import Request
from medebench.systems.system import System
from medebench.systems.system_folder import SystemFolder, system_folder

SYSTEMS = Registry(
    "system",
    "medebench.systems",
    {
        "identity": "medebench.systems.controls:Identity",
        "reference": "medebench.systems.controls:Reference",
        "blur": "medebench.systems.controls:Blur",
        "noise": "medebench.systems.controls:Noise",
        "inpaint": "medebench.systems.controls:Inpaint",
        "filter-restorer": "medebench.systems.filter_restorer:FilterRestorer",
        "blank": "medebench.systems.controls:Blank",
        "empty-text": "medebench.systems.text_controls:EmptyText",
        "repeat-question": "medebench.systems.text_controls:RepeatQuestion",
        "random-choice": "medebench.systems.text_controls:RandomChoice",
        "most-frequent": "medebench.systems.text_controls:MostFrequent",
        "other-answer": "medebench.systems.text_controls:OtherAnswer",
        "instruct-pix2pix": "medebench.systems.diffusion.presets:InstructPix2Pix",
        "paint-by-inpaint": "medebench.systems.diffusion.presets:PaintByInpaint",
        "instruct-diffusion": "medebench.systems.diffusion.presets:InstructDiffusion",
        "imagic": "medebench.systems.imagic.imagic_editor:Imagic",
        "radedit": "medebench.systems.radedit.radedit_editor:RadEdit",
        "icedit": "medebench.systems.diffusion.icedit:ICEdit",
        "seed-x": "medebench.systems.external.seedx:SeedX",
        "flux-kontext": "medebench.systems.diffusion.presets:FluxKontext",
        "flux2": "medebench.systems.diffusion.presets:Flux2",
        "qwen-image-edit": "medebench.systems.diffusion.presets:QwenImageEdit",
        "diffusers": "medebench.systems.diffusion.diffusion_editor:DiffusionEditor",
        "openai": "medebench.systems.api.chat_system:OpenAIChat",
        "anthropic": "medebench.systems.api.chat_system:AnthropicChat",
        "gemini": "medebench.systems.api.gemini_editor:GeminiEditor",
        "openai-image": "medebench.systems.api.openai_editor:OpenAIImageEditor",
        "transformers": "medebench.systems.local.vlm_system:LocalVlm",
        "command": "medebench.systems.external.command_editor:CommandEditor",
        "http": "medebench.systems.external.http_editor:HttpEditor",
        "composed": "medebench.systems.composed.composed_editor:Composed",
        "refine": "medebench.systems.composed.refine_editor:Refine",
        "circular": "medebench.systems.composed.circular_system:Circular",
        "paired": "medebench.systems.paired:Paired",
    },
    former_group="medebench.editors",
)


@dataclass(frozen=True)
class SystemInstance:
    """A system as the user asked for it: its name, its settings in full, the thing itself."""

    name: str
    settings: dict[str, Any]
    #: Settings that do not change the outputs.
    runtime_only: dict[str, Any]
    #: Tells this system from another of the same name; empty for built-in ones.
    origin: str
    system: System

    @property
    def noun(self) -> str:
        return noun(type(self.system))

    @property
    def is_batched(self) -> bool:
        """Whether it owns a device."""
        kind = type(self.system)
        return self.system.batch is not None and writes(kind, f"{verb(kind)}_batch")

    def generate(self, request: Request) -> Any:
        """What the system makes of it, whatever that is."""
        return getattr(self.system, verb(type(self.system)))(request)

    def generate_batch(self, requests: Sequence[Request]) -> Sequence[Any]:
        made: Sequence[Any] = getattr(self.system, f"{verb(type(self.system))}_batch")(requests)
        return made

    def lacks(self) -> list[str]:
        """What stands in its way here, for a message that does not name the system otherwise."""
        return [f"{self.noun} '{self.name}': {one}" for one in self.system.problems()]

    def require_ready(self) -> None:
        """Before any work: nothing is written for a system that cannot run."""
        if found := self.lacks():
            raise NotReadyError("\n".join(found))


def system_class(name: str) -> type[System]:
    """The class called `name`, with the base and its defaults behind it.

    A provider of models is a system that answers, under the provider's name. A folder is the system
    that its `system.json` names.
    """
    if folder := _folder(name):
        return _folder_class(folder)
    if ".py:" not in name and name not in SYSTEMS and name in PROVIDERS:
        return _answering(name)
    found = SYSTEMS.find(name)
    if isinstance(found, type) and issubclass(found, Provider):
        return _answering(name)
    return as_system(name, found)


def _answering(name: str) -> type[System]:
    from medebench.systems.api.chat_system import provider_system

    return provider_system(name)


def find_system(call: str, given: dict[str, Any] | None = None) -> SystemInstance:
    """`NAME[:key=value,...]` (and `given`, from a plan), checked and made ready."""
    name, rest = split_name(call)
    folder = _folder(name)
    kind = system_class(name)
    model, called = kind.Settings, f"{noun(kind)} '{name}'"
    settings: dict[str, Any]
    if kind.rest:
        settings, whole = split_own(rest, model.model_fields)
        settings |= {kind.rest: whole} if whole else {}
    else:
        settings = _settings(call, kind.argument, model.model_fields)
    settings |= given or {}
    if folder:
        settings = _within(folder, settings)
    late = _check_named(called, kind, settings)
    checked = read_settings(model, settings, called)
    try:
        system = kind(checked)
    except MedebenchError as error:
        if late:
            raise InputError(f"{error} (settings of '{name}', as {late}=…, come first)") from error
        raise
    except Exception as error:
        raise InputError(f"{called}: {type(error).__name__}: {error}") from error
    dumped = checked.model_dump(mode="json")
    runtime = {one for old in ("runtime_only", "how") for one in getattr(model, old, ())}
    runtime_or_new = runtime | _untouched(checked)
    kept = {key: value for key, value in dumped.items() if key not in runtime_or_new}
    aside = {key: value for key, value in dumped.items() if key in runtime}
    # One around another system says what is written of that one.
    if (told := system.written_inner()) is not None:
        kept, aside["inner"] = kept | told[0], told[1]
    if folder:
        # The folder may be moved; what is in it is told from others by its content.
        kept |= {one: folder.settings[one] for one in folder.files if one in kept}
        return SystemInstance(folder.path.name, kept, aside, f"from {folder.system}", system)
    short = name.rpartition(":")[2] if ".py:" in name else name
    origin = SYSTEMS.origin(name) if ".py:" in name or name in SYSTEMS else PROVIDERS.origin(name)
    return SystemInstance(short, kept, aside, origin, system)


def set_by_name(name: str) -> dict[str, Any]:
    """Settings that the name alone decides: those of a folder."""
    folder = _folder(name)
    return dict(folder.settings) if folder else {}


def _folder(name: str) -> SystemFolder | None:
    """Built-in names cannot be taken over by a folder: that one is named ./name."""
    return None if name in SYSTEMS or name in PROVIDERS else system_folder(name)


def _folder_class(folder: SystemFolder) -> type[System]:
    if _folder(folder.system):
        raise InputError(f"{folder.path}: names another folder, {folder.system}; name a system")
    found = system_class(folder.system)
    if found.rest:
        raise InputError(f"{folder.path}: '{folder.system}' has a system inside; name it yourself")
    return found


def _within(folder: SystemFolder, settings: dict[str, Any]) -> dict[str, Any]:
    """A folder's settings and those given besides; what lies in it cannot be given otherwise."""
    for one in folder.files:
        if one in settings:
            raise InputError(f"{folder.path}: {one}: is the folder's own; leave it out")
    return folder.given() | settings


def system_names() -> list[str]:
    """All systems, providers of other packages among them."""
    words = [one for one in PROVIDERS.names() if "text" in find_provider(one).gives]
    return list(dict.fromkeys([*SYSTEMS.names(), *words]))


def _untouched(checked: Settings) -> set[str]:
    """Settings that older runs do not have, where they change nothing."""
    fields = type(checked).model_fields
    return {one for one in checked.later if getattr(checked, one) == fields[one].default}


def _check_named(called: str, kind: type[System], given: dict[str, Any]) -> str:
    """What must be named is asked for with an example; gives a setting that comes too late.

    That is one of the system's own behind what stays whole, where it is not read.
    """
    fields = kind.Settings.model_fields
    lacking = [key for key, one in fields.items() if one.is_required()]
    lacking = [key for key in lacking if given.get(key) in (None, "")]
    if lacking and kind.example:
        article = "an" if lacking[0][0] in "aeio" else "a"
        raise InputError(f"{called}: name {article} {lacking[0]}, such as {kind.example}")
    whole = str(given.get(kind.rest, "")) if kind.rest else ""
    late = next((key for key in fields if f",{key}=" in whole), "")
    if late and not writes(kind, "written_inner"):
        raise InputError(f"{called}: settings come first; move {late}=… to the front")
    return late


def _settings(call: str, argument: str, known: Collection[str]) -> dict[str, Any]:
    _, given = split_call(call, argument=True)
    if ARGUMENT not in given:
        return dict(given)
    value = given.pop(ARGUMENT)
    if not argument:
        raise InputError(f"'{call}': expected name:key=value,key=value, found '{value}'")
    if value in known and value != argument:
        raise InputError(f"'{call}': {value} needs a value, as in {value}=…")
    return {argument: value, **given}
