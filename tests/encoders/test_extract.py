"""Every picture and text goes through an encoder once, a batch at a time."""

from __future__ import annotations

import gc
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from medebench.encoders.encoder import TextFeatures
from medebench.encoders.extractor import Extractor, shared_extractor
from medebench.encoders.feature_store import text_key
from tests.conftest import draw
from tests.encoders.plain import PlainEncoder

TEXTS = ["remove the mole", "one two three four five six seven eight nine ten", ""]


def reads_equal(one: TextFeatures, other: TextFeatures) -> bool:
    return np.array_equal(one.features, other.features) and (one.tokens, one.read) == (
        other.tokens,
        other.read,
    )


def test_rows_come_in_the_order_asked_for(tmp_path):
    extractor = Extractor(PlainEncoder(), tmp_path)
    pictures = [draw(seed) for seed in (3, 1, 2, 1, 3)]
    rows = extractor.features([extractor.show(one, 255) for one in pictures])
    assert rows.dtype == np.float32
    assert np.array_equal(rows, np.stack([PlainEncoder.vector(one) for one in pictures]))
    assert extractor.extracted == 3 and extractor.encoder.sizes == [3]


def test_the_second_time_nothing_is_extracted(tmp_path):
    first = Extractor(PlainEncoder(), tmp_path)
    pictures = [draw(seed) for seed in range(10)]
    rows = first.features([first.show(one, 255) for one in pictures])
    again = first.features([first.show(one, 255) for one in pictures])
    assert first.extracted == 10 and np.array_equal(rows, again)
    reads = first.read(TEXTS)
    assert first.extracted == 13
    second = Extractor(PlainEncoder(), tmp_path)
    shown = [second.show(one, 255) for one in pictures]
    assert all(one.prepared is None for one in shown)
    assert np.array_equal(second.features(shown), rows)
    assert all(map(reads_equal, second.read(TEXTS), reads))
    assert second.extracted == 0 and second.encoder.sizes == []


def test_a_damaged_vector_is_extracted_again(tmp_path):
    first = Extractor(PlainEncoder(), tmp_path)
    pictures = [draw(seed) for seed in range(4)]
    shown = [first.show(one, 255) for one in pictures]
    rows = first.features(shown)
    reads = first.read(TEXTS)
    first.close()
    with sqlite3.connect(first.store.path) as db:
        shorter = "UPDATE features SET vector = substr(vector, 5) WHERE key = ?"
        db.execute(shorter, (shown[1].key,))
        not_finite = "UPDATE features SET vector = x'0000c07f' || substr(vector, 5) WHERE key = ?"
        db.execute(not_finite, (shown[2].key,))
        db.execute(shorter, (text_key(TEXTS[0]),))
    db.close()
    second = Extractor(PlainEncoder(), tmp_path)
    assert np.array_equal(second.features([second.show(one, 255) for one in pictures]), rows)
    assert all(map(reads_equal, second.read(TEXTS), reads))
    assert second.extracted == 3


def test_another_identity_is_extracted_anew(tmp_path):
    for identity in ("one", "two"):
        extractor = Extractor(PlainEncoder(identity=identity), tmp_path)
        extractor.features([extractor.show(draw(1), 255)])
        assert extractor.extracted == 1


def test_a_picture_shown_twice_before_it_is_known_is_extracted_once(tmp_path):
    """Two runs with the same output, prepared on two threads."""
    extractor = Extractor(PlainEncoder(), tmp_path)
    shown = [extractor.show(draw(1), 255), extractor.show(draw(1), 255)]
    extractor.features(shown[:1])
    extractor.features(shown[1:])
    assert extractor.extracted == 1


def test_what_another_extracted_in_the_meantime_is_not_extracted_again(tmp_path):
    one, other = (Extractor(PlainEncoder(), tmp_path) for _ in range(2))
    shown = one.show(draw(1), 255)
    row = other.features([other.show(draw(1), 255)])
    assert np.array_equal(one.features([shown]), row) and one.extracted == 0


