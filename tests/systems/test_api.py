"""Editors behind APIs, one request at a time, against a server that misbehaves."""

from __future__ import annotations

import base64
import io
import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

import medebench as mb
from medebench.cases.case import Case
from medebench.cases.open_case import open_case
from medebench.errors import InputError, NotReadyError
from medebench.systems import find_system
from medebench.systems.api.api_settings import WORDING
from medebench.systems.api.canvas_padding import Padding, nearest_size, padding_for
from medebench.systems.api.gemini_editor import RATIOS, drawn_shapes
from medebench.systems.api.openai_editor import SIZES
from medebench.systems.request import NotTried, Refused, Request, case_seed
from tests.conftest import draw
from tests.fake_hub import closed_port
from tests.models.conftest import KEY_VARIABLES
from tests.models.drawing_server import EXACT, FLASH_2_5, PRO_3, WORDS, DrawingServer
from tests.models.server import always, in_turn
from tests.patience import PATIENCE, wait_until

KINDS = ["gemini", "openai-image"]
KEY = "sk-very-secret-0123456789abcdef"


@pytest.fixture(autouse=True)
def clean(tmp_path, monkeypatch):
    for name in [name for names in KEY_VARIABLES.values() for name in names] + ["MEDEBENCH_PRICES"]:
        monkeypatch.delenv(name, raising=False)
    for name in list(os.environ):
        if name.endswith("_BASE_URL"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("MEDEBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("medebench.models.retry.FIRST_WAIT", 0.02)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def request_for(tmp_path):
    def make(number=1, k=0, size=(48, 64), demonstrations=(), bits=None, seed=0, **given):
        folder = tmp_path / f"case-{number}-{size}-{bits}"
        folder.mkdir(exist_ok=True)
        picture = given.pop("picture", draw(number, *size))
        if bits:
            scaled = (picture[..., 0].astype(np.uint16) << (bits - 8)).astype(np.uint16)
            Image.fromarray(scaled).save(folder / "previous.png")
        else:
            Image.fromarray(picture).save(folder / "previous.png")
        Image.fromarray(255 - picture).save(folder / "changed.png")
        case = Case(
            id=str(number),
            organ="Skin",
            task="Remove moles",
            prompt=f"Remove mole {number}.",
            previous=folder / "previous.png",
            reference=folder / "changed.png",
            bits=bits,
        )
        shown = tuple(one.case for one in demonstrations)
        own_seed = case_seed(seed, case.id, k)
        return Request(open_case(case), k, own_seed, demonstrations=shown, **given)

    return make


def editor_at(server, kind="gemini", **settings):
    given = {"model": "model", "base_url": server.base_url(kind), "timeout": PATIENCE, **settings}
    return find_system(kind, given).system


def negative(request):
    return 255 - request.case.previous


@pytest.mark.parametrize("kind", KINDS)
def test_an_edit_over_the_wire(kind, request_for):
    request = request_for()
    with DrawingServer() as server:
        editor = editor_at(server, kind)
        edit = editor.edit(request)
        editor.close()
    assert np.array_equal(edit.image, negative(request))
    (call,) = server.calls
    assert call.texts == [WORDING.replace("{instruction}", "Remove mole 1.")]
    assert len(call.images) == 1
    assert edit.detail["tries"] == 1 and edit.detail["cached"] is False
    assert edit.detail["cost"] == 0.0 and edit.detail["tokens_in"] == 300
    if kind == "gemini":
        assert edit.detail["model"] == "gemini-test-001" and edit.detail["said"] == "Here it is."
        assert edit.detail["returned"] == [64, 48] and "padded" not in edit.detail
        with Image.open(io.BytesIO(call.images[0])) as sent:
            assert np.array_equal(np.asarray(sent), request.case.previous)
    else:
        # 4:3 goes out as 3:2.
        assert edit.detail["padded"] == [4, 0, 4, 0] and edit.detail["returned"] == [72, 48]
        assert call.body["size"] == "1536x1024" and "quality" not in call.body


@pytest.mark.parametrize("size", [(48, 64), (64, 48), (50, 50), (40, 90), (90, 40), (31, 37)])
def test_geometry_is_exact_in_the_sizes_of_the_vendor(size, request_for):
    request = request_for(size=size)
    with DrawingServer(obeys_size=True) as server:
        editor = editor_at(server, "openai-image", quality="low")
        edit = editor.edit(request)
        editor.close()
    width, height = edit.detail["returned"]
    assert (width, height) in SIZES and server.calls[0].body["quality"] == "low"
    assert edit.image.shape == request.case.previous.shape
    away = np.abs(edit.image.astype(int) - negative(request).astype(int))
    # Enlarged and reduced again, which blurs a little; moved by a pixel it would be far more.
    moved = np.abs(np.diff(negative(request).astype(int), axis=1))
    assert away.mean() < 1.0 < moved.mean() and away.max() <= 16


ODD = [(97, 61), (61, 97), (200, 90), (90, 200), (64, 48), (75, 75), (120, 97), (97, 120)]


def positions(width, height):
    """A picture whose pixels say where they are."""
    across, down = np.meshgrid(np.linspace(0, 255, width), np.linspace(0, 255, height))
    return np.dstack([across, down, 255 - across]).round().astype(np.uint8)


@pytest.mark.parametrize(
    ("model", "shapes"),
    [("model", EXACT), ("gemini-2.5-flash-image", FLASH_2_5), ("gemini-nano-banana-2.1", PRO_3)],
)
def test_geometry_is_exact_in_the_shapes_gemini_draws_in(model, shapes, request_for):
    with DrawingServer(shapes=shapes) as server:
        editor = editor_at(server, model=model)
        for width, height in ODD:
            request = request_for(size=(width, height), picture=positions(width, height))
            edit = editor.edit(request)
            assert edit.image.shape == (height, width, 3) and "without" not in edit.detail
            away = 255 - edit.image.astype(float) - request.case.previous
            assert np.abs(away[..., 0]).max() * (width - 1) / 255 < 1.0
            assert np.abs(away[..., 1]).max() * (height - 1) / 255 < 1.0
        editor.close()
    for call in server.calls:
        assert call.body["generationConfig"]["imageConfig"]["aspectRatio"] in RATIOS


def test_left_to_the_model_another_shape_is_a_reason(request_for):
    with DrawingServer(shapes=EXACT) as server:
        editor = editor_at(server, aspect_ratio="none")
        with pytest.raises(Refused, match="returned 960 x 640 for a picture of 97 x 61"):
            editor.edit(request_for(size=(61, 97)))
        assert editor.edit(request_for(size=(60, 90))).image.shape == (60, 90, 3)
        editor.close()
    for call in server.calls:
        assert "imageConfig" not in call.body["generationConfig"]
        with Image.open(io.BytesIO(call.images[0])) as sent:
            assert sent.size in [(97, 61), (90, 60)]


def test_padded_or_not_are_two_questions(request_for):
    with DrawingServer() as server:
        for shape in ("auto", "none", "auto", "none"):
            # 4:3, so that the picture is the same one.
            editor = editor_at(server, aspect_ratio=shape)
            editor.edit(request_for())
            editor.close()
    assert len(server.calls) == 2


@pytest.mark.parametrize(
    "words",
    [
        "Unknown name 'imageConfig' at 'generation_config': Cannot find field.",
        "Aspect ratio is not enabled for this model",
        "Invalid value at 'generation_config.image_config.aspect_ratio'",
    ],
)
def test_a_server_without_ratios_gets_the_padded_picture(words, request_for):
    with DrawingServer(always(f"no_ratio:{words}")) as server:
        editor = editor_at(server)
        edits = [editor.edit(request_for(number, size=(61, 97))) for number in (1, 2)]
        editor.close()
    assert len(server.calls) == 3
    assert "imageConfig" not in server.calls[-1].body["generationConfig"]
    for edit, number in zip(edits, (1, 2), strict=True):
        assert edit.detail["without"] == ["aspect_ratio"] and any(edit.detail["padded"])
        assert np.array_equal(edit.image, 255 - draw(number, 61, 97))


def test_a_ratio_a_server_lacks_does_not_take_the_others_along(request_for):
    def plan(call):
        config = call.body["generationConfig"].get("imageConfig", {})
        return "no_ratio:aspect_ratio: 5:4 is bad" if config.get("aspectRatio") == "5:4" else "ok"

    with DrawingServer(plan) as server:
        editor = editor_at(server)
        without = [
            editor.edit(request_for(1, size=size)).detail.get("without")
            for size in [(80, 100), (90, 60), (80, 100)]
        ]
        editor.close()
    assert without == [["aspect_ratio"], None, ["aspect_ratio"]]


def test_the_shapes_of_a_model_are_about_the_ratios():
    for model in ("model", "gemini-2.0-flash-exp", "gemini-2.5-flash-image", "gemini-3-pro-image"):
        shapes = drawn_shapes(model)
        assert tuple(shapes) == RATIOS
        for ratio, (width, height) in shapes.items():
            across, down = map(int, ratio.split(":"))
            assert width * down / (height * across) == pytest.approx(1, abs=0.03)


def test_an_own_size_is_what_is_padded_to(request_for):
    with DrawingServer(obeys_size=True) as server:
        editor = editor_at(server, "openai-image", size="320x160")
        edit = editor.edit(request_for())
        editor.close()
    assert server.calls[0].body["size"] == "320x160"
    assert edit.detail["padded"] == [16, 0, 16, 0] and edit.image.shape == (48, 64, 3)


@given(st.integers(1, 90), st.integers(1, 90), st.sampled_from([*SIZES, (1600, 900)]))
def test_padding_is_undone_and_comes_close_to_the_shape(width, height, size):
    picture = np.arange(width * height * 3, dtype=np.uint32).astype(np.uint8)
    picture = picture.reshape(height, width, 3)
    padding = padding_for(width, height, size)
    padded = padding.add(picture)
    assert np.array_equal(padding.cut(padded), picture)
    high, wide = padded.shape[:2]
    assert min(abs(wide - high * size[0] / size[1]), abs(high - wide * size[1] / size[0])) <= 0.5
    assert 0 in (padding.left + padding.right, padding.top + padding.bottom)
    assert padded[0, 0].tolist() == picture[0, 0].tolist()
    assert set(padded.ravel()) <= set(picture.ravel())


@given(st.integers(1, 4000), st.integers(1, 4000))
def test_the_nearest_shape_needs_the_least_padding(width, height):
    def area(size):
        left, top, right, bottom = padding_for(width, height, size).sides
        return (width + left + right) * (height + top + bottom)

    chosen = nearest_size(width, height, SIZES)
    # To the pixels that rounding takes or gives.
    assert area(chosen) <= min(map(area, SIZES)) + width + height


def test_no_padding_is_nothing():
    picture = draw(1)
    assert not Padding() and Padding().add(picture) is picture
    assert np.array_equal(Padding().cut(picture), picture)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("behaviour", ["jpeg", "webp", "double", "sketch"])
def test_other_forms_of_a_picture_are_taken(kind, behaviour, request_for):
    request = request_for()
    with DrawingServer(always(behaviour)) as server:
        editor = editor_at(server, kind)
        edit = editor.edit(request)
        editor.close()
    assert edit.image.shape == request.case.previous.shape
    assert np.abs(edit.image.astype(int) - negative(request).astype(int)).mean() < 3
    assert len(server.calls) == 1
    if behaviour == "double":
        assert edit.detail["returned"] == ([128, 96] if kind == "gemini" else [144, 96])


def test_a_deep_picture_goes_out_in_eight_bits(request_for):
    request = request_for(bits=12)
    assert request.case.previous.dtype == np.uint16
    with DrawingServer() as server:
        editor = editor_at(server)
        edit = editor.edit(request)
        editor.close()
    assert edit.image.dtype == np.uint8
    with Image.open(io.BytesIO(server.calls[0].images[0])) as sent:
        expected = np.round(request.case.previous * (255 / 4095)).astype(np.uint8)
        assert np.array_equal(np.asarray(sent.convert("RGB")), expected)


def test_a_large_picture_is_sent_small_and_comes_back_whole(request_for):
    with DrawingServer() as server:
        editor = editor_at(server, image_size=64)
        edit = editor.edit(request_for(size=(96, 128)))
        editor.close()
    assert edit.image.shape == (96, 128, 3) and edit.detail["returned"] == [64, 48]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("behaviour", "reason", "calls"),
    [
        ("words", "the model answered with text only: ", 3),
        ("half_picture", "the returned picture: damaged", 3),
        ("no_picture", "the returned picture: not an image", 3),
        ("wrong_size", "returned ", 1),
        ("refusal", "the model refused: ", 1),
        ("400", "the model could not be asked: HTTP 400", 1),
        ("500", "the model could not be asked: HTTP 500", 6),
        ("empty", "the model could not be asked: the server's answer has no ", 6),
        ("nothing", "the model could not be asked: ", 6),
        ("hang", "the model could not be asked: no answer in time", 6),
    ],
)
def test_what_becomes_a_reason(kind, behaviour, reason, calls, request_for):
    with DrawingServer(always(behaviour)) as server:
        editor = editor_at(server, kind, tries=3, timeout=0.5 if behaviour == "hang" else PATIENCE)
        with pytest.raises(Refused) as caught:
            editor.edit(request_for())
        editor.close()
        wait_until(lambda: len(server.calls) >= calls)
    assert str(caught.value).startswith(reason), str(caught.value)
    assert len(server.calls) == calls
    answered = not reason.startswith("the model could not")
    assert (caught.value.detail.get("tries") == calls) == answered
    if behaviour == "words" and kind == "gemini":
        assert str(caught.value).endswith(WORDS) and caught.value.detail["said"] == WORDS
    if behaviour == "wrong_size":
        assert caught.value.detail["returned"][1] == 24


def test_an_answer_without_anything_names_the_models_word(request_for):
    with DrawingServer(always("no_image")) as server:
        editor = editor_at(server)
        with pytest.raises(Refused, match=r"neither picture nor text \(no_image\)"):
            editor.edit(request_for())
        editor.close()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("behaviour", ["401", "404", "quota", "bad_key"])
def test_what_is_not_the_cases_fault_is_not_tried(kind, behaviour, request_for):
    if (kind, behaviour) == ("gemini", "quota"):
        pytest.skip("Google has other words for it")
    with DrawingServer(always(behaviour)) as server:
        editor = editor_at(server, kind)
        for number in range(1, 7):
            with pytest.raises(NotTried):
                editor.edit(request_for(number))
        assert len(server.calls) == 3
        editor.close()
        # Another run may have another key.
        server.plan = always("ok")
        assert editor.edit(request_for(1)).image is not None
        editor.close()


def test_no_server_at_all_is_not_the_cases_fault(request_for):
    editor = editor_at(DrawingServer(port=closed_port()))
    with pytest.raises(NotTried, match="no connection"):
        editor.edit(request_for())
    editor.close()


def test_a_deadline_ends_it(request_for):
    with DrawingServer(always("hang")) as server:
        editor = editor_at(server, deadline=0.5)
        with pytest.raises(NotTried):
            editor.edit(request_for())
        with pytest.raises(NotTried, match="out of time"):
            editor.edit(request_for(2))
        editor.close()


@pytest.mark.parametrize("kind", KINDS)
def test_words_are_asked_again_and_nothing_is_paid_twice(kind, request_for):
    with DrawingServer(in_turn("words", "half_picture", "ok", "ok")) as server:
        editor = editor_at(server, kind, tries=3)
        first = editor.edit(request_for())
        assert first.detail["tries"] == 3 and first.detail["tokens_in"] == 900
        editor.close()
        # The same question leads to what it came to in the end, by whomever it is asked.
        again = editor_at(server, kind, tries=3).edit(request_for())
        assert len(server.calls) == 3
        assert again.detail["cached"] and again.detail["tries"] == 1
        assert np.array_equal(first.image, again.image)


@pytest.fixture
def dear(monkeypatch, tmp_path):
    """Every question to Gemini 2 costs $0.30, a picture $1.29 more."""
    entry = {"in": 1000, "out": 0, "image_out": 1000}
    (tmp_path / "p.json").write_text(json.dumps({"models": {"gemini:gemini-2": entry}}))
    monkeypatch.setenv("MEDEBENCH_PRICES", str(tmp_path / "p.json"))


@pytest.mark.parametrize(
    ("behaviours", "settings", "why"),
    [
        (["words"], {"max_cost": 1.8}, "max-cost"),
        (["half_picture"], {"max_cost": 1.8}, "max-cost"),
        (["words", "401"], {}, "HTTP 401"),
        (["words", "404"], {}, "HTTP 404"),
        (["words", "hang"], {"deadline": 5.0}, "out of time"),
    ],
)
def test_what_was_paid_for_is_booked(behaviours, settings, why, dear, request_for):
    with DrawingServer(in_turn(*behaviours)) as server:
        editor = editor_at(server, model="gemini-2", tries=3, **settings)
        with pytest.raises(Refused) as caught:
            editor.edit(request_for())
        assert len(server.calls) == len(behaviours)
        # Where nothing was paid, nothing is booked.
        with pytest.raises(NotTried):
            editor.edit(request_for(2))
        editor.close()
    said = "text only: " if behaviours[0] == "words" else "the returned picture: damaged"
    reason = str(caught.value)
    assert said in reason and "; not asked again: " in reason and why in reason
    detail = caught.value.detail
    assert detail["tries"] == 1 and detail["cost"] > 0 and detail["tokens_in"] == 300


def test_nothing_is_sent_after_more_was_charged_than_expected(dear, request_for):
    with DrawingServer(usage_times=10) as server:
        editor = editor_at(server, model="gemini-2", max_cost=6.0, at_once=1)
        assert editor.edit(request_for(1)).detail["cost"] == pytest.approx(13.2)
        for number in (2, 3):
            with pytest.raises(NotTried, match=r"\$13\.2000 of \$6\.0000 is already spent"):
                editor.edit(request_for(number))
        # What is kept costs nothing.
        assert editor.edit(request_for(1)).detail["cached"]
        editor.close()
    assert len(server.calls) == 1


def test_editors_that_ask_alike_share_what_they_may_spend(dear, request_for):
    with DrawingServer() as server:
        first, second, third = (
            editor_at(server, model="gemini-2", max_cost=3.5, temperature=heat)
            for heat in (0.1, 0.5, 0.9)
        )
        first.prepare()
        assert second.share(first) and second.share(first) and third.share(second)
        first.edit(request_for(1))
        first.close()
        second.edit(request_for(1))
        second.close()
        with pytest.raises(NotTried, match="max-cost"):
            third.edit(request_for(1))
        caller = third._open()
        assert caller._thread is not None
        third.close()
        assert caller._thread is None and len(server.calls) == 2
        # Whoever comes later has money of its own.
        assert not second.share(third)
        third.edit(request_for(1))
        third.close()


@pytest.mark.parametrize(
    "other",
    [
        {"model": "gemini-3"},
        {"base_url": "http://localhost:1"},
        {"max_cost": 2.0},
        {"timeout": 3.0},
        {"deadline": 60.0},
        {"at_once": 3},
        {"fresh": True},
    ],
)
def test_editors_that_ask_otherwise_share_nothing(other):
    with DrawingServer() as server:
        first, second = editor_at(server), editor_at(server, **other)
        first.prepare()
        assert not second.share(first) and not editor_at(server, "openai-image").share(first)
        assert not second.share(object())
        first.close()


def test_closing_one_leaves_the_others_their_calls(request_for):
    with DrawingServer(latency=0.3) as server, ThreadPoolExecutor(4) as pool:
        first, second = editor_at(server), editor_at(server, temperature=0.5)
        first.edit(request_for(1))
        assert second.share(first)
        under_way = [pool.submit(second.edit, request_for(number)) for number in range(2, 6)]
        wait_until(lambda: len(server.calls) >= 5)
        first.close()
        assert all(one.result(timeout=PATIENCE).image is not None for one in under_way)
        second.close()


@pytest.mark.parametrize("kind", KINDS)
def test_another_seed_is_another_question(kind, request_for):
    with DrawingServer() as server:
        editor = editor_at(server, kind)
        for seed, k in [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0)] * 2:
            editor.edit(request_for(seed=seed, k=k))
        assert len(server.calls) == 5
        # A later attempt in the same words starts from another seed.
        assert not editor.edit(replace(request_for(), seed=123)).detail["cached"]
        assert editor.edit(replace(request_for(), seed=123)).detail["cached"]
        # The settings of a sweep all have the first seed, whichever output they make.
        assert editor.edit(replace(request_for(), k=7)).detail["cached"]
        editor.close()
    # No word of it reaches the server.
    assert len({json.dumps(call.body, default=str) for call in server.calls}) == 1


