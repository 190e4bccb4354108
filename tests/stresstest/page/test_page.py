"""The folder of a page: whole, self-contained, the same every time, careful with others' files."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from medebench.errors import InputError
from medebench.stresstest.page import PageContext, run_facts, write_overview, write_page
from medebench.stresstest.page.page_files import render_head, sections
from medebench.stresstest.page.stress_formats import BADGES
from medebench.stresstest.stress_outcome import StressOutcome
from tests.stresstest.page.conftest import HOSTILE
from tests.stresstest.page.made_up import MadeUp

NAMESPACES = ("http://www.w3.org/", "http://purl.org/")


class Seen(HTMLParser):
    """Texts, links and ids of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: list[str] = []
        self.texts: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.links.append(value)
            if name == "id" and value:
                self.ids.append(value)
            assert not name.startswith("on"), (tag, name)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())


def _files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.mark.parametrize("which", ["page", "segmented_page"])
def test_everything_is_there_and_nothing_is_elsewhere(
    which: str, request: pytest.FixtureRequest, classified: MadeUp, segmented: MadeUp
) -> None:
    index = request.getfixturevalue(which)
    files = _files(index.parent)
    seen = Seen(index.read_text(encoding="utf-8"))
    for link in seen.links:
        if link.startswith("#"):
            assert link[1:] in seen.ids or link[1:] == "", link
        elif not link.startswith("data:"):
            assert link in files, link
    assert len(seen.ids) == len(set(seen.ids))
    for name, content in files.items():
        if name.endswith((".html", ".js", ".css", ".svg", ".json", ".md", ".csv", ".tex")):
            text = content.decode("utf-8")
            elsewhere = [u for u in re.findall(r"https?://[^\s\"'<>)]+", text)
                         if not u.startswith(NAMESPACES)]  # fmt: skip
            assert not elsewhere, (name, elsewhere)
            for folder in (classified.pictures.path, segmented.pictures.path, index.parent):
                assert str(folder) not in text, name
    for name in ("headline", "answers", "scores", "thresholds"):
        assert f"figures/{name}.svg" in files and files[f"figures/{name}.pdf"][:4] == b"%PDF"
    assert seen.text.count("not for clinical decisions") == 1


def test_the_page_says_what_was_found(page: Path, segmented_page: Path, classified: MadeUp) -> None:
    text = Seen(page.read_text(encoding="utf-8")).text.replace("\u00a0", " ")
    for words in classified.outcome.words:
        assert " ".join(words.split()) in text
    assert classified.outcome.verdict["biased"] == "shortcut"
    for word in classified.outcome.verdict.values():
        assert f"{BADGES[word][0]} {word}" in text
    assert "no picture is positive" in text  # why the sensitivity of the edits has no number
    assert "the editor ran out of memory (2 times)" in text
    assert "17.9 ± 3.7" in text and "context, not comparable" in text
    other = Seen(segmented_page.read_text(encoding="utf-8")).text
    assert "Average Hausdorff distance" in other and "consolidation" in other
    assert "0.859" in other  # published, as Dice is printed here


def test_hostile_names_stay_text(classified: MadeUp) -> None:
    first = replace(classified.outcome.predictors[0], name=HOSTILE)
    outcome = replace(
        classified.outcome,
        name=HOSTILE,
        predictors=(first, *classified.outcome.predictors[1:]),
        verdict={HOSTILE: HOSTILE},
        words=(HOSTILE,),
        encoder=HOSTILE,
    )
    making = PageContext(positive=HOSTILE, about=HOSTILE, facts=[(HOSTILE, [(HOSTILE, HOSTILE)])],
                    command=HOSTILE)  # fmt: skip
    html = _page(outcome, making)
    assert "<img" not in html and "</script><" not in html.replace("</script>\n<", "")
    assert "{{ 7*7 }}" in html and " 49 " not in html
    assert Seen(html).text.count("onerror=alert(1)") >= 9


