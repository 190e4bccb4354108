"""The model card of a trained adapter, written by what trained it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from medebench.files import write_text
from medebench.page.number import counted
from medebench.page.private_paths import without_any_folder
from medebench.settings import in_words
from medebench.systems.diffusion.pipeline_weights import INDEX, Weights
from medebench.tuning.adapter_folder import PIPELINE, own_modules
from medebench.weights.hub_cache import is_hub_id
from medebench.weights.local_weights import PREFIX

CARD = "README.md"
#: What stands for a licence that nobody told.
UNKNOWN = "unknown: check"
_USE = (
    "For research on image editing. Not for clinical use: its pictures are made up, and what they "
    "show is true of no patient."
)


def write_card(
    out: Path, facts: Mapping[str, Any], base: str, pipeline: str, weights: Weights
) -> None:
    """`base` names the model that was trained, `weights` are its own, `pipeline` its class."""
    path = weights.path.parent if weights.single else weights.path
    modules = own_modules(_index(out, weights))
    if (there := Path(base).expanduser()).exists():
        # Where it lies on this machine is nobody's business.
        base = there.absolute().name
    write_text(out / CARD, card_text(facts, base, pipeline, licence_of(path), modules))


def card_text(
    facts: Mapping[str, Any], base: str, pipeline: str, licence: str, modules: Sequence[str]
) -> str:
    """Front matter as the hub reads it, and what a person must know before using the adapter."""
    full = facts["train"]["method"] == "full"
    # The hub takes no words of ours for a licence, and no base that is not a model of its own.
    unknown = {"license": "other", "license_name": "unknown"}
    head: dict[str, Any] = unknown if licence == UNKNOWN else {"license": licence}
    if is_hub_id(base):
        head |= {"base_model": base, "base_model_relation": "finetune" if full else "adapter"}
    head |= {"library_name": "diffusers", "pipeline_tag": "image-to-image"}
    head["tags"] = ["medebench", "image-editing", *([] if full else ["lora"])]
    front = yaml.safe_dump(head, sort_keys=False, allow_unicode=True)
    kind = "all weights of its denoiser" if full else "a LoRA"
    pairs = counted(len(facts["pairs"]), "pair")
    title = f"{base}, trained further on {pairs}"
    rows = _rows(facts, base, licence)
    return "\n".join(
        [
            f"---\n{front}---\n",
            f"# {title}\n",
            f"{kind[0].upper()}{kind[1:]}, trained by `medebench tune` with the system "
            f"`{facts['system']}` ({pipeline}). {_USE}\n",
            "## How to use it\n",
            "    medebench generate CASES --system THIS_FOLDER --out RUN\n",
            *(f"    {line}" for line in _code(pipeline, base, full, modules)),
            "\n## How it was made\n",
            "| | |\n|---|---|",
            *(f"| {name} | {_cell(value)} |" for name, value in rows.items()),
            "\nWhich pairs were learned from, by id of the case (input and instruction) and, where "
            "it is another's, of the case with the target:\n",
            ", ".join(_pair(*pair) for pair in facts["pairs"]) + "\n",
        ]
    )


def licence_of(path: Path) -> str:
    """What the base model's own card says, if it came with one."""
    try:
        text = (path / CARD).read_text("utf-8")
    except (OSError, ValueError):
        return UNKNOWN
    found = re.match(r"\A---\s*\n(.*?)\n---", text, re.S)
    try:
        head = yaml.safe_load(found[1]) if found else None
    except yaml.YAMLError:
        return UNKNOWN
    told = head.get("license") if isinstance(head, dict) else None
    return told if isinstance(told, str) and told else UNKNOWN


def _index(out: Path, weights: Weights) -> Mapping[str, Any]:
    """Of the trained pipeline, where there is one."""
    path = out / PIPELINE / INDEX
    return json.loads(path.read_text("utf-8")) if path.is_file() else weights.index


def _rows(facts: Mapping[str, Any], base: str, licence: str) -> dict[str, Any]:
    card = dict(facts.get("card", {}))
    rows: dict[str, Any] = {
        "base model": base,
        "base model's weights": facts["weights"],
        "base model's licence": licence,
        "settings of the system": in_words(facts["system_settings"]),
        **{str(name): value for name, value in card.items()},
        "pairs": len(facts["pairs"]),
        "fingerprint of the pairs": facts["content"],
        "steps": facts["steps"],
        "random seed": facts["seed"],
        "settings of the training": in_words(facts["train"]),
        "weights that learned": facts["trained"],
        "loss, first and last twentieth of the steps": (
            f"{facts['first_loss']:.4g}, {facts['last_loss']:.4g}"
        ),
        "device and precision": f"{facts['device']}, {facts['precision']}",
        "seconds": facts["seconds"],
        "finished": facts["finished"],
        "versions": in_words(facts["versions"]),
    }
    return rows


def _code(pipeline: str, base: str, full: bool, modules: Sequence[str]) -> list[str]:
    if base.startswith(PREFIX) and not full:
        # Only medebench knows where that lies.
        return []
    lines = [f"import {module}" for module in modules]
    lines += ["import torch", f"from diffusers import {pipeline}", ""]
    place = "THIS_FOLDER/pipeline" if full else base
    lines.append(f'pipe = {pipeline}.from_pretrained("{place}").to(torch.float32)')
    return lines if full else [*lines, 'pipe.load_lora_weights("THIS_FOLDER")']


def _pair(shown: str, taught: str) -> str:
    return f"`{shown}`" if shown == taught else f"`{shown}` with `{taught}`"


def _cell(value: Any) -> str:
    """Without the folders of whoever trained it: cards are published."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = without_any_folder(text)
    return " ".join(text.replace("|", "\\|").split())