def test_each_output_is_another_question(request_for):
    with DrawingServer() as server:
        editor = editor_at(server)
        for k in (0, 1, 2, 1):
            editor.edit(request_for(k=k))
        assert len(server.calls) == 3
        editor.edit(request_for(said="Whiten the teeth."))
        assert server.calls[-1].texts[-1].endswith("Whiten the teeth.")
        assert len(server.calls) == 4
        editor.close()
        renewed = editor_at(server, fresh=True)
        for _ in range(2):
            assert not renewed.edit(request_for()).detail["cached"] or len(server.calls) == 5
        assert len(server.calls) == 5
        renewed.close()


def test_demonstrations_come_first(request_for):
    shown = [request_for(number) for number in (2, 3)]
    request = request_for(1, demonstrations=shown)
    with DrawingServer() as server:
        editor = editor_at(server, demonstrations=2)
        assert editor.demonstrations == 2
        edit = editor.edit(request)
        editor.close()
    (call,) = server.calls
    pictures = []
    for data in call.images:
        with Image.open(io.BytesIO(data)) as sent:
            pictures.append(np.asarray(sent))
    expected = [p for one in shown for p in (one.case.previous, one.case.reference)]
    expected.append(request.case.previous)
    assert len(pictures) == 5
    assert all(np.array_equal(a, b) for a, b in zip(pictures, expected, strict=True))
    text = call.texts[-1]
    assert text.startswith(WORDING.partition("{")[0])
    assert text.index("Remove mole 2.") < text.index("Remove mole 3.") < text.index("mole 1.")
    assert edit.detail["demonstrations"] == ["2", "3"]
    assert np.array_equal(edit.image, negative(request))


