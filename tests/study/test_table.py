"""Rankings as CSV, both ways."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medebench.errors import InputError
from medebench.study.rankings import About, Given, Rankings
from medebench.study.rankings_table import rankings_csv, read_rankings

HEAD = "annotator,case,dimension,model,rank\n"
NAMES = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=8)


@st.composite
def _rankings(draw: st.DrawFn) -> Rankings:
    people = draw(st.lists(NAMES, min_size=1, max_size=3, unique=True))
    cases = draw(st.lists(NAMES, min_size=1, max_size=3, unique=True))
    models = draw(st.lists(NAMES, min_size=2, max_size=4, unique=True))
    keys = [Given(p, c, d, s) for p in people for c in cases for d in ("ea", "vq") for s in (1, 2)]
    chosen = draw(st.lists(st.sampled_from(keys), min_size=1, unique=True))
    ranks = st.dictionaries(st.sampled_from(models), st.integers(1, 9).map(float), min_size=1)
    given = {key: draw(ranks) for key in chosen}
    used = {key.case for key in given}
    return Rankings(
        tuple(sorted({key.annotator for key in given})),
        tuple(sorted({model for one in given.values() for model in one})),
        tuple(d for d in ("ea", "vq") if any(key.dimension == d for key in given)),
        {case: About(draw(NAMES), draw(NAMES)) for case in sorted(used)},
        given,
    )


@given(_rankings())
@settings(max_examples=60, deadline=None)
def test_what_goes_out_comes_in_again(tmp_path_factory: pytest.TempPathFactory, one: Rankings):
    path = tmp_path_factory.mktemp("csv") / "rankings.csv"
    path.write_text(rankings_csv(one), "utf-8")
    assert read_rankings(path) == one


def test_tables_of_a_spreadsheet_are_read(tmp_path: Path):
    path = tmp_path / "excel.csv"
    text = "Annotator;Case;Dimension;Model;Rank;remark\r\nA;1;EA;x;1;fine\r\n\r\nA;1;EA;y;2.5;\r\n"
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    read = read_rankings(path)
    assert read.given == {Given("A", "1", "ea"): {"x": 1.0, "y": 2.5}}
    assert read.cases == {"1": About("", "1")}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "line 1: column 'annotator' is missing"),
        ("annotator,case,dimension,model\n", "column 'rank' is missing"),
        ("annotator,case,case,dimension,model,rank\n", "'case' appears twice"),
        (HEAD, "has no row"),
        (HEAD + "a,1,ea,x\n", "line 2: has 4 cells, but the first line has 5"),
        (HEAD + "a,1,ea,x,first\n", "line 2: rank is 'first'"),
        (HEAD + "a,1,ea,x,nan\n", "rank is 'nan'"),
        (HEAD + "a,1,ea,x,inf\n", "rank is 'inf'"),
        (HEAD + "a,1,ea,x,\n", "rank is ''"),
        (HEAD + "a,1,ea,x,0\n", "rank is '0'; expected a number from 1"),
        (HEAD + "a,,ea,x,1\n", "line 2: case is empty"),
        (HEAD + "a,1,ea,x,1\na,1,ea,x,2\n", "line 3: 'a' ranks 'x' a second time"),
        (HEAD + 'a,1,ea,"x,1\n', "is not CSV"),
        (HEAD.strip() + ",showing\na,1,ea,x,1,3\n", "showing is '3'"),
        (HEAD.strip() + ",source\na,1,ea,x,1,p\nb,1,ea,x,1,q\n", "line 3: source of case '1'"),
    ],
)
def test_a_mistake_is_one_line_with_file_and_line(tmp_path: Path, text: str, words: str):
    path = tmp_path / "r.csv"
    path.write_text(text)
    with pytest.raises(InputError) as found:
        read_rankings(path)
    assert str(path) in str(found.value)
    assert words in str(found.value)
    assert "\n" not in str(found.value)


def test_other_encodings_and_missing_files_are_named(tmp_path: Path):
    path = tmp_path / "latin.csv"
    path.write_bytes(HEAD.encode() + "Jörg,1,ea,x,1\n".encode("latin-1"))
    with pytest.raises(InputError, match="is not UTF-8; save it as CSV UTF-8"):
        read_rankings(path)
    with pytest.raises(InputError, match="cannot be read"):
        read_rankings(tmp_path / "nothing.csv")
