"""Records of one source image count as one, wherever its copies lie."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

import medebench as mb
from medebench.cases import load_cases
from medebench.cases.open_case import open_case
from medebench.cases.source_clusters import SEPARATOR, joined_sources
from medebench.reporting.collect import collect
from medebench.study.study_sample import shared_cases
from tests.cases.medgen_sets import records, write_canonical, write_view

HERE = __file__


class Talker(mb.System):
    gives = ("text",)

    def generate(self, request):
        return f"words about {request.case.case.id}"


@mb.metric("length", "how long the text is", high=1000, of="text")
def length(case, text):
    return len(text)


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("MEDEBENCH_CACHE", str(tmp_path / "cache"))


LINKED = (
    "vqa-multiple-choice-000001",
    "vqa-blank-filling-000001",
    "vqa-report-generation-000002",
)


@pytest.fixture
def linked(tmp_path):
    """A set in which three cases share an image under other names."""
    root = write_canonical(tmp_path / "set", records(2))
    first = root / "VQA" / "multiple-choice" / "images" / "in_0_0.png"
    # As the further image of one record, and of another format's only image, encoded anew.
    (root / "VQA" / "report-generation" / "images" / "in_1_2.png").write_bytes(first.read_bytes())
    other = root / "VQA" / "blank-filling" / "images" / "in_0_0.png"
    Image.open(first).save(other, compress_level=9)
    assert other.read_bytes() != first.read_bytes()
    return root


def test_the_same_bytes_under_other_names_are_one_cluster_in_a_run(linked, tmp_path):
    run = mb.generate(str(linked), f"{HERE}:Talker", tmp_path / "run")
    mb.score(run, [length])
    source = {row["case"]: row["source"] for row in run.frame().iter_rows(named=True)}
    assert len(source) == 8
    assert {case for case in source if source[case] == source[min(LINKED)]} == {*LINKED}
    assert len(set(source.values())) == 6


def test_a_run_over_a_part_of_a_cluster_is_paired_with_one_over_all_of_it(linked, tmp_path):
    cases, runs = load_cases(linked), {}
    parts = {"whole": None, **{case: [case, "vqa-question-answering-000002"] for case in LINKED}}
    for name, ids in parts.items():
        chosen = cases if ids is None else cases.select(ids=ids)
        runs[name] = mb.generate(chosen, f"{HERE}:Talker", tmp_path / "runs" / name)
        mb.score(runs[name], [length])
    frames = {name: run.frame().sort("case") for name, run in runs.items()}
    named = {
        frame.filter(case=name)["source"].item() for name, frame in frames.items() if name in LINKED
    }
    assert len(named) > 1  # alone, each is named after an image of its own
    for name in LINKED:
        found = mb.compare(runs["whole"], runs[name])
        assert found.cases == 2 and {one.pair.n_cases for one in found.changes} == {2}
    frame = collect(list(runs.values())).frame
    assert frame.select("case", "source").unique()["case"].is_unique().all()
    shown, _ = shared_cases([runs["whole"]])
    assert len({one.source for one in shown if one.id in LINKED}) == 1 < len(shown)


def test_a_contact_sheet_is_of_the_source_of_its_images(tmp_path):
    root = write_canonical(tmp_path / "set", records(2))
    whole, view = load_cases(root), load_cases(write_view(tmp_path / "view", root))
    for case in whole:
        assert open_case(case).source == open_case(view[case.id]).source
    several = open_case(whole["vqa-multiple-choice-000002"]).source
    assert len(several.split(SEPARATOR)) == 3


NAMES = st.lists(st.sampled_from("abcdefghij"), min_size=1, max_size=3, unique=True)


@given(st.lists(NAMES, min_size=1, max_size=12))
def test_cases_are_one_exactly_if_images_link_them(images):
    sources = {str(number): SEPARATOR.join(names) for number, names in enumerate(images)}
    joined = joined_sources(sources)
    linked = np.array([[bool({*one} & {*other}) for other in images] for one in images])
    for _ in images:
        linked = linked @ linked
    for one in range(len(images)):
        for other in range(len(images)):
            assert (joined[str(one)] == joined[str(other)]) == linked[one, other]
    backwards = joined_sources(dict(reversed(sources.items())))
    assert backwards == joined
    assert all(joined[str(number)] <= min(names) for number, names in enumerate(images))