def test_settings_reach_the_model(request_for):
    with DrawingServer() as server:
        gemini = editor_at(server, wording="Do: {instruction}!", temperature=0.5, resolution="2K")
        gemini.edit(request_for())
        gemini.close()
        openai = editor_at(server, "openai-image", quality="high", input_fidelity="high")
        openai.edit(request_for())
        openai.close()
    first, second = server.calls
    assert first.texts == ["Do: Remove mole 1.!"]
    assert first.body["generationConfig"]["temperature"] == 0.5
    picture = {"imageSize": "2K", "aspectRatio": "4:3"}
    assert first.body["generationConfig"]["imageConfig"] == picture
    assert (second.body["quality"], second.body["input_fidelity"]) == ("high", "high")


def test_what_the_server_does_not_know_is_named(request_for):
    with DrawingServer(always("unknown:input_fidelity")) as server:
        editor = editor_at(server, "openai-image", input_fidelity="high")
        assert editor.edit(request_for()).detail["without"] == ["input_fidelity"]
        editor.close()


def test_braces_in_an_instruction_are_only_braces(request_for):
    with DrawingServer() as server:
        editor = editor_at(server)
        editor.edit(request_for(said="Remove {instruction} {0} %s."))
        editor.close()
    assert server.calls[0].texts[-1].endswith("Remove {instruction} {0} %s.")


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        ("gemini", "name a model, such as gemini:"),
        ("gemini:m,wording=nothing", "wording: .*once"),
        ("gemini:m,demonstrations=9", "demonstrations"),
        ("openai-image:m,demonstrations=8", "demonstrations"),
        ("openai-image:m,size=large", "size: .*1536x1024"),
        ("openai-image:m,quality=best", "quality"),
        ("gemini:m,base_url=ftp://ann:secret@x", "base_url: .*something like"),
        ("gemini:m,seed=3", "no setting 'seed'"),
        ("gemini:m,aspect_ratio=wide", "aspect_ratio: .*'auto' or 'none'"),
    ],
)
def test_wrong_settings_are_one_line(call, complaint):
    with pytest.raises(InputError, match=complaint) as caught:
        find_system(call)
    assert "\n" not in str(caught.value) and "secret" not in str(caught.value)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_missing_is_told_before_any_work(kind, monkeypatch):
    chosen = find_system(f"{kind}:model")
    (line,) = chosen.system.problems()
    assert "_API_KEY" in line and "\n" not in line
    with pytest.raises(NotReadyError, match="_API_KEY"):
        chosen.system.prepare()
    monkeypatch.setenv("GEMINI_API_KEY" if kind == "gemini" else "OPENAI_API_KEY", KEY)
    assert chosen.system.problems() == []
    package = "google.genai" if kind == "gemini" else "openai"
    monkeypatch.setitem(sys.modules, package, None)
    (line,) = chosen.system.problems()
    assert "pip install" in line


