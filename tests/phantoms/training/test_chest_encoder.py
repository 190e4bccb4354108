"""Making the chest encoder: texts are true, disturbances are mild, a short training is real."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.fft import dctn, idctn
from scipy.ndimage import gaussian_filter

from medebench.encoders.dual import DualEncoder
from medebench.errors import InputError
from medebench.phantoms.chest import ChestSpec, render
from medebench.phantoms.chest.captions import any_caption, caption
from medebench.phantoms.chest.chest_spec import Finding
from medebench.phantoms.chest.patients import EVERYBODY, draw_patient
from medebench.phantoms.training.chest_encoder import train_chest_encoder as training
from medebench.phantoms.training.chest_encoder.encoder_evaluation import THINGS, attempts
from medebench.phantoms.training.chest_encoder.encoder_fit import (
    Patients,
    blurred,
    changes,
    compress,
    disturb,
    draw_batch,
    moved,
    pictures_and_texts,
)
from medebench.phantoms.training.chest_encoder.statements import (
    Change,
    claims,
    happened,
    patient,
    stated,
    texts,
    true_of,
)
from medebench.phantoms.training.chest_encoder.train_chest_encoder import train_chest_encoder
from medebench.phantoms.training.model_recipes import ENCODER, ENCODER_EVALUATION_SEED
from medebench.phantoms.training.pipeline_folder import make_tokenizer
from medebench.progress import Progress, silent

SMALL = replace(
    ENCODER, patients=3, batch=3, steps=4, warm_up=1, widths=(8, 8, 8, 8), text_width=16, size=64
)


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def no_bar(_title: str) -> AbstractContextManager[Progress]:
    return nullcontext(silent)


def test_no_seed_is_that_of_another():
    """Not those of cases and demonstrations, of the chest model, of predictors under test."""
    for seed in (ENCODER.seed, ENCODER_EVALUATION_SEED):
        assert 30_260 < seed < 40_000
    assert ENCODER.seed != ENCODER_EVALUATION_SEED


def test_one_thing_changes_and_both_texts_are_true():
    rng = np.random.default_rng(3)
    kinds = set()
    for index in range(120):
        first, *others = patient(ENCODER.seed, index)
        for other in others:
            change = Change(first, other)
            assert replace(first, findings=(), devices=(), look=other.look) == replace(
                other, findings=(), devices=()
            )
            fields = [f for f in ("findings", "devices", "look")
                      if getattr(first, f) != getattr(other, f)]  # fmt: skip
            assert len(fields) == 1
            kinds.add((fields[0], len(other.findings) - len(first.findings)))
            before, after = texts(change, rng)
            assert claims(before) <= true_of(first) and claims(after) <= true_of(other)
            assert before != after
            said, fact = stated(before, after), happened(change)
            assert said <= fact and -said <= -fact
            assert not said <= -fact and said.touches(fact)
    assert {
        ("findings", -1),
        ("findings", 1),
        ("findings", 0),
        ("devices", 0),
        ("look", 0),
    } <= kinds


def test_what_the_phantoms_own_captions_say_is_known_to_be_true():
    rng = np.random.default_rng(4)
    for index in range(100):
        spec = draw_patient(5, index, EVERYBODY)
        for text in (caption(spec), caption(spec, hospital=True), any_caption(spec, rng)):
            assert claims(text) <= true_of(spec)
    ill = ChestSpec(1, findings=(Finding("nodule", "left", "upper"),))
    assert not claims("clear lungs") <= true_of(ill)
    assert not claims("right upper nodule") <= true_of(ill)
    assert not claims("no nodule") <= true_of(ill)


def test_changes_that_have_nothing_to_do_with_each_other():
    nodule = stated("clear lungs", "nodule")
    assert not nodule.touches(stated("clear lungs", "oedema"))
    assert not nodule.touches(stated("clear lungs", "clear lungs, wires"))
    assert nodule.touches(stated("nodule, wires", "no nodule, wires"))


def test_every_word_is_read_whole():
    rng = np.random.default_rng(6)
    told = [
        text
        for index in range(200)
        for first, *others in [patient(ENCODER.seed, index)]
        for other in others
        for text in texts(Change(first, other), rng)
    ]
    tokenizer = make_tokenizer(told, ENCODER)
    assert max(len(tokenizer(text).input_ids) for text in told) <= ENCODER.tokens
    # A word is a token: letters would soon be too many.
    for text in ("right pneumothorax, right chest drain, hospital B", "no opacities, wires"):
        words = text.replace(",", " ,").split()
        assert len(tokenizer(text).input_ids) == len(words) + 2


def test_disturbances_are_those_of_scipy():
    rng = np.random.default_rng(7)
    pictures = rng.random((3, 1, 32, 40)).astype(np.float32)
    given = torch.from_numpy(pictures)
    widths = torch.tensor([0.0, 0.4, 0.9])
    soft = blurred(given, widths)[:, 0].numpy()
    assert soft[0] == pytest.approx(pictures[0, 0], abs=1e-6)
    for one in (1, 2):
        width = float(widths[one])
        other = gaussian_filter(pictures[one, 0], width, mode="nearest", radius=3)
        assert soft[one] == pytest.approx(other, abs=1e-5)
    # Cell by cell: of the cosine transform the eight lowest frequencies stay.
    orders = sorted(((i, j) for i in range(4) for j in range(4)),
                    key=lambda o: (o[0] ** 2 + o[1] ** 2, o))  # fmt: skip
    kept = np.zeros((4, 4))
    for order in orders[:8]:
        kept[order] = 1
    back = compress(given)[:, 0].numpy()
    for y in range(0, 32, 4):
        for x in range(0, 40, 4):
            cell = pictures[0, 0, y : y + 4, x : x + 4]
            wanted = idctn(dctn(cell, norm="ortho") * kept, norm="ortho")
            assert back[0, y : y + 4, x : x + 4] == pytest.approx(wanted, abs=1e-5)
    far = moved(given, 2, -1)[:, 0].numpy()
    assert (far[:, :-1, 2:] == pictures[:, 0, 1:, :-2]).all()
    assert (far[:, -1, 0] == pictures[:, 0, -1, 0]).all()


def test_a_disturbed_picture_is_still_that_picture():
    pictures = np.stack([render(draw_patient(8, k, EVERYBODY)).picture for k in range(6)])
    given = torch.from_numpy(pictures).float()[:, None] / 255
    torch.manual_seed(1)
    seen = disturb(given, ENCODER)
    error = (seen - given).square().mean((1, 2, 3)).sqrt()
    assert seen.min() >= 0 and seen.max() <= 1
    assert float(error.min()) > 0 and float(error.max()) < 0.06
    torch.manual_seed(1)
    assert torch.equal(disturb(given, ENCODER), seen)


def test_the_loss_by_loops():
    """Softmax and squares written out, one pair at a time."""
    rng = np.random.default_rng(9)
    e, t = (_units(rng, 6, 5) for _ in range(2))
    true = rng.random((6, 6)) < 0.3
    total = 0.0
    for likeness, other in ((e @ t.T, true), (t @ e.T, true.T)):
        for own in range(6):
            wrong = sum(math.exp(3 * likeness[own, j]) for j in range(6)
                        if j != own and not other[own, j])  # fmt: skip
            right = math.exp(3 * likeness[own, own])
            total -= math.log(right / (right + wrong)) / 6 / 2
    found = pictures_and_texts(*map(torch.from_numpy, (e, t, true)), 3.0)
    assert float(found) == pytest.approx(total, abs=1e-9)

    d, u, idle = _units(rng, 4, 5), _units(rng, 4, 5), _units(rng, 2, 5)
    forward, backward = rng.random((4, 4)) < 0.3, rng.random((4, 4)) < 0.2
    apart = rng.random((4, 4)) < 0.5
    sharp, telling, pointing = 2.0, 0.7, 0.4
    told = 0.0
    for own in range(4):
        others = [math.exp(sharp * d[i] @ u[own]) for i in range(4)
                  if i != own and not forward[i, own]]  # fmt: skip
        others += [math.exp(-sharp * d[i] @ u[own]) for i in range(4) if not backward[i, own]]
        others += [math.exp(sharp * one @ u[own]) for one in idle]
        right = math.exp(sharp * d[own] @ u[own])
        told -= math.log(right / (right + sum(others))) / 4 / 2
        others = [math.exp(sharp * d[own] @ u[j]) for j in range(4)
                  if j != own and not forward[own, j]]  # fmt: skip
        others += [math.exp(-sharp * d[own] @ u[j]) for j in range(4) if not backward[own, j]]
        told -= math.log(right / (right + sum(others))) / 4 / 2
    point = np.mean([1 - d[k] @ u[k] for k in range(4)])
    point += np.mean([(one @ other) ** 2 for one in idle for other in u])
    point += np.mean([(d[i] @ u[j]) ** 2 for i in range(4) for j in range(4) if apart[i, j]])
    recipe = replace(ENCODER, change_sharpness=sharp, telling=telling, pointing=pointing)
    given = [torch.from_numpy(one) for one in (2 * d, 3 * u, idle, forward, backward, apart)]
    assert float(changes(*given, recipe)) == pytest.approx(
        telling * told + pointing * point, abs=1e-9
    )


def _units(rng: np.random.Generator, *shape: int) -> np.ndarray:
    made = rng.standard_normal(shape)
    return made / np.linalg.norm(made, axis=1, keepdims=True)


def test_a_batch_says_what_is_in_it():
    specs = [patient(1, index) for index in range(3)]
    pictures = np.array([[render(one, 64).picture for one in three] for three in specs])
    batch = draw_batch(Patients(pictures, specs), SMALL, 5)
    assert batch.pictures.shape == (12, 1, 64, 64) and len(batch.texts) == 12
    assert batch.true.diagonal().all() and batch.forward.diagonal().all()
    assert not batch.backward.diagonal().any() and not batch.apart.diagonal().any()
    # The same patient as drawn, disturbed twice: alike, and not the same.
    for one, other in batch.same.tolist():
        difference = (batch.pictures[one] - batch.pictures[other]).abs().mean()
        assert 0 < float(difference) < 0.05
    again = draw_batch(Patients(pictures, specs), SMALL, 5)
    assert again.texts == batch.texts and torch.equal(again.pictures, batch.pictures)


def test_a_short_training_stops_and_continues_to_the_same_model(tmp_path, monkeypatch):
    monkeypatch.setattr(training, "CHUNK", 3)
    train_chest_encoder(tmp_path / "whole", tmp_path / "one", SMALL, no_bar)
    half = tmp_path / "half"
    half.mkdir()
    (half / "chests").symlink_to(tmp_path / "whole" / "chests")

    def interrupted(title: str) -> AbstractContextManager[Progress]:
        def stop(done: int, _total: int) -> None:
            if done == 2 and title.startswith("learning"):
                raise KeyboardInterrupt

        return nullcontext(stop)

    monkeypatch.setattr("medebench.phantoms.training.loop.KEEP_EVERY", 2)
    with pytest.raises(KeyboardInterrupt):
        train_chest_encoder(half, tmp_path / "two", SMALL, interrupted)
    assert not (tmp_path / "two").exists()
    train_chest_encoder(half, tmp_path / "two", SMALL, no_bar)
    for file in (tmp_path / "one").iterdir():
        assert file.read_bytes() == (tmp_path / "two" / file.name).read_bytes()
    encoder = DualEncoder(str(tmp_path / "two"), "mine", "cpu")
    assert encoder.problem() is None
    seen = encoder.encode([encoder.prepare(np.zeros((64, 64, 3), np.uint8), 255)])
    assert seen.shape == (1, ENCODER.numbers) and np.isfinite(seen).all()
    with pytest.raises(InputError, match="another recipe; choose"):
        train_chest_encoder(half, tmp_path / "three", replace(SMALL, steps=5), no_bar)


def test_attempts_are_what_they_are_called():
    outcomes = set()
    for thing in THINGS:
        for index in range(6):
            tried = {one.outcome: one for one in attempts(thing, ENCODER_EVALUATION_SEED, index)}
            outcomes |= set(tried)
            done, idle = tried["done"], tried["nothing happened"]
            assert claims(done.caption) <= true_of(done.before)
            assert claims(done.prompt) <= true_of(done.output)
            assert idle.output == idle.before == done.before and idle.prompt == done.prompt
            assert idle.output != done.output
            other = tried["another finding"]
            assert len(other.output.findings) == len(other.before.findings) + 1
            assert not claims(other.prompt) <= true_of(other.output)
            back = tried["the opposite"]
            assert (back.prompt, back.caption) == (done.caption, done.prompt)
            assert (back.before, back.output) == (done.before, done.output)
            if "a device too" in tried:
                lost = tried["a device too"].output.devices
                assert len(lost) == len(done.output.devices) - 1
                assert tried["a device too"].output.findings == done.output.findings
            if "the other side" in tried:
                astray = tried["the other side"]
                assert not claims(astray.prompt) <= true_of(astray.output)
    assert len(outcomes) == 6
