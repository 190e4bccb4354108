"""Networks of transformers, filled from a plain file of tensors; nothing here asks the hub."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from medebench.device import exact
from medebench.encoders.encoder import TextFeatures
from medebench.encoders.local_encoder import AssembledEncoder, as_rows
from medebench.encoders.wordpiece import WordPieces
from medebench.errors import InputError, one_line
from medebench.quiet import quiet
from medebench.weights.state_dicts import load

if TYPE_CHECKING:
    from torch import Tensor

Tensors: TypeAlias = "dict[str, Tensor]"

RESNET50: Mapping[str, Any] = {
    "embedding_size": 64,
    "hidden_sizes": [256, 512, 1024, 2048],
    "depths": [3, 4, 6, 3],
    "layer_type": "bottleneck",
}
#: Counters and indices that were once written beside the weights and hold nothing learned.
_IDLE = re.compile(r"(position_ids|relative_position_index|num_batches_tracked)$")
#: torchvision's names for the parts of a ResNet, and those of transformers, which counts from 0.
_RESNET: tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...] = (
    (r"^layer(\d)\.(\d+)", lambda m: f"encoder.stages.{int(m[1]) - 1}.layers.{m[2]}"),
    (r"^conv1\.", "embedder.embedder.convolution."),
    (r"^bn1\.", "embedder.embedder.normalization."),
    (r"\.conv(\d)\.", lambda m: f".layer.{int(m[1]) - 1}.convolution."),
    (r"\.bn(\d)\.", lambda m: f".layer.{int(m[1]) - 1}.normalization."),
    (r"\.downsample\.0\.", ".shortcut.convolution."),
    (r"\.downsample\.1\.", ".shortcut.normalization."),
)


@dataclass
class TextTower:
    """A BERT with the head that leads into the joint space."""

    device: str
    pieces: WordPieces
    text: Any
    text_head: Any


class TowersEncoder(AssembledEncoder):
    """One that is put together here; its network is a `TextTower` with what sees pictures."""

    @abstractmethod
    def _pooled(self, read: Any, mask: Tensor) -> Tensor:
        """What the head is given of a text that the BERT has read."""

    def read(self, texts: Sequence[str]) -> list[TextFeatures]:
        import torch

        it: TextTower = self.network()
        pieces = it.pieces(texts)
        ids, mask = pieces.ids.to(it.device), pieces.mask.to(it.device)
        with torch.inference_mode(), exact(it.device):
            read = it.text(input_ids=ids, attention_mask=mask, output_hidden_states=True)
            rows = as_rows(it.text_head(self._pooled(read, mask)))
        return [TextFeatures(*one) for one in zip(rows, pieces.tokens, pieces.read, strict=True)]


def read_tensors(path: Path) -> Tensors:
    """The tensors in a file; a file that would run code of its own is refused."""
    import torch

    try:
        if path.suffix == ".safetensors":
            from safetensors.torch import load_file

            return dict(load_file(path))
        read = load(path)
    except Exception as error:
        why = one_line(str(error), 120) or type(error).__name__
        raise InputError(f"{path}: cannot be read as weights ({why}); download it again") from error
    if isinstance(read, dict) and isinstance(read.get("state_dict"), dict):
        read = read["state_dict"]
    if not isinstance(read, dict) or not all(
        isinstance(one, torch.Tensor) for one in read.values()
    ):
        raise InputError(f"{path}: contains no named tensors; pass the file with the weights")
    return cast(Tensors, read)


def below(tensors: Tensors, prefix: str) -> Tensors:
    """Those whose name begins so, without the beginning."""
    return {name[len(prefix) :]: one for name, one in tensors.items() if name.startswith(prefix)}


def tower(
    kind: str, config: Mapping[str, Any], tensors: Tensors, where: Path, **options: Any
) -> Any:
    """transformers' `kind` ("Bert", "Swin", ...) with these weights, all of them and no others."""
    import torch
    import transformers

    with offline():
        try:
            network, told = getattr(transformers, f"{kind}Model").from_pretrained(
                None,
                config=getattr(transformers, f"{kind}Config")(**config),
                # By way of this method, because it knows the names that parts had in the past.
                state_dict={name: one for name, one in tensors.items() if not _IDLE.search(name)},
                dtype=torch.float32,
                ignore_mismatched_sizes=True,
                output_loading_info=True,
                **options,
            )
        except Exception as error:
            raise InputError(f"{where}: does not fit {kind} ({one_line(str(error))})") from error
    changed = [one if isinstance(one, str) else one[0] for one in told["mismatched_keys"]]
    missing = [one for one in told["missing_keys"] if not _IDLE.search(one)]
    refuse_misfit(
        f"{where}: the weights do not fit {kind}", missing, told["unexpected_keys"], changed
    )
    return network.eval()


def resnet(config: Mapping[str, Any], tensors: Tensors, where: Path) -> Any:
    """A ResNet whose tensors have torchvision's names; `fc` is not part of it."""
    renamed = {}
    for name, one in tensors.items():
        for pattern, new in _RESNET:
            name = re.sub(pattern, new, name)
        renamed[name] = one
    return tower("ResNet", config, renamed, where)


def filled(network: Any, tensors: Tensors, where: Path) -> Any:
    """A small network with these weights, all of them and no others."""
    own = network.state_dict()
    refuse_misfit(
        f"{where}: the weights do not fit",
        own.keys() - tensors.keys(),
        tensors.keys() - own.keys(),
        [one for one in own.keys() & tensors.keys() if own[one].shape != tensors[one].shape],
    )
    network.load_state_dict(tensors)
    return network.eval()


def refuse_strangers(
    what: str,
    tensors: Tensors,
    known: tuple[str, ...],
    optional: tuple[str, ...] = (),
    changed: Iterable[str] = (),
) -> None:
    """Refuse tensors whose names begin in other ways, or not in all of the `known` ones."""
    missing = [one for one in known if not any(name.startswith(one) for name in tensors)]
    unknown = [name for name in tensors if not name.startswith((*known, *optional))]
    refuse_misfit(what, missing, unknown, changed)


def refuse_misfit(
    what: str, missing: Iterable[str], unknown: Iterable[str], changed: Iterable[str]
) -> None:
    """One line about tensors that are not there, not known or of another shape."""
    parts = [
        f"{said} {_named(names)}"
        for said, names in (
            ("no", sorted(missing)),
            ("unknown", sorted(unknown)),
            ("another shape:", sorted(changed)),
        )
        if names
    ]
    if parts:
        raise InputError(f"{what}: {'; '.join(parts)}")


def _named(names: list[str]) -> str:
    return ", ".join(names[:2]) + (f" and {len(names) - 2} more" if len(names) > 2 else "")


@contextmanager
def offline() -> Iterator[None]:
    """No question to the hub, and no bars, advice or warnings of the libraries."""
    from huggingface_hub import constants

    before = constants.HF_HUB_OFFLINE
    # Read from the environment once, when it is imported; to set the variable would be too late.
    constants.HF_HUB_OFFLINE = True
    try:
        with quiet("transformers"):
            yield
    finally:
        constants.HF_HUB_OFFLINE = before