def test_a_budget_without_a_price_is_refused_before_any_work(monkeypatch):
    monkeypatch.setenv("GEMINI_API_KEY", KEY)
    with pytest.raises(InputError, match="MEDEBENCH_PRICES"):
        find_system("gemini:unheard-of,max_cost=1").system.prepare()
    find_system("gemini:gemini-nano-banana-2.1,max_cost=1").system.prepare()


def test_a_login_in_the_address_is_used_and_not_written(request_for, tmp_path):
    password = "Tr0ub4dor-and-3"
    with DrawingServer() as server:
        url = server.base_url("openai").replace("http://", f"http://ann:{password}@")
        chosen = find_system("openai-image", {"model": "m", "base_url": f"{url}?token=Q9z7Q9z7"})
        edit = chosen.system.edit(request_for())
        chosen.system.close()
        assert chosen.settings["base_url"] == server.base_url("openai")
    login = base64.b64encode(f"ann:{password}".encode()).decode()
    (call,) = server.calls
    assert call.headers["authorization"] == f"Basic {login}" and "token=Q9z7" in call.path
    shown = repr(chosen) + repr(chosen.system.settings) + json.dumps(edit.detail)
    assert password not in shown and "Q9z7" not in shown and login not in shown


def test_who_is_asked_is_part_of_what_the_run_is(monkeypatch):
    assert find_system("gemini:m").system.identity() == ""
    assert find_system("gemini:m,base_url=http://localhost:1").system.identity() == ""
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", "http://ann:secret@localhost:7")
    assert find_system("gemini:m").system.identity() == "http://localhost:7"


