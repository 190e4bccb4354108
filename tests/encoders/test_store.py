"""Features on disk: by content, for many threads and processes, and never in the way."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from medebench.encoders.feature_store import FeatureStore, picture_key, text_key
from tests.conftest import draw


def vectors(*keys: str) -> dict[str, np.ndarray]:
    return {key: np.float32([len(key), number]) for number, key in enumerate(keys)}


def same(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> bool:
    return one.keys() == other.keys() and all(np.array_equal(one[k], other[k]) for k in one)


def test_what_was_put_is_there_later(tmp_path):
    store = FeatureStore("some/encoder", "one", tmp_path)
    put = vectors("a", "b", "c")
    store.put(put)
    assert same(store.get(["a", "c", "nowhere"]), {"a": put["a"], "c": put["c"]})
    store.close()
    assert same(store.get("abc"), put)
    assert same(FeatureStore("some/encoder", "one", tmp_path).get("abc"), put)
    assert store.path.name.startswith("some-encoder-") and store.path.parent == tmp_path


def test_many_keys_at_once(tmp_path):
    store = FeatureStore("encoder", "one", tmp_path)
    put = vectors(*(f"key {number}" for number in range(2345)))
    store.put(put)
    assert same(store.get([*put, *put]), put)


def test_another_identity_has_other_features(tmp_path):
    store = FeatureStore("encoder", "one", tmp_path)
    store.put(vectors("a"))
    assert FeatureStore("encoder", "two", tmp_path).get(["a"]) == {}
    assert FeatureStore("other", "one", tmp_path).get(["a"]) == {}


def test_the_cache_folder_is_the_place(monkeypatch, tmp_path):
    monkeypatch.setenv("MEDEBENCH_CACHE", str(tmp_path))
    store = FeatureStore("encoder", "one")
    store.put(vectors("a"))
    assert store.path.parent == tmp_path / "features" and store.path.is_file()


def test_another_process_finds_them(tmp_path):
    FeatureStore("encoder", "one", tmp_path).put({"a": np.float32([1.5, -2])})
    code = (
        "from pathlib import Path\n"
        "from medebench.encoders.feature_store import FeatureStore\n"
        f"print(FeatureStore('encoder', 'one', Path({str(tmp_path)!r})).get(['a'])['a'].tolist())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[1.5, -2.0]"


def test_many_threads(tmp_path):
    stores = [FeatureStore("encoder", "one", tmp_path) for _ in range(2)]

    def work(number: int) -> bool:
        key = f"key {number % 20}"
        stores[number % 2].put({key: np.float32([number % 20])})
        return float(stores[1 - number % 2].get([key])[key][0]) == number % 20

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(work, range(200)))


def test_what_cannot_be_read_counts_as_not_there(tmp_path):
    store = FeatureStore("encoder", "one", tmp_path)
    store.put(vectors("a", "b", "c", "d"))
    store.close()
    with sqlite3.connect(store.path) as db:
        db.execute("UPDATE features SET vector = x'0102030405' WHERE key = 'a'")
        db.execute("UPDATE features SET vector = NULL WHERE key = 'b'")
        db.execute("UPDATE features SET vector = 'text' WHERE key = 'c'")
    db.close()
    assert store.get("abcd").keys() == {"d"}


def test_what_does_not_check_counts_as_not_there(tmp_path):
    store = FeatureStore("encoder", "one", tmp_path)
    store.put(vectors("a", "b", "c", "d") | {"e": np.float32([1, np.nan]), "f": np.float32([])})
    store.close()
    with sqlite3.connect(store.path) as db:
        whole = dict(db.execute("SELECT key, vector FROM features"))
        flipped = bytes([whole["a"][0] ^ 1]) + whole["a"][1:]
        for key, data in (("a", flipped), ("b", whole["b"][4:]), ("c", whole["d"])):
            db.execute("UPDATE features SET vector = ? WHERE key = ?", (data, key))
    db.close()
    assert store.get("abcdef").keys() == {"d"}


def damage(store: FeatureStore, how: str) -> None:
    if how == "foreign":
        store.path.write_bytes(b"not a database, but long enough to be looked at" * 100)
    elif how == "cut":
        store.path.write_bytes(store.path.read_bytes()[:5000])
    else:
        store.path.write_bytes(store.path.read_bytes()[:4096] + b"x" * 40960)


@pytest.mark.parametrize("how", ["foreign", "cut", "torn"])
@pytest.mark.parametrize("first", ["get", "put"])
def test_a_damaged_or_foreign_file_is_begun_anew(tmp_path, how, first):
    old = FeatureStore("encoder", "one", tmp_path)
    old.put(vectors(*(f"key {number}" for number in range(2000))))
    old.close()
    damage(old, how)
    old.path.with_name(old.path.name + "-wal").write_bytes(b"left over")
    stores = [FeatureStore("encoder", "one", tmp_path) for _ in range(2)]
    if first == "get":
        assert [one.get(["key 7"]) for one in stores] == [{}, {}]
    stores[0].put(vectors("a"))
    assert same(stores[1].get(["a"]), vectors("a"))
    assert same(FeatureStore("encoder", "one", tmp_path).get(["a"]), vectors("a"))


def test_what_another_began_anew_stays(tmp_path):
    keys = [f"key {number}" for number in range(2000)]
    old = FeatureStore("encoder", "one", tmp_path)
    old.put(vectors(*keys))
    old.close()
    one, other = (FeatureStore("encoder", "one", tmp_path) for _ in range(2))
    assert one.get([]) == other.get([]) == {}
    with old.path.open("r+b") as file:
        file.seek(4096)
        file.write(b"x" * 40960)
    assert one.get(keys) == {}
    one.put(vectors("a"))
    assert same(other.get(["a", *keys]), vectors("a"))


def test_a_file_is_begun_anew_once(tmp_path):
    store = FeatureStore("encoder", "one", tmp_path)
    for _ in range(2):
        damage(store, "foreign")
        assert store.get(["a"]) == {}
        store.close()
    store.put(vectors("a"))
    assert store.get(["a"]) == {} and store.path.read_bytes().startswith(b"not a database")


def test_a_damaged_file_that_cannot_be_removed_is_no_error(tmp_path, monkeypatch):
    store = FeatureStore("encoder", "one", tmp_path)
    damage(store, "foreign")

    def refuse(*_, **__):
        raise PermissionError("no")

    monkeypatch.setattr("pathlib.Path.unlink", refuse)
    store.put(vectors("a"))
    assert store.get(["a"]) == {}


def test_a_place_that_cannot_be_written_to_is_no_error(tmp_path):
    (tmp_path / "file").write_text("in the way")
    store = FeatureStore("encoder", "one", tmp_path / "file" / "features")
    store.put(vectors("a"))
    assert store.get(["a"]) == {}


def test_keys_are_of_the_content():
    picture = draw(1)
    assert picture_key(picture, 255) == picture_key(np.asfortranarray(picture), 255)
    others = [
        picture_key(picture, 254),
        picture_key(picture.astype(np.uint16), 255),
        picture_key(picture.reshape(64, 48, 3), 255),
        picture_key(255 - picture, 255),
        text_key("a"),
    ]
    assert len({picture_key(picture, 255), *others}) == 6


@given(st.text(), st.text())
def test_texts_have_their_own_keys(one, other):
    assert (text_key(one) == text_key(other)) == (one == other)


def test_a_text_that_is_no_unicode_has_a_key():
    assert text_key("\ud800") != text_key("?")


@pytest.mark.parametrize("name", ["../../escape", "a" * 300, "å/ß ç"])
def test_any_name_stays_in_the_folder(tmp_path, name):
    store = FeatureStore(name, "one", tmp_path)
    store.put(vectors("a"))
    assert store.path.parent == tmp_path and store.path.is_file()
