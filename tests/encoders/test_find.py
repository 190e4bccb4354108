"""Which encoder is meant by a name, a hub id or a folder."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from medebench.encoders.dual import DualEncoder, SingleEncoder
from medebench.encoders.encoder import Encoder
from medebench.encoders.encoder_lookup import (
    DEFAULT,
    ENCODERS,
    encoder_name,
    find_encoder,
    reads_texts,
)
from medebench.encoders.open_clip import OpenClipEncoder
from medebench.errors import InputError, NotReadyError
from medebench.weights import KNOWN
from tests.systems.conftest import into_cache


@pytest.fixture(autouse=True)
def hub(tmp_path, monkeypatch) -> Path:
    folder = tmp_path / "hub"
    folder.mkdir()
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(folder))
    return folder


def model(folder: Path, config: dict[str, Any] | None, *files: str) -> Path:
    """A folder in which the files are there, whatever is in them."""
    folder.mkdir(parents=True, exist_ok=True)
    if config is not None:
        (folder / "config.json").write_text(json.dumps(config))
    for file in files:
        (folder / file).write_text("{}")
    return folder


def test_the_default_is_the_papers():
    encoder = find_encoder()
    assert encoder.name == DEFAULT == "clip-vit-l14" and isinstance(encoder, DualEncoder)
    assert encoder_name(None) == "clip-vit-l14"


@pytest.mark.parametrize("name", ENCODERS.own_names())
def test_every_known_name_makes_its_encoder(name):
    kind = ENCODERS.find(name)
    assert (name in KNOWN) != bool(kind.weights)
    encoder = find_encoder(name, device="cpu", batch=5)
    assert isinstance(encoder, Encoder)
    assert (encoder.name, encoder.device, encoder.batch) == (name, "cpu", 5)
    assert encoder.texts == kind.texts == reads_texts(name)
    problem = encoder.problem()
    assert problem is None or "\n" not in problem


def test_the_hub_id_of_a_known_encoder_is_that_encoder():
    encoder = find_encoder("openai/clip-vit-large-patch14")
    assert encoder.name == "clip-vit-l14"
    assert encoder_name("microsoft/rad-dino") == "rad-dino"
    assert reads_texts("microsoft/rad-dino") is False


@pytest.mark.parametrize(
    ("config", "files", "kind"),
    [
        ({"model_type": "clip"}, ("model.safetensors",), DualEncoder),
        ({"model_type": "siglip"}, ("pytorch_model.bin",), DualEncoder),
        ({"model_type": "dinov2"}, ("model.safetensors",), SingleEncoder),
        ({"model_type": "vit"}, ("model.safetensors",), SingleEncoder),
        (None, ("open_clip_config.json", "open_clip_pytorch_model.bin"), OpenClipEncoder),
        (None, ("open_clip_config.json", "model.safetensors"), OpenClipEncoder),
        ({"model_type": "clip"}, ("open_clip_config.json", "open_clip_a.bin"), OpenClipEncoder),
        ({"model_type": "clip"}, ("open_clip_config.json", "pytorch_model.bin"), DualEncoder),
        ({"model_type": "bert"}, ("open_clip_config.json", "pytorch_model.bin"), OpenClipEncoder),
    ],
)
@pytest.mark.parametrize("cached", [False, True])
def test_the_files_tell_the_kind(tmp_path, hub, config, files, kind, cached):
    # A few bytes that a look at them takes for whole weights.
    folder = model(tmp_path / "some model", config, *files)
    empty = b"\x02\0\0\0\0\0\0\0{}"
    for one in folder.glob("*.safetensors"):
        one.write_bytes(empty)
    if cached:
        into_cache(folder, hub, "someone/some-model")
    encoder = find_encoder("someone/some-model" if cached else str(folder))
    assert type(encoder) is kind
    assert encoder.name == ("someone/some-model" if cached else "some-model")


def test_biovil_is_told_by_its_own_file(tmp_path):
    folder = model(
        tmp_path / "mine", {"model_type": "cxr-bert"}, "biovil_t_image_model_proj_size_128.pt"
    )
    assert type(find_encoder(str(folder))).__name__ == "BioVilEncoder"


def test_what_is_no_encoder(tmp_path):
    with pytest.raises(InputError, match="did you mean 'clip-vit-l14'") as error:
        find_encoder("clip-vit-l4")
    assert not isinstance(error.value, NotReadyError)
    with pytest.raises(InputError, match=r"there are clip-vit-l14, .*owner/name.* folders"):
        find_encoder("zzz")
    with pytest.raises(InputError, match="no encoder '/no/such/folder'"):
        find_encoder("/no/such/folder")
    folder = model(tmp_path / "bert", {"model_type": "bert"}, "pytorch_model.bin")
    with pytest.raises(InputError, match="model_type 'bert' is not supported"):
        find_encoder(str(folder))
    with pytest.raises(InputError, match=r"is a file; pass the model's folder"):
        find_encoder(str(folder / "pytorch_model.bin"))
    plain = model(tmp_path / "plain", None, "pytorch_model.bin")
    with pytest.raises(InputError, match=r"has no config\.json"):
        find_encoder(str(plain))


def test_an_absent_hub_id_is_not_ready():
    with pytest.raises(NotReadyError, match="medebench weights get someone/absent"):
        find_encoder("someone/absent")
    assert encoder_name("someone/absent") == "someone/absent"


@pytest.mark.parametrize(
    ("folder", "name"),
    [("My model, v2", "My-model-v2"), ("clip_ft-3.1", "clip_ft-3.1"), ("a=b:c", "a-b-c")],
)
def test_a_folder_gives_a_name_that_metrics_can_carry(tmp_path, folder, name):
    (tmp_path / folder).mkdir()
    assert encoder_name(str(tmp_path / folder)) == name


def test_the_name_of_where_one_is(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert encoder_name(".") == "here"
    (tmp_path / "here" / "rad-dino").mkdir()
    # A known name is no path; one that is written as a path is.
    assert type(find_encoder("rad-dino")) is SingleEncoder
    with pytest.raises(NotReadyError, match="weights"):
        find_encoder("./rad-dino")


def test_finding_needs_no_torch():
    code = (
        "import sys\n"
        "from medebench.encoders.encoder_lookup import ENCODERS, find_encoder\n"
        "find_encoder().problem(), find_encoder('rad-dino').problem()\n"
        "print(sorted({'torch', 'transformers', 'open_clip'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
