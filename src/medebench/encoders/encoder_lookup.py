"""Which encoder is meant: a known name, a hub id, or a folder whose files tell its kind."""

from __future__ import annotations

import difflib
import importlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from medebench.encoders.dual import DualEncoder, SingleEncoder
from medebench.encoders.encoder import Encoder
from medebench.encoders.local_encoder import read_config
from medebench.encoders.medclip import is_medclip
from medebench.entry import Entry
from medebench.errors import InputError
from medebench.registry import Registry
from medebench.weights import need_weights
from medebench.weights.hub_cache import is_hub_id
from medebench.weights.known_weights import known_as

_DUAL = "medebench.encoders.dual:DualEncoder"
_SINGLE = "medebench.encoders.dual:SingleEncoder"
_OPEN_CLIP = "medebench.encoders.open_clip:OpenClipEncoder"
_MEDCLIP = "medebench.encoders.medclip:MedClipEncoder"
_BIOVIL = "medebench.encoders.biovil:BioVilEncoder"
_INCEPTION = "medebench.encoders.inception:InceptionEncoder"


@dataclass(frozen=True)
class EncoderKind:
    """What an encoder is, and the class that makes it; imported when it is asked for."""

    target: str
    summary: str
    #: Whether it reads texts.
    texts: bool = True
    #: What its weights are called, where that is another name: `builtin:NAME` of a package.
    weights: str = ""


#: By the names their weights have; the class is called with weights, name, device and batch.
_BUILTIN = {
    "clip-vit-l14": EncoderKind(_DUAL, "OpenAI CLIP ViT-L/14, as in the MedEBench paper"),
    "clip-vit-b32": EncoderKind(_DUAL, "OpenAI CLIP ViT-B/32"),
    "biomedclip": EncoderKind(_OPEN_CLIP, "CLIP trained on figures of medical articles"),
    "medclip": EncoderKind(_MEDCLIP, "CLIP trained on chest X-rays"),
    "biovil-t": EncoderKind(_BIOVIL, "chest X-rays and their reports"),
    "rad-dino": EncoderKind(_SINGLE, "DINOv2 trained on chest X-rays", texts=False),
    "inception": EncoderKind(_INCEPTION, "Inception of the original FID", texts=False),
}
#: An entry point of another package loads an EncoderKind.
ENCODERS = Registry("encoder", "medebench.encoders", _BUILTIN)
DEFAULT = "clip-vit-l14"

#: Files that only models of one kind have.
_MARKS = {
    "biovil_t_image_model_proj_size_128.pt": _BIOVIL,
    "open_clip_config.json": _OPEN_CLIP,
    "open_clip_*.safetensors": _OPEN_CLIP,
    "open_clip_*.bin": _OPEN_CLIP,
}


def find_encoder(
    spec: str | None = None, device: str = "auto", batch: int | None = None
) -> Encoder:
    """The encoder called `spec`, by default the paper's; whether it is ready says `problem()`.

    InputError for what cannot be one, NotReadyError for a model that is not on this machine.
    """
    spec = spec or DEFAULT
    name = encoder_name(spec)
    if known := _known(spec):
        kind: EncoderKind = ENCODERS.find(known)
        return _make(kind.target, kind.weights or known, name, device, batch)
    found = need_weights(spec)
    if not found.path.is_dir():
        raise InputError(f"encoder '{spec}': is a file; pass the model's folder")
    return _make(_kind(found.path), spec, name, device, batch)


def encoder_name(spec: str | None = None) -> str:
    """What an encoder is called in the names of metrics, whether it is there or not.

    A hub id stays as it is, a folder gives its own name. InputError for what is neither.

    >>> encoder_name("openai/clip-vit-large-patch14")
    'clip-vit-l14'
    >>> encoder_name("vinid/plip")
    'vinid/plip'
    """
    spec = spec or DEFAULT
    if known := _known(spec):
        return known
    path = Path(spec).expanduser()
    if path.exists():
        name = re.sub(r"[^\w.+-]+", "-", path.resolve().name).strip("-") or "model"
        # In the name of a metric this would read as its published variant.
        name = re.sub("^published_", "published-", name)
        # A folder's weights are not those that a known name stands for.
        return f"{name}-folder" if name in ENCODERS else name
    if is_hub_id(spec):
        return spec
    close = difflib.get_close_matches(spec, ENCODERS.names(), 1)
    there = f"there are {', '.join(ENCODERS.names())}, hub ids (owner/name) and folders"
    raise InputError(f"no encoder '{spec}'; {f'did you mean {close[0]!r}?' if close else there}")


@dataclass(frozen=True, repr=False, kw_only=True)
class EncoderEntry(Entry):
    """An encoder in a list."""

    #: Whether it reads texts, as scores of images against texts need it.
    texts: bool


def list_encoders() -> list[EncoderEntry]:
    """The encoders known by name; hub ids (owner/name) and folders can be named as well.

    Returns:
        Encoders with what each was trained on, and whether it can be used here.

    >>> [one.name for one in mb.list_encoders() if not one.texts]
    ['rad-dino', 'inception']
    """
    return [
        EncoderEntry(
            name=name, summary=kind.summary, problem=find_encoder(name).problem(), texts=kind.texts
        )
        for name, kind in ((name, ENCODERS.find(name)) for name in ENCODERS.names())
    ]


def reads_texts(spec: str | None = None) -> bool | None:
    """Whether a known encoder reads texts; None if its files must be inspected."""
    known = _known(spec or DEFAULT)
    return bool(ENCODERS.find(known).texts) if known else None


def _known(spec: str) -> str | None:
    """The name of a known encoder, also where its hub id was given."""
    if spec in ENCODERS:
        return spec
    weights = known_as(spec)
    if weights is None or weights.name not in ENCODERS or Path(spec).exists():
        return None
    return weights.name


def _kind(folder: Path) -> str:
    """The class for a folder of weights; of two that could be, the one that needs less."""
    marked = next((kind for mark, kind in _MARKS.items() if any(folder.glob(mark))), None)
    if marked == _BIOVIL:
        return marked
    own = any(folder.glob("model*.safetensors")) or any(folder.glob("pytorch_model*.bin"))
    if marked and not (own and (folder / "config.json").is_file()):
        return marked
    if not (folder / "config.json").is_file() and is_medclip(folder):
        return _MEDCLIP
    model_type = read_config(folder).get("model_type")
    if model_type in DualEncoder.kinds:
        return _DUAL
    if model_type in SingleEncoder.kinds:
        return _SINGLE
    if marked:
        return marked
    known = ", ".join(sorted(DualEncoder.kinds | SingleEncoder.kinds))
    raise InputError(
        f"{folder / 'config.json'}: model_type {model_type!r} is not supported; supported: {known}"
    )


def _make(target: str, source: str, name: str, device: str, batch: int | None) -> Encoder:
    module, attribute = target.split(":")
    kind = getattr(importlib.import_module(module), attribute)
    return cast(Encoder, kind(source, name=name, device=device, batch=batch))