def test_how_it_is_done_is_kept_apart():
    chosen = find_system("gemini:m,max_cost=3,timeout=9,at_once=4,deadline=60,fresh=true")
    assert set(chosen.runtime_only) == {"max_cost", "timeout", "at_once", "deadline", "fresh"}
    assert chosen.settings["model"] == "m" and chosen.system.at_once == 4
    assert find_system("gemini:m").system.at_once == 8


@pytest.mark.parametrize("kind", KINDS)
def test_an_estimate_makes_no_call(kind, request_for, monkeypatch, tmp_path):
    entry = {"in": 1, "out": 1, "image_out": 100}
    vendor = kind.partition("-")[0]
    (tmp_path / "p.json").write_text(json.dumps({"models": {f"{vendor}:model": entry}}))
    monkeypatch.setenv("MEDEBENCH_PRICES", str(tmp_path / "p.json"))
    with DrawingServer() as server:
        editor = editor_at(server, kind)
        editor.edit(request_for(1))
        unreadable = request_for(9)
        unreadable.case.case.previous.write_bytes(b"no picture")
        plan = editor.estimate([request_for(1), request_for(2), request_for(3), unreadable])
        editor.close()
        assert len(server.calls) == 1
    assert (plan.calls, plan.cached) == (2, 1)
    assert plan.tokens_out > 2 * 1000 and 2 * 0.1 < plan.cost < plan.most


def test_threads_share_one_editor(request_for):
    requests = [request_for(number) for number in range(1, 41)]
    with DrawingServer(together=2) as server, ThreadPoolExecutor(16) as pool:
        editor = editor_at(server, at_once=16)
        edits = list(pool.map(editor.edit, requests))
        editor.close()
    for edit, request in zip(edits, requests, strict=True):
        assert np.array_equal(edit.image, negative(request))
    assert len(server.calls) == 40 and 1 < server.peak <= 16


def test_they_are_editors():
    for kind in KINDS:
        editor = find_system(f"{kind}:m").system
        assert isinstance(editor, mb.Editor) and not editor.control and editor.sees == ()
        assert find_system(type(editor).example).name == kind
