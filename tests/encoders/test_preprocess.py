"""Pictures are prepared exactly as transformers' own processors prepare them."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from medebench.encoders.preprocess import BY_MODEL, KINDS, Preprocess
from medebench.errors import ImageError, InputError
from tests.conftest import draw

CLIP_FILE = {
    "crop_size": 224,
    "do_center_crop": True,
    "do_normalize": True,
    "do_resize": True,
    "feature_extractor_type": "CLIPFeatureExtractor",
    "image_mean": [0.48145466, 0.4578275, 0.40821073],
    "image_std": [0.26862954, 0.26130258, 0.27577711],
    "resample": 3,
    "size": 224,
}
RAD_DINO_FILE = {
    "crop_size": {"height": 518, "width": 518},
    "do_center_crop": True,
    "do_convert_rgb": True,
    "do_normalize": True,
    "do_rescale": True,
    "do_resize": True,
    "image_mean": [0.5307, 0.5307, 0.5307],
    "image_processor_type": "BitImageProcessor",
    "image_std": [0.2583, 0.2583, 0.2583],
    "resample": 3,
    "rescale_factor": 0.00392156862745098,
    "size": {"shortest_edge": 518},
}
#: Wide, tall, small, odd, tiny.
SIZES = [(48, 64), (150, 31), (31, 150), (17, 23), (225, 301), (1, 40), (40, 1), (1, 1), (2, 3)]


@pytest.fixture(autouse=True, scope="module")
def _no_advice() -> Iterator[None]:
    """transformers says once a class that torchvision is missing; its Pillow form is meant."""
    logger = logging.getLogger("transformers")
    level = logger.level
    logger.setLevel(logging.ERROR)
    yield
    logger.setLevel(level)


def write(folder: Path, said: dict[str, Any], file: str = "preprocessor_config.json") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / file).write_text(json.dumps(said))
    return folder


def theirs(folder: Path, pictures: list[np.ndarray[Any, Any]]) -> list[np.ndarray[Any, Any]]:
    """transformers' own processor of this folder, in its Pillow form."""
    transformers = pytest.importorskip("transformers")
    own = transformers.AutoImageProcessor.from_pretrained(
        folder, backend="pil", local_files_only=True
    )
    assert type(own).__name__.endswith("Pil")
    return [
        np.asarray(own(images=Image.fromarray(one), return_tensors="np")["pixel_values"][0])
        for one in pictures
    ]


def ours(folder: Path, pictures: list[np.ndarray[Any, Any]], model: str = "") -> list[Any]:
    preprocess = Preprocess.read(folder, model)
    return [preprocess.finish(preprocess.prepare(one, 255)) for one in pictures]


def noise(height: int, width: int, seed: int = 0) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


def check(folder: Path, pictures: list[np.ndarray[Any, Any]], model: str = "") -> None:
    for mine, own in zip(ours(folder, pictures, model), theirs(folder, pictures), strict=True):
        assert mine.dtype == np.float32 and mine.shape == own.shape
        assert np.abs(mine - own).max() <= 1e-6


@pytest.mark.parametrize("size", SIZES)
def test_published_clip(tmp_path, size):
    check(write(tmp_path, CLIP_FILE), [noise(*size), draw(1, *size)])


def test_published_rad_dino(tmp_path):
    folder = write(tmp_path, RAD_DINO_FILE)
    check(folder, [draw(1, 60, 90), noise(700, 530)])
    assert Preprocess.read(folder).shape == (518, 518)


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_file_leaves_out_is_what_the_class_says(tmp_path, kind):
    check(write(tmp_path, {"image_processor_type": f"{kind}ImageProcessor"}), [noise(41, 60)])


@pytest.mark.parametrize("model", BY_MODEL)
def test_a_file_without_a_class_is_read_by_its_model(tmp_path, model):
    size = {"height": 20, "width": 24}
    folder = write(tmp_path, {"size": size, "crop_size": size})
    write(folder, {"model_type": model}, "config.json")
    check(folder, [noise(33, 60)], model)


@pytest.mark.parametrize(
    "said",
    [
        {"size": 20, "crop_size": 18},
        {"size": {"shortest_edge": 20}, "crop_size": {"height": 18, "width": 25}},
        {"size": {"height": 20, "width": 31}, "do_center_crop": False},
        {"size": [20, 31], "crop_size": [22, 22]},
        {"size": 20, "default_to_square": True, "do_center_crop": None, "crop_size": None},
        {"size": 10, "crop_size": 32},
        {"do_resize": False, "crop_size": 33},
        {"do_normalize": False, "crop_size": 12},
        {"do_rescale": False, "do_normalize": False, "crop_size": 12},
        {"do_rescale": False, "crop_size": 12},
        {"rescale_factor": 1 / 127.5, "image_mean": [1.0, 1.0, 1.0], "crop_size": 12},
        {"image_processor_type": "CLIPImageProcessorFast", "resample": 0, "crop_size": 9},
        {"image_processor_type": "SiglipImageProcessor", "size": {"height": 19, "width": 17}},
        {"image_processor_type": "ViTImageProcessor", "size": 21},
        {"image_processor_type": None, "feature_extractor_type": "ViTFeatureExtractor", "size": 21},
        {"do_resize": None, "size": None, "crop_size": 21},
        {"do_rescale": None, "do_normalize": None, "image_mean": None, "crop_size": 12},
        {
            "image_processor_type": "EfficientNetImageProcessor",
            "rescale_offset": True,
            "rescale_factor": 1 / 127.5,
            "size": 25,
        },
        {"image_processor_type": "EfficientNetImageProcessor", "do_normalize": False, "size": 25},
    ],
)
def test_all_spellings(tmp_path, said):
    folder = write(tmp_path, {"image_processor_type": "CLIPImageProcessor", **said})
    check(folder, [noise(*size) for size in SIZES])


