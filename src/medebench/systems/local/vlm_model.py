"""A multimodal model of transformers: loaded from files of this machine, asked in its own form."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medebench.device import choose_device, free_memory
from medebench.errors import InputError, MedebenchError, one_line
from medebench.quiet import quiet
from medebench.systems.local.vlm_settings import VlmSettings
from medebench.weights.completeness import ENDINGS

#: One turn of the user: texts, and images between them (Pillow's).
Turn = Sequence[Any]
_BYTES = {"float32": 4, "float16": 2, "bfloat16": 2}
#: What an answer needs beside the weights, as a share of them; a rough rule.
_ROOM = 1.2
#: Weights below this many bytes fit everywhere.
_SMALL = 256 * 2**20
_OWN_CODE = "runs code of its own, which medebench does not; run it as a worker (docs/workers.md)"


@dataclass(frozen=True)
class VlmAnswer:
    """What a model wrote: `is_cut` where it had more to say."""

    text: str
    tokens_in: int
    tokens_out: int
    is_cut: bool


class VlmModel:
    """The network and its processor on a device."""

    def __init__(self, path: Path, name: str, settings: VlmSettings) -> None:
        import torch

        self.name, self._settings = name, settings
        self.device = choose_device(settings.device)
        self.dtype = chosen_dtype(settings.dtype, self.device)
        with quiet("transformers"):
            self._processor = _processor(path, name)
            self._network = _network(path, name, getattr(torch, self.dtype)).to(self.device).eval()
            self._has_system = _takes_system(self._processor, name)

    def say(self, system: str, turns: Sequence[Turn], seed: int) -> list[VlmAnswer]:
        """An answer to each; `seed` decides where words are drawn."""
        import torch

        talks = [self._talk(system, one) for one in turns]
        with quiet("transformers"), torch.inference_mode(), torch.random.fork_rng():
            torch.manual_seed(seed)
            given = self._processor.apply_chat_template(
                talks,
                tokenize=True,
                add_generation_prompt=True,
                return_dict=True,
                return_tensors="pt",
                padding=True,
            ).to(self.device, dtype=getattr(torch, self.dtype))
            made = self._network.generate(**given, **self._drawn())
        start = given["input_ids"].shape[1]
        counts = given["attention_mask"].sum(dim=1).tolist()
        written = zip(made[:, start:].tolist(), counts, strict=True)
        return [self._said(tokens, count) for tokens, count in written]

    def _drawn(self) -> dict[str, Any]:
        one = self._settings
        drawn = {"do_sample": True, "temperature": one.temperature} if one.temperature else {}
        return {"max_new_tokens": one.max_new_tokens, "do_sample": False} | drawn

    def _said(self, tokens: list[int], count: int) -> VlmAnswer:
        ends = self._ends
        length = next((n for n, one in enumerate(tokens) if one in ends), len(tokens))
        is_cut = length == len(tokens) and len(tokens) >= self._settings.max_new_tokens
        text = self._processor.decode(tokens[:length], skip_special_tokens=True)
        return VlmAnswer(text.strip(), int(count), length, is_cut)

    @property
    def _ends(self) -> set[int]:
        found = self._network.generation_config.eos_token_id
        if found is None:
            found = self._processor.tokenizer.eos_token_id
        return set(found if isinstance(found, list) else [found])

    def _talk(self, system: str, turn: Turn) -> list[dict[str, Any]]:
        parts = [_part(one) for one in turn]
        if self._has_system:
            return [{"role": "system", "content": [_part(system)]}, _user(parts)]
        return [_user([_part(system), *parts])]


def chosen_dtype(wanted: str, device: str) -> str:
    if wanted != "auto":
        return wanted
    return "float32" if device == "cpu" else "bfloat16"


def vlm_problem(path: Path, name: str) -> str | None:
    """Why this folder is no such model, as far as a look at its files tells."""
    if not path.is_dir() or not (path / "config.json").is_file():
        return f"{name}: has no config.json; name the folder that save_pretrained() wrote"
    processors = ("processor_config.json", "preprocessor_config.json")
    if not any((path / one).is_file() for one in processors):
        return f"{name}: has no processor for images; it is no model that looks at them"
    return None


def memory_problem(path: Path, name: str, settings: VlmSettings) -> str | None:
    """One line if the weights will not fit, as far as that can be told beforehand."""
    size = sum(one.stat().st_size for one in path.rglob("*") if one.suffix.lower() in ENDINGS)
    if size < _SMALL:
        return None
    device = choose_device(settings.device)
    dtype = chosen_dtype(settings.dtype, device)
    needed = size * _BYTES[dtype] / _BYTES[_stored_dtype(path)] * _ROOM
    free = free_memory(device)
    if free is None or needed <= free:
        return None
    where = "main memory" if device == "cpu" else f"memory of the {device} device"
    return (
        f"{name}: needs about {needed / 2**30:.1f} GB of {where} in {dtype}, "
        f"{free / 2**30:.1f} GB are free; use a machine with more"
    )


def _stored_dtype(path: Path) -> str:
    try:
        config = json.loads((path / "config.json").read_text("utf-8"))
        kind = str(config.get("dtype") or config.get("torch_dtype"))
    except (OSError, ValueError, AttributeError):
        kind = ""
    return kind if kind in _BYTES else "float32"


def _processor(path: Path, name: str) -> Any:
    from transformers import AutoProcessor

    try:
        found = AutoProcessor.from_pretrained(path, local_files_only=True, trust_remote_code=False)
    except Exception as error:
        raise _unloadable(name, "its processor does not load", error) from error
    if not hasattr(found, "image_processor"):
        raise InputError(f"{name}: has no processor for images; it is no model that looks at them")
    # Answers begin where the questions end: together, in all rows of a batch.
    found.tokenizer.padding_side = "left"
    if found.tokenizer.pad_token is None:
        found.tokenizer.pad_token = found.tokenizer.eos_token
    return found


def _network(path: Path, name: str, dtype: Any) -> Any:
    from transformers import AutoModelForImageTextToText

    try:
        return AutoModelForImageTextToText.from_pretrained(
            path, dtype=dtype, local_files_only=True, trust_remote_code=False
        )
    except Exception as error:
        raise _unloadable(name, "does not load as a model for images and text", error) from error


def _takes_system(processor: Any, name: str) -> bool:
    """Some templates refuse a turn of the system: its words then go before the user's."""
    user = _user([_part("?")])
    try:
        processor.apply_chat_template([{"role": "system", "content": [_part("!")]}, user])
        return True
    except Exception:
        try:
            processor.apply_chat_template([user])
        except Exception as error:
            raise _unloadable(name, "has no chat template that can be used", error) from error
        return False


def _unloadable(name: str, what: str, error: Exception) -> MedebenchError:
    said = one_line(f"{type(error).__name__}: {error}", 300)
    if "trust_remote_code" in said or "custom code" in said:
        return InputError(f"{name}: {_OWN_CODE}")
    return InputError(f"{name}: {what} ({said})")


def _part(one: Any) -> dict[str, Any]:
    if isinstance(one, str):
        return {"type": "text", "text": one}
    return {"type": "image", "image": one}


def _user(parts: list[dict[str, Any]]) -> dict[str, Any]:
    return {"role": "user", "content": parts}
