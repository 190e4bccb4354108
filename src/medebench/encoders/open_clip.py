"""Models of open_clip, such as BiomedCLIP, loaded with the user's open_clip from local files."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import asdict, dataclass
from functools import cache, cached_property
from importlib import import_module, metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from medebench.device import TRANSFORMERS, exact, missing_releases, release_of
from medebench.encoders.encoder import Features, TextFeatures
from medebench.encoders.local_encoder import AssembledEncoder, FramedEncoder, as_rows
from medebench.encoders.open_clip_folder import Look, OpenClipFolder
from medebench.encoders.towers import offline
from medebench.errors import InputError, NotReadyError, one_line
from medebench.weights.identity_hash import sha256_of

OLDEST = (2, 24)


@dataclass
class _Model:
    device: str
    network: Any
    tokenizer: Any


class OpenClipEncoder(FramedEncoder, AssembledEncoder):
    """`source` is a folder with open_clip_config.json, a hub id, or a known name."""

    kind = "open_clip"

    def problem(self) -> str | None:
        # To know whether open_clip can be imported takes seconds: only where all else is there.
        return super().problem() or unimportable(self.name)

    def lacking(self) -> str | None:
        if find_spec("open_clip") is None or release_of("open_clip_torch") < OLDEST:
            least = ".".join(map(str, OLDEST))
            return (
                f"needs open_clip_torch {least} or later; install with: pip install open_clip_torch"
            )
        return missing_releases(TRANSFORMERS, "metrics")

    def facts(self) -> dict[str, Any]:
        files = self.files
        return {
            "weights": files.weights.name,
            "config": files.config,
            "pictures": asdict(files.look),
            "text": files.text_config,
            "tokenizer": {one.name: sha256_of(one) for one in files.tokenizer_files},
        }

    @cached_property
    def files(self) -> OpenClipFolder:
        return OpenClipFolder(self.weights.path)

    @property
    def look(self) -> Look:
        return self.files.look

    def encode(self, prepared: Sequence[NDArray[Any]]) -> Features:
        import torch

        it: _Model = self.network()
        pixels = torch.from_numpy(self.look.finish(np.stack(prepared))).to(it.device)
        with torch.inference_mode(), exact(it.device):
            return as_rows(it.network.encode_image(pixels, normalize=False))

    def read(self, texts: Sequence[str]) -> list[TextFeatures]:
        import torch

        it: _Model = self.network()
        room = self.files.context
        with torch.inference_mode(), exact(it.device), offline():
            ids = it.tokenizer(list(texts), context_length=room).to(it.device)
            rows = as_rows(it.network.encode_text(ids, normalize=False))
            counts = [_tokens(it.tokenizer, text) for text in texts]
        return [
            TextFeatures(row, count, min(count, room))
            for row, count in zip(rows, counts, strict=True)
        ]

    def _load(self, device: str) -> _Model:
        if problem := unimportable(self.name):
            raise NotReadyError(problem)
        files = self.files
        with offline():
            try:
                return _Model(device, _network(files).to(device), _tokenizer(files))
            except Exception as error:
                why = f"{type(error).__name__}: {one_line(str(error), 200)}"
                raise InputError(
                    f"{self.name}: {files.weights} does not load with open_clip "
                    f"{metadata.version('open_clip_torch')} ({why})"
                ) from error


def _network(files: OpenClipFolder) -> Any:
    """The two towers, built as the folder says and filled with its weights."""
    open_clip = import_module("open_clip")
    config = deepcopy(files.config["model_cfg"])
    own_text = config.pop("custom_text", False)
    # Otherwise it would fetch weights of the towers, to overwrite them with those of the folder.
    if config["vision_cfg"].get("timm_model_name"):
        config["vision_cfg"]["timm_model_pretrained"] = False
    with tempfile.TemporaryDirectory() as scratch:
        if files.text_config is not None:
            # open_clip takes the name of a model on the hub, or a folder.
            (Path(scratch) / "config.json").write_text(json.dumps(files.text_config), "utf-8")
            config["text_cfg"] |= {"hf_model_name": scratch, "hf_model_pretrained": False}
            own_text = True
        kind = (
            "CLIP" if not own_text else "CoCa" if "multimodal_cfg" in config else "CustomTextCLIP"
        )
        network = getattr(open_clip, kind)(**config)
    open_clip.load_checkpoint(network, str(files.weights))
    return network.float().eval()


def _tokenizer(files: OpenClipFolder) -> Any:
    module = import_module("open_clip.tokenizer")
    options = dict(files.text.get("tokenizer_kwargs") or {})
    # Drops words of long texts at random, which is meant for training.
    options.pop("reduction_mask", None)
    if files.tokenizer is None:
        return module.SimpleTokenizer(context_length=files.context, **options)
    if mode := files.text.get("tokenizer_mode"):
        options["tokenizer_mode"] = mode
    return module.HFTokenizer(str(files.tokenizer), context_length=files.context, **options)


def _tokens(tokenizer: Any, text: str) -> int:
    """Tokens of the whole text, ends included."""
    inside = getattr(tokenizer, "tokenizer", None)
    if inside is None:
        return len(tokenizer.encode(text)) + 2
    clean = tokenizer.clean_fn(text)
    if getattr(tokenizer, "tokenizer_mode", "") == "clips":
        # Both ends and a class token are put around the words by open_clip.
        return len(inside(clean, add_special_tokens=False, verbose=False).input_ids) + 3
    return len(inside(clean, verbose=False).input_ids)


@cache
def unimportable(name: str) -> str | None:
    """Why open_clip, though installed, cannot be imported here."""
    try:
        import_module("open_clip")
    except Exception as error:
        # torchvision's compiled half raises what it likes where it does not suit this torch.
        why = f"{type(error).__name__}: {one_line(str(error), 160)}"
        return (
            f"{name}: open_clip is installed but cannot be imported ({why}); "
            "install the torchvision build that matches this torch"
        )
    return None