def test_no_more_than_a_batch_is_in_the_network_at_once(tmp_path):
    encoder = PlainEncoder(batch=16)
    extractor = Extractor(encoder, tmp_path)
    pictures = [np.full((2, 2, 3), n % 256, np.uint8) + np.uint8(n // 256) for n in range(1000)]
    for number, one in enumerate(pictures):
        one[0, 0, 0], one[0, 0, 1] = number % 256, number // 256
    shown = [extractor.show(one, 255) for one in pictures]
    # What is given are the pictures themselves: preparing these makes no copies.
    assert all(one.prepared is picture for one, picture in zip(shown, pictures, strict=True))
    rows = extractor.features(shown)
    assert rows.shape == (1000, 6) and extractor.extracted == 1000
    assert max(encoder.sizes) == 16 and len(encoder.sizes) == 63
    texts = [f"text {number}" for number in range(50)]
    encoder.sizes.clear()
    extractor.read([*texts, *texts])
    assert max(encoder.sizes) == 16 and sum(encoder.sizes) == 50


def test_texts_keep_their_counts(tmp_path):
    extractor = Extractor(PlainEncoder(), tmp_path)
    for reads in (extractor.read(TEXTS), extractor.read(TEXTS)):
        assert [(one.tokens, one.read, one.truncated) for one in reads] == [
            (3, 3, False),
            (10, 8, True),
            (0, 0, False),
        ]
        assert all(map(reads_equal, reads, map(PlainEncoder.one_read, TEXTS)))
    assert extractor.read([]) == []


def test_no_disk_no_matter(tmp_path):
    (tmp_path / "file").write_text("in the way")
    encoder = PlainEncoder()
    extractor = Extractor(encoder, tmp_path / "file")
    for _ in range(2):
        rows = extractor.features([extractor.show(draw(1), 255)])
        assert np.array_equal(rows[0], PlainEncoder.vector(draw(1)))
        extractor.read(TEXTS)
    assert extractor.extracted == 1 + len(TEXTS)


class NotFinite(PlainEncoder):
    @staticmethod
    def vector(picture):
        return np.float32([np.nan] * 6)

    @staticmethod
    def one_read(text):
        return TextFeatures(np.float32([np.inf] * 6), 1, 1)


def test_what_is_not_finite_is_not_kept(tmp_path):
    extractor = Extractor(NotFinite(), tmp_path)
    with pytest.raises(ValueError, match="plain"):
        extractor.features([extractor.show(draw(1), 255)])
    with pytest.raises(ValueError, match="not finite"):
        extractor.read(["text"])
    assert extractor.extracted == 0
    assert extractor.show(draw(1), 255).known is None
    good = Extractor(PlainEncoder(), tmp_path)
    good.read(["text"])
    assert good.extracted == 1


def test_closing_lets_go_and_nothing_is_lost(tmp_path):
    extractor = Extractor(PlainEncoder(), tmp_path)
    shown = extractor.show(draw(1), 255)
    extractor.close()
    extractor.features([shown])
    extractor.close()
    assert extractor.encoder.closed == 2
    assert Extractor(PlainEncoder(), tmp_path).show(draw(1), 255).known is not None


def test_one_extractor_for_all_with_the_same_encoder(tmp_path, monkeypatch):
    monkeypatch.setenv("MEDEBENCH_CACHE", str(tmp_path / "a"))
    one = shared_extractor(PlainEncoder())
    assert shared_extractor(PlainEncoder()) is one
    assert shared_extractor(PlainEncoder(identity="other")) is not one
    elsewhere = PlainEncoder()
    elsewhere.device = "cpu"
    assert shared_extractor(elsewhere) is not one
    monkeypatch.setenv("MEDEBENCH_CACHE", str(tmp_path / "b"))
    assert shared_extractor(PlainEncoder()).store.path != one.store.path
    assert Path(one.store.path).is_relative_to(tmp_path / "a")


def test_an_extractor_that_nobody_uses_is_gone(tmp_path, monkeypatch):
    monkeypatch.setenv("MEDEBENCH_CACHE", str(tmp_path))
    extractor = shared_extractor(PlainEncoder())
    extractor.features([extractor.show(draw(1), 255)])
    del extractor
    gc.collect()
    assert shared_extractor(PlainEncoder()).extracted == 0