def _page(outcome: StressOutcome, making: PageContext) -> str:
    parts = sections(outcome, making, {})
    return "\n".join([render_head(outcome, making), *(str(one.html) for one in parts)])


def _bare(outcome: StressOutcome, **changes: object) -> str:
    return Seen(_page(replace(outcome, **changes), PageContext())).text  # type: ignore[arg-type]


def test_pages_of_little(classified: MadeUp) -> None:
    outcome = classified.outcome
    assert "whether they succeeded was not checked" in _bare(outcome, encoder="", thresholds=())
    nothing = _bare(outcome, edits=(), thresholds=(), predictors=(), verdict={}, words=())
    assert "0 edits requested" in nothing
    assert "Predictor" in nothing


def test_a_second_time_nothing_is_written_and_leftovers_go(
    segmented: MadeUp, segmented_page: Path
) -> None:
    out = segmented_page.parent
    before = _files(out)
    stamps = {path: path.stat().st_mtime_ns for path in out.rglob("[!.]*") if path.is_file()}
    (out / "notes.txt").write_text("mine")
    (out / "assets" / "stale.webp").write_bytes(b"x")
    told: list[tuple[int, int]] = []
    index = write_page(
        segmented.outcome,
        segmented.pictures,
        out,
        segmented.making,
        progress=lambda *at: told.append(at),
    )
    assert index == segmented_page
    assert told == [(n, 16) for n in range(1, 17)]
    again = _files(out)
    (out / "notes.txt").unlink()
    assert again.pop("notes.txt") == b"mine"
    assert again == before
    assert all(path.stat().st_mtime_ns == stamp for path, stamp in stamps.items())


def test_a_folder_that_is_not_ours_is_left_alone(segmented: MadeUp, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(InputError, match="not empty"):
        write_page(segmented.outcome, segmented.pictures, tmp_path)
    assert _files(tmp_path) == {"thesis.tex": b"mine"}


def test_overview(classified: MadeUp, segmented: MadeUp, tmp_path: Path) -> None:
    tests = [(classified.outcome, "a b/index.html"), (segmented.outcome, "b/index.html")]
    ours = '<meta name="generator" content="medebench 0.0">'
    (tmp_path / "index.html").write_text(ours)  # an earlier one is renewed
    index = write_overview(tests, tmp_path, title=HOSTILE)
    assert index == tmp_path / "index.html"
    seen = Seen(index.read_text(encoding="utf-8"))
    assert "a%20b/index.html" in seen.links and "b/index.html" in seen.links
    assert len(seen.ids) == len(set(seen.ids))
    assert HOSTILE.split("\u202e")[0].strip() in seen.text
    for made in (classified, segmented):
        for words in made.outcome.words:
            assert words in seen.text.replace("\u00a0", " ")
    assert all(link.startswith(("#", "data:")) or link in ("a%20b/index.html", "b/index.html")
               for link in seen.links)  # fmt: skip
    (tmp_path / "other.html").write_text("<p>mine</p>")
    with pytest.raises(InputError, match="not a page of medebench"):
        write_overview(tests, tmp_path / "other.html")
    with pytest.raises(InputError, match="relative"):
        write_overview([(classified.outcome, "javascript:alert(1)")], tmp_path / "x.html")
    with pytest.raises(InputError, match="at least one"):
        write_overview([], tmp_path / "x.html")


def test_facts_of_a_run_name_nobodys_folders(small_set: Path, tmp_path: Path) -> None:
    import medebench as mb

    run = mb.edit(mb.load_cases(small_set), "blur:sigma=3", out=tmp_path / "runs" / "one")
    facts = dict(run_facts(run))
    assert facts["editor"].startswith("blur") and facts["requested edits"] == "4"
    assert "3" in facts["settings"] and facts["seed"] == "0"
    assert not any(str(tmp_path) in text for text in facts.values())
