"""A study as a section of the report."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import pytest
from markupsafe import Markup

import medebench as mb
from medebench.page.section import Section
from medebench.reporting import build_report
from medebench.study.results.results_folder import said, section
from medebench.study.results.results_model import StudyResults
from medebench.study.results.study_tables import csv_files
from tests.conftest import write_set
from tests.study.made_up import HOSTILE, hostile, made_up

VOID = {"meta", "link", "input", "br", "img", "hr", "wbr"}


class Sound(HTMLParser):
    """Checks that tags are closed in order; gathers ids, links and text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        found = dict(attrs)
        if found.get("id"):
            self.ids.append(found["id"] or "")
        if tag in ("a", "link") and found.get("href"):
            self.links.append(found["href"] or "")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def parse(html: str) -> Sound:
    found = Sound()
    found.feed(str(html))
    assert found.open == []
    return found


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[mb.Run]:
    folder = tmp_path_factory.mktemp("section")
    cases = mb.load_cases(write_set(folder / "set", 2))
    made = [mb.edit(cases, name, out=folder / "runs" / name) for name in ("identity", "blur")]
    mb.score(made, metrics=["ssim", "cp"])
    return made


SMALL = {"dimensions": ("realism",), "metrics": ("ssim",), "models": ("a", "b"), "controls": ()}
KINDS: dict[str, Callable[[], StudyResults]] = {
    "usual": made_up,
    "hostile": hostile,
    "alone": lambda: made_up(people=("ann",), with_runs=False, origin="table"),
    "small": lambda: made_up(sources=4, **SMALL),  # type: ignore[arg-type]
}


@cache
def made_section(kind: str) -> Section:
    """Drawn once for all tests."""
    return section(KINDS[kind]())


@pytest.mark.parametrize("kind", list(KINDS))
def test_html_is_sound_and_safe(kind: str) -> None:
    made = made_section(kind)
    page = parse(made.html)
    assert "script" not in page.tags
    assert page.tags.count("section") == 1 and page.ids[0] == made.id
    assert len(page.ids) == len(set(page.ids))
    for link in page.links:
        name = link.rpartition("/")[2]
        assert name in made.files or name.rpartition(".")[0] in {d.name for d in made.drawings}


def test_hostile_names_are_text() -> None:
    made = made_section("hostile")
    page = parse(made.html)
    for name in HOSTILE:
        assert " ".join(name.split()) in " ".join(page.text.split())
    assert "alert(1)" not in "".join(re.findall(r"<[^>]*>", re.sub(r'"[^"]*"', '""', made.html)))


def test_sentences_become_code_and_nothing_else() -> None:
    assert said(["`a<b>` & c."]) == "<code>a&lt;b&gt;</code> &amp; c."


def test_numbers_of_the_tables_are_those_of_the_results() -> None:
    results = made_up()
    text = parse(made_section("usual").html).text
    for dimension in results.dimensions:
        assert dimension.worths is not None
        for one in dimension.worths.metrics:
            if one.rho.value is not None:
                assert f"{one.rho.value:.2f}".replace("-", "−") in text
            else:
                assert one.rho.reason in text


def test_notes_say_what_bold_is() -> None:
    text = " ".join(parse(made_section("usual").html).text.split())
    assert "Bold: the best of the metrics that have a value in at least half" in text
    assert "the highest. †" not in text and "jackknife" in text
    assert "One person against the mean of the others" in text


def test_a_report_takes_it_in_and_lets_it_go(runs: list[mb.Run], tmp_path: Path) -> None:
    out = tmp_path / "report"
    made = made_section("usual")
    page = build_report(runs, out, sections=[made]).index.read_text("utf-8")
    found = parse(page)
    assert "#people" in found.links and "assets/people.css" in found.links
    assert len(found.ids) == len(set(found.ids))
    for link in found.links:
        if not link.startswith(("#", "data:")):
            assert (out / link).is_file(), link
    written = (out / "assets/people/metrics.csv").read_text("utf-8")
    assert written == csv_files(made_up())["metrics.csv"]
    plain = build_report(runs, out).index.read_text("utf-8")
    assert "people" not in plain.lower().replace("with people", "")
    left = [path.name for path in out.rglob("*") if "people" in path.name]
    assert left == []


def test_a_section_must_be_safe_and_stay_in_its_place() -> None:
    with pytest.raises(TypeError, match="Markup"):
        Section("x", "X", "<b>")  # type: ignore[arg-type]
    for name in ("../x.csv", "a/b.csv", ".hidden", ""):
        with pytest.raises(ValueError, match="cannot be the name"):
            Section("x", "X", Markup(), files={name: ""})
    with pytest.raises(ValueError, match="cannot be the name"):
        Section('x" onload="', "X", Markup())
