"""Predictions on disk: computed once, resumable, whole or not there."""

from __future__ import annotations

import sqlite3
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from medebench.errors import ImageError, MedebenchError
from medebench.stresstest.predictions import (
    PredictionStore,
    PredictorInput,
    pack,
    predict_all,
    unpack,
)
from medebench.stresstest.predictors import Predictor, PredictorError
from tests.conftest import draw


class Counting(Predictor):
    """Says how bright a picture is, and how many it was shown."""

    def __init__(self, identity: str = "1", task: Any = "classification", batch: int = 4) -> None:
        self.name, self.task, self.batch = "counting", task, batch
        self._identity = identity
        self.shown: list[int] = []
        self.broken = False

    @property
    def identity(self) -> str:
        return self._identity

    def predict(self, pictures: Any) -> Any:
        if self.broken:
            raise RuntimeError("no more")
        self.shown.append(len(pictures))
        if self.task == "segmentation":
            return [one[..., 0] / 255.0 for one in pictures]
        return [float(one.mean()) / 255 for one in pictures]


def shown(count: int, start: int = 0) -> list[Any]:
    return [(f"p{i}", lambda i=i: draw(i)) for i in range(start, start + count)]


def test_what_is_there_is_not_computed_again(tmp_path):
    path = tmp_path / "out" / "predictions.sqlite"
    expected = {f"p{i}": float(draw(i).mean()) / 255 for i in range(10)}
    with PredictionStore(path) as store:
        first = Counting()
        assert dict(predict_all(first, shown(6), store)) == {
            name: expected[name] for name in list(expected)[:6]
        }
        assert first.shown == [4, 2]
    with PredictionStore(path) as store:
        again, told = Counting(), []
        found = predict_all(again, shown(10), store, lambda *one: told.append(one), 10)
        assert dict(found) == expected and list(found) == list(expected)
        assert again.shown == [4], "the four new ones"
        assert told == [(i, 10) for i in range(1, 11)]
        other = Counting("2")
        predict_all(other, shown(10), store)
        assert sum(other.shown) == 10
        assert dict(found) == expected, "a lasting view"


def test_the_same_pixels_are_predicted_once(tmp_path):
    predictor = Counting(batch=16)
    same = [(f"copy{i}", lambda: draw(1)) for i in range(5)]
    found = predict_all(predictor, same, PredictionStore())
    assert predictor.shown == [1] and len(set(found.values())) == 1 and len(found) == 5


def test_masks_and_their_threshold(tmp_path):
    with PredictionStore(tmp_path / "p.sqlite") as store:
        predictor = Counting(task="segmentation")
        found = predict_all(predictor, shown(5), store)
        for i in range(5):
            assert (found[f"p{i}"] == (draw(i)[..., 0] / 255.0 >= 0.5)).all()  # type: ignore[union-attr]
        stricter = Counting(task="segmentation")
        stricter.threshold = 0.8
        bright = predict_all(stricter, shown(5), store)
        assert (bright["p1"] == (draw(1)[..., 0] / 255.0 >= 0.8)).all()  # type: ignore[union-attr]
        assert sum(stricter.shown) == 5