@settings(max_examples=60, deadline=None)
@given(
    height=st.integers(1, 90),
    width=st.integers(1, 90),
    short=st.integers(1, 40),
    crop=st.tuples(st.integers(1, 40), st.integers(1, 40)),
    resample=st.integers(0, 5),
    seed=st.integers(0, 100),
)
def test_any_size(tmp_path_factory, height, width, short, crop, resample, seed):
    said = {
        "image_processor_type": "BitImageProcessor",
        "size": {"shortest_edge": short},
        "crop_size": {"height": crop[0], "width": crop[1]},
        "resample": resample,
    }
    folder = write(tmp_path_factory.mktemp("any"), said)
    check(folder, [noise(height, width, seed)])


def test_the_file_of_the_whole_processor_goes_first(tmp_path):
    folder = write(tmp_path, {"image_processor_type": "CLIPImageProcessor", "crop_size": 11})
    inner = {"image_processor_type": "CLIPImageProcessor", "size": 30, "crop_size": 22}
    write(folder, {"processor_class": "CLIPProcessor"}, "processor_config.json")
    check(folder, [noise(40, 50)])
    assert Preprocess.read(folder).shape == (11, 11)
    write(folder, {"image_processor": inner}, "processor_config.json")
    check(folder, [noise(40, 50)])
    assert Preprocess.read(folder).shape == (22, 22)


def test_deep_pictures_are_brought_to_eight_bits(tmp_path):
    preprocess = Preprocess.read(write(tmp_path, CLIP_FILE))
    shallow = draw(3)
    deep = np.rint(shallow.astype(np.float64) * 4095 / 255).astype(np.uint16)
    seen = preprocess.prepare(deep, 4095)
    assert seen.dtype == np.uint8 and seen.shape == (3, 224, 224)
    assert np.array_equal(seen, preprocess.prepare(shallow, 255))


def test_a_stack_is_finished_as_its_pictures_are(tmp_path):
    preprocess = Preprocess.read(write(tmp_path, CLIP_FILE))
    with ThreadPoolExecutor(4) as threads:
        seen = list(threads.map(lambda seed: preprocess.prepare(draw(seed), 255), range(8)))
    together = preprocess.finish(np.stack(seen))
    assert together.shape == (8, 3, 224, 224)
    for number, one in enumerate(together):
        assert np.array_equal(one, preprocess.finish(preprocess.prepare(draw(number), 255)))


def test_the_digest_tells_settings_apart(tmp_path):
    one = Preprocess.read(write(tmp_path / "a", CLIP_FILE))
    spelled = {**CLIP_FILE, "size": {"shortest_edge": 224}, "crop_size": [224, 224]}
    assert Preprocess.read(write(tmp_path / "b", spelled)).digest == one.digest
    others = [
        replace(one, resample=2),
        replace(one, crop=(224, 223)),
        replace(one, resize=225),
        replace(one, mean=None),
        replace(one, factor=1.0),
        replace(one, offset=-1.0),
    ]
    assert len({one.digest, *(other.digest for other in others)}) == 7


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"image_processor_type": "ConvNextImageProcessor"}, "ConvNext"),
        ({"size": 20}, "no image_processor_type"),
        ({**CLIP_FILE, "do_pad": True}, "do_pad"),
        ({**CLIP_FILE, "do_center_crop": False}, "different shapes"),
        ({**CLIP_FILE, "resample": 9}, "resample 9"),
        ({**CLIP_FILE, "resample": None}, "resample None"),
        ({**CLIP_FILE, "resample": "bicubic"}, "resample 'bicubic'"),
        ({**CLIP_FILE, "image_std": [1, 0, 1]}, "image_std has a zero"),
        ({**CLIP_FILE, "image_mean": [1, 2]}, "image_mean"),
        ({**CLIP_FILE, "size": {"longest_edge": 20}}, "longest_edge"),
        ({**CLIP_FILE, "crop_size": -3}, "crop_size -3"),
        ({**CLIP_FILE, "crop_size": [1, 2, 3]}, "is invalid"),
        ({**CLIP_FILE, "rescale_factor": "much"}, "is invalid"),
        ({**CLIP_FILE, "size": None}, "size None"),
        ({**CLIP_FILE, "image_mean": None}, "image_mean"),
    ],
)
def test_what_is_not_known_is_refused(tmp_path, said, words):
    with pytest.raises(InputError, match=words) as error:
        Preprocess.read(write(tmp_path, said))
    assert "preprocessor_config.json" in str(error.value) and "\n" not in str(error.value)


def test_files_that_are_not_there_or_broken(tmp_path):
    with pytest.raises(InputError, match=r"has no preprocessor_config\.json"):
        Preprocess.read(tmp_path)
    for text in ("{", "[]", '"x"'):
        (tmp_path / "preprocessor_config.json").write_text(text)
        with pytest.raises(InputError, match="download the file again"):
            Preprocess.read(tmp_path)


def test_a_picture_too_narrow_to_be_resized_is_said(tmp_path):
    preprocess = Preprocess.read(write(tmp_path, CLIP_FILE))
    with pytest.raises(ImageError, match="5000 x 1 pixels"):
        preprocess.prepare(noise(1, 5000), 255)
