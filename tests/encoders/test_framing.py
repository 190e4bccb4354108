"""What an encoder is shown of a picture: all of it, unless its own preparation is asked for."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medebench.encoders.biovil import BioVilEncoder
from medebench.encoders.dual import DualEncoder
from medebench.encoders.encoder import Encoder
from medebench.encoders.extractor import shared_extractor
from medebench.encoders.image_framing import pointwise
from medebench.encoders.medclip import MedClipEncoder
from medebench.encoders.open_clip import OpenClipEncoder
from medebench.encoders.open_clip_folder import Look
from medebench.encoders.preprocess import Preprocess
from medebench.errors import InputError
from medebench.metrics.semantic import FAMILIES, make, semantic_metric
from tests.conftest import draw

_TALIGN = ("talign_prompt", "talign_description")
HALF = (0.5, 0.5, 0.5)


def preprocess(resize: Any, crop: Any) -> Preprocess:
    return Preprocess(resize, 3, crop, 1 / 255, 0.0, HALF, HALF)


def transformers_encoder(resize: Any, crop: Any) -> Encoder:
    encoder = DualEncoder("none")
    encoder.look = preprocess(resize, crop)
    return encoder


def open_clip_encoder(mode: str, height: int = 224, width: int = 224) -> Encoder:
    class Files:
        look = Look(height, width, HALF, HALF, "bicubic", mode, 0)

    encoder = OpenClipEncoder("none")
    encoder.files = Files()  # type: ignore[assignment]
    return encoder


#: Preparations as published models have them; no weights are needed to look at pictures.
ENCODERS = {
    "clip": transformers_encoder(224, (224, 224)),
    "rad-dino": transformers_encoder(518, (518, 518)),
    "deit": transformers_encoder((256, 256), (224, 224)),
    "unresized": transformers_encoder(None, (224, 224)),
    "siglip": transformers_encoder((224, 224), None),
    "small in a larger frame": transformers_encoder((200, 200), (224, 224)),
    "biomedclip": open_clip_encoder("shortest"),
    "open_clip, not square": open_clip_encoder("shortest", 224, 336),
    "open_clip, longest": open_clip_encoder("longest"),
    "open_clip, squash": open_clip_encoder("squash"),
    "biovil-t": BioVilEncoder("biovil-t"),
    "medclip": MedClipEncoder("medclip"),
}
CROPPING = (
    *("clip", "rad-dino", "deit", "unresized"),
    *("biomedclip", "open_clip, not square", "biovil-t"),
)


@pytest.mark.parametrize("name", ENCODERS)
@settings(max_examples=25, deadline=None)
@given(
    height=st.integers(24, 520),
    width=st.integers(24, 520),
    place=st.tuples(*[st.floats(0, 1)] * 2),
    part=st.tuples(*[st.floats(0.02, 1)] * 2),
    seed=st.integers(0, 50),
)
def test_a_change_of_the_roi_is_seen_wherever_it_lies(name, height, width, place, part, seed):
    roi = tuple(
        _span(side, at, share) for side, at, share in zip((height, width), place, part, strict=True)
    )
    before = draw(seed, height, width)
    after = before.copy()
    after[roi] = np.where(before[roi] < 128, before[roi] + 90, before[roi] - 90)
    shown = [ENCODERS[name].framed(one, 255, "whole").astype(int) for one in (before, after)]
    assert np.abs(shown[0] - shown[1]).max() > 0


def _span(side: int, at: float, share: float) -> slice:
    """This share of a side, at least a pixel, from its beginning (0) to its end (1)."""
    length = max(1, round(side * share))
    start = round(at * (side - length))
    return slice(start, start + length)


@pytest.mark.parametrize("name", CROPPING)
def test_their_own_preparation_loses_a_roi_at_the_end(name):
    before = draw(1, 120, 480).copy()
    # The same span of values in both, as BioViL-T's depends on it.
    before[60, 238:242] = [[0], [255], [0], [255]]
    after = before.copy()
    after[:, 460:] = 255 - after[:, 460:]
    encoder = ENCODERS[name]
    assert np.array_equal(*(encoder.framed(one, 255, "own") for one in (before, after)))
    assert np.array_equal(*(encoder.prepare(one, 255) for one in (before, after)))
    shown = [encoder.framed(one, 255, "whole").astype(int) for one in (before, after)]
    assert np.abs(shown[0] - shown[1]).max() > 50


@pytest.mark.parametrize("name", ENCODERS)
@pytest.mark.parametrize("size", [(224, 224), (1, 300), (300, 1), (90, 411)])
def test_all_framings_have_the_size_of_the_network(name, size):
    encoder = ENCODERS[name]
    own = encoder.framed(draw(2, 224, 224), 255, "own")
    for framing in set(encoder.framings) - {"own"}:
        seen = encoder.framed(draw(3, *size), 255, framing)
        assert seen.shape == own.shape


@pytest.mark.parametrize("name", [one for one in ENCODERS if one not in CROPPING])
def test_where_nothing_is_cut_off_nothing_changes(name):
    for size in ((60, 90), (200, 150)):
        picture = draw(4, *size)
        encoder = ENCODERS[name]
        own, whole = (encoder.framed(picture, 255, framing) for framing in ("own", "whole"))
        assert np.array_equal(own, whole)


@settings(max_examples=60, deadline=None)
@given(
    height=st.integers(1, 90),
    width=st.integers(1, 90),
    wanted=st.tuples(st.integers(1, 60), st.integers(1, 60)),
    seed=st.integers(0, 100),
)
def test_without_antialiasing_it_is_torch_s_interpolation(height, width, wanted, seed):
    torch = pytest.importorskip("torch")
    noise = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
    planes = torch.from_numpy(noise).permute(2, 0, 1)[None].double()
    own = torch.nn.functional.interpolate(planes, size=wanted, mode="bicubic", align_corners=False)
    mine = pointwise(noise, *wanted)
    assert mine.dtype == np.float32 and mine.shape == (3, *wanted)
    assert np.abs(mine - own[0].numpy()).max() < 1e-3
    # As the script scales it: what is over and under the range is not cut off.
    assert np.abs(mine / 255 - own[0].numpy() / 255).max() < 1e-5


@pytest.fixture(scope="module")
def clip(tmp_path_factory) -> Path:
    tiny = pytest.importorskip("tests.encoders.tiny_models", exc_type=ImportError)
    return tiny.tiny_clip(tmp_path_factory.mktemp("models") / "tiny-clip")


@pytest.fixture(scope="module")
def siglip(tmp_path_factory) -> Path:
    tiny = pytest.importorskip("tests.encoders.tiny_models", exc_type=ImportError)
    return tiny.tiny_siglip(tmp_path_factory.mktemp("models") / "tiny-siglip")


def test_the_framing_is_part_of_the_identity(clip, siglip):
    encoder = DualEncoder(str(clip))
    own, whole, published = (encoder.identified(one) for one in ("own", "whole", "published"))
    assert own == encoder.identity and len({own, whole, published}) == 3
    assert whole.endswith("squashed") and published.endswith("without antialiasing")
    paths = {shared_extractor(encoder, one).store.path for one in encoder.framings}
    assert len(paths) == 3
    # It never cut anything off: what was computed is still right.
    squashing = DualEncoder(str(siglip))
    assert squashing.identified("whole") == squashing.identity != squashing.identified("published")


def test_no_score_of_the_old_procedures_is_taken_for_a_new_one(clip, siglip):
    """An old score's variant was the encoder's identity, whatever the formula."""
    for family, told in FAMILIES.items():
        for folder in (clip, siglip):
            metric = make(family, str(folder), "cpu", None)
            old = DualEncoder(str(folder)).identity
            # Nothing has changed in these.
            same = family == "edit_score" or (folder == siglip and family in ("isim", *_TALIGN))
            assert (metric.variant == old) == same, (family, folder, told)


def test_all_framings_share_one_network(clip, tmp_path, monkeypatch):
    monkeypatch.setenv("MEDEBENCH_CACHE", str(tmp_path))
    extractors = [shared_extractor(DualEncoder(str(clip)), one) for one in DualEncoder.framings]
    assert len({id(one.encoder) for one in extractors}) == 1
    picture = draw(5, 40, 90)
    rows = [one.features([one.show(picture, 255)])[0] for one in extractors]
    # And their vectors are kept apart.
    assert all(np.abs(rows[a] - rows[b]).max() > 1e-3 for a, b in ((0, 1), (0, 2), (1, 2)))
    again = [one.show(picture, 255).known for one in extractors]
    assert all(np.array_equal(one, row) for one, row in zip(again, rows, strict=True))


def test_what_the_paper_did_for_clip_is_refused_of_others():
    for encoder in (MedClipEncoder("medclip"), BioVilEncoder("biovil-t")):
        with pytest.raises(InputError, match=f"use isim:{encoder.name}$"):
            semantic_metric("isim_published", encoder)


def test_a_folder_named_as_a_variant_is_no_variant(clip, tmp_path):
    folder = shutil.copytree(clip, tmp_path / "published_clip")
    assert make("isim", str(folder), "cpu", None).name == "isim_published-clip"