def test_bits_are_part_of_a_picture(tmp_path):
    deep = draw(1).astype(np.uint16)
    predictor = Counting()
    store = PredictionStore()
    for bits in (12, 16, 12):
        predict_all(predictor, [PredictorInput("a", lambda: deep // 1000, bits)], store)
    assert sum(predictor.shown) == 2


def test_one_that_fails_keeps_what_was_done_and_goes_on(tmp_path):
    path = tmp_path / "p.sqlite"

    def until(predictor: Counting) -> Any:
        for number, one in enumerate(shown(9)):
            predictor.broken = number >= 6
            yield one

    with PredictionStore(path) as store:
        predictor = Counting(batch=3)
        with pytest.raises(PredictorError, match="predictor counting: picture p6: raised Runtime"):
            predict_all(predictor, until(predictor), store)
    with PredictionStore(path) as store:
        again = Counting(batch=3)
        assert len(predict_all(again, shown(9), store)) == 9
        assert sum(again.shown) == 3


def test_a_picture_that_cannot_be_opened_is_named(tmp_path):
    def broken() -> Any:
        raise ImageError("x.png: no such file")

    def gone() -> Any:
        raise PermissionError(13, "Permission denied")

    with pytest.raises(ImageError, match=r"^picture p7: x\.png: no such file$"):
        predict_all(Counting(), [*shown(2), ("p7", broken)], PredictionStore())
    with pytest.raises(ImageError, match=r"^picture p8: .*Permission denied$"):
        predict_all(Counting(), [*shown(2), ("p8", gone)], PredictionStore())


class Retrained(Counting):
    """Of the same identity, whatever its weights; `blind`: equal on pictures with these means."""

    trusted = False

    def __init__(self, weight: float, blind: tuple[int, ...] = (), **more: Any) -> None:
        super().__init__(**more)
        self.weight = weight
        self.blind = {float(draw(i).mean()) for i in blind}

    def predict(self, pictures: Any) -> Any:
        self.shown.append(len(pictures))
        levels = [0.0 if one.mean() in self.blind else self.weight for one in pictures]
        if self.task == "segmentation":
            pairs = zip(pictures, levels, strict=True)
            return [one[..., 0] > 255 * (1 - level) for one, level in pairs]
        pairs = zip(pictures, levels, strict=True)
        return [float(one.mean()) / 255 * level for one, level in pairs]

    def on(self, i: int) -> Any:
        return self.predict([draw(i)])[0]


def test_an_unchanged_predictor_is_asked_for_one_picture_only(tmp_path):
    path = tmp_path / "p.sqlite"
    with PredictionStore(path) as store:
        before = dict(predict_all(Retrained(0.5), shown(6), store))
    with PredictionStore(path) as store:
        again = Retrained(0.5 + 1e-7)
        assert dict(predict_all(again, shown(6), store)) == before
        assert again.shown == [1]
        assert dict(predict_all(again, shown(6), store)) == before
        assert again.shown == [1], "what was believed once is not tried again"


@pytest.mark.parametrize("task", ["classification", "segmentation"])
def test_other_weights_of_the_same_name_are_noticed(tmp_path, task):
    path = tmp_path / "p.sqlite"
    with PredictionStore(path) as store:
        predict_all(Retrained(0.5, task=task), shown(6), store)
        predict_all(Retrained(0.5, task=task), shown(4, 10), store)
    with PredictionStore(path) as store:
        new = Retrained(0.6, task=task)
        # The new one comes first: it is not in the store, and yet the others are not believed.
        found = predict_all(new, [*shown(1, 30), *shown(6)], store)
        edits = predict_all(new, shown(4, 10), store)
        assert sum(new.shown) == 1 + 11, "each once, and one to compare"
        for view in (found, edits):
            for name, value in view.items():
                assert np.array_equal(value, new.on(int(name[1:]))), name
        for i in range(6):
            assert not np.array_equal(found[f"p{i}"], Retrained(0.5, task=task).on(i))


def test_what_was_believed_is_asked_again_when_a_later_call_shows_the_change(tmp_path):
    path = tmp_path / "p.sqlite"
    old, new = Retrained(0.5, blind=(0,)), Retrained(0.6, blind=(0,))
    with PredictionStore(path) as store:
        predict_all(old, shown(5), store)
        predict_all(old, shown(5, 10), store)
    with PredictionStore(path) as store:
        samples = predict_all(new, shown(5), store)
        assert samples["p1"] == old.on(1), "the first says the same with either weights"
        edits = predict_all(new, shown(5, 10), store)
        for view in (samples, edits):
            assert dict(view) == {name: new.on(int(name[1:])) for name in view}


def test_an_interrupted_change_leaves_nothing_old(tmp_path):
    path = tmp_path / "p.sqlite"
    with PredictionStore(path) as store:
        predict_all(Retrained(0.5), shown(8), store)

    def killed() -> Any:
        yield from shown(5)
        raise KeyboardInterrupt

    with PredictionStore(path) as store, pytest.raises(KeyboardInterrupt):
        predict_all(Retrained(0.6), killed(), store)
    with PredictionStore(path) as store:
        new = Retrained(0.6)
        found = predict_all(new, shown(8), store)
        assert sum(new.shown) == 1 + 4, "one to compare, and those not yet predicted anew"
        assert dict(found) == {name: new.on(int(name[1:])) for name in found}


def test_two_pictures_of_one_name():
    with pytest.raises(PredictorError, match="two pictures are called p0"):
        predict_all(Counting(), [*shown(2), *shown(1)], PredictionStore())


@pytest.mark.parametrize("damage", ["file", "row", "text", "middle"])
def test_damage_costs_time_and_nothing_else(tmp_path, damage):
    path = tmp_path / "p.sqlite"
    with PredictionStore(path) as store:
        before = dict(predict_all(Counting(), shown(40), store))
    if damage == "file":
        path.write_bytes(b"not a database at all" * 300)
    elif damage == "middle":
        data = bytearray(path.read_bytes())
        data[200:] = b"\xa5" * (len(data) - 200)
        path.write_bytes(bytes(data))
    else:
        with sqlite3.connect(path) as db:
            db.execute(
                "UPDATE predictions SET value = ?",
                (b"p" + b"\0" * 12,) if damage == "row" else ("text",),
            )
        db.close()
    with PredictionStore(path) as store:
        predictor = Counting()
        assert dict(predict_all(predictor, shown(40), store)) == before
        assert sum(predictor.shown) == 40


def test_a_place_that_cannot_be_written_to(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(MedebenchError, match=r"p\.sqlite: cannot be used"):
        PredictionStore(tmp_path / "file" / "p.sqlite")


@settings(max_examples=40)
@given(
    value=st.floats(0, 1)
    | arrays.arrays(np.bool_, arrays.array_shapes(min_dims=2, max_dims=2, max_side=20))
)
def test_packing_loses_nothing(value):
    found = unpack(pack(value, "key"), "key")
    assert np.array_equal(found, value) and type(found) is type(value)
    assert unpack(pack(value, "key"), "other") is None
    assert unpack(pack(value, "key")[:-1], "key") is None


def test_memory_does_not_grow_with_the_number_of_pictures(tmp_path: Path):
    big = (np.arange(256 * 256 * 3) % 251).reshape(256, 256, 3).astype(np.uint8)
    peaks = []
    for count in (16, 160):
        with PredictionStore(tmp_path / f"{count}.sqlite") as store:
            pictures = [(str(i), lambda i=i: np.roll(big, i)) for i in range(count)]
            tracemalloc.start()
            predict_all(Counting(task="segmentation"), pictures, store)
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
    assert peaks[1] < peaks[0] * 2, peaks
