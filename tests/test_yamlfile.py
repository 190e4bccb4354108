"""YAML of users: whatever is in it, fields come out or one line that says where."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from medebench.cli import app
from medebench.errors import InputError
from medebench.yamlfile import parse_fields


def fields(text):
    return parse_fields("plan.yaml", text, "'cases:'")


def refused(text):
    with pytest.raises(InputError) as caught:
        fields(text)
    message = str(caught.value)
    assert "\n" not in message and len(message) < 400 and message.startswith("plan.yaml")
    return message


def test_what_people_write_is_read():
    text = (
        "name: a study\nseed: 7\nshare: 0.5\nfixed: true\nnone: ~\nday: 2024-01-31\n"
        "quoted: !!str 5\n"
        "base: &base {steps: 5, size: [1, 2]}\nother: {<<: *base, steps: 6}\nagain: *base\n"
    )
    assert fields(text) == {
        "name": "a study",
        "seed": 7,
        "share": 0.5,
        "fixed": True,
        "none": None,
        "day": "2024-01-31",
        "quoted": "5",
        "base": {"steps": 5, "size": [1, 2]},
        "other": {"steps": 6, "size": [1, 2]},
        "again": {"steps": 5, "size": [1, 2]},
    }


LAUGHS = "a0: &a0 [x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12)
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("seed: !!timestamp x", "line 1, column 7: the tag !!timestamp is not read; leave it out"),
        ("seed: !!int x", "line 1, column 7: 'x' does not fit its tag !!int"),
        ("seed: !!int", "does not fit its tag !!int"),
        ("seed: !!bool x", "'x' does not fit its tag !!bool"),
        ("seed: !!map x", "the tag !!map does not fit a plain value"),
        ("seed: !!binary x", "the tag !!binary is not read"),
        ("seed: !!python/object/apply:os.system [ls]", "the tag !!python/object/apply:os.system"),
        ("seed: !own x", "the tag !own is not read"),
        ("seed: 1\nout: x\nseed: 2", "line 3, column 1: the field 'seed' is there twice"),
        ("a: {b: 1, b: 2}", "the field 'b' is there twice"),
        ("seed: " + "9" * 30, "a whole number of too many digits"),
        ("seed: " + "9" * 5000, "a whole number of too many digits"),
        ("seed: 0x" + "f" * 300, "a whole number of too many digits"),
        ("a: " + "[" * 60 + "]" * 60, "nested more than 50 levels deep"),
        ("a: " + "[" * 5000, "nested too deeply"),
        ("a: " + "{b: " * 5000, "nested too deeply"),
        ("? [a]\n: b", "a list or a mapping as the name of a field"),
        ("a: &a [*a]", "a value that contains itself"),
        (LAUGHS, "stands for more than 100,000 values"),
        ("a: \x00", "special characters are not allowed"),
        ("a: [", "not YAML"),
        ("a: *b", "found undefined alias"),
        ("- a", "expected fields such as"),
        ("1: a", "expected fields such as"),
        ("", "expected fields such as"),
        ("a: 1\n---\nb: 2", "but found another document"),
    ],
)
def test_everything_odd_is_one_line_that_says_where(text, words):
    assert words in refused(text)


def test_the_command_line_says_it_too(tmp_path):
    plan = tmp_path / "plan.yaml"
    plan.write_text("cases: phantoms\neditors: [blur]\nseed: !!timestamp x\n")
    done = CliRunner().invoke(app, ["run", str(plan), "--out", str(tmp_path / "out")])
    assert done.exit_code == 2 and "line 3, column 7: the tag !!timestamp" in done.stderr
    plan.write_bytes(b"#" * 1_000_001)
    done = CliRunner().invoke(app, ["run", str(plan), "--out", str(tmp_path / "out")])
    assert done.exit_code == 2 and "larger than 1,000,000 bytes" in done.stderr


PIECES = st.sampled_from(
    [*"abc019:-?[]{},&*!|>'\"%@`#~=. \n\t", ": ", "\n  ", "- ", "!!", "!!int ", "!!float ", "0x",
     "!!set ", "!!omap ", "!!timestamp ", "!!null ", "&a ", "*a", "<<: ", "...", "---\n", "1_000",
     "190:20:30", ".inf", ".nan", "1e999", "0b_", "yes", "2024-01-01", "\ud800", "\x85", "\ufeff",
     "a: ", "=", "!!value ", "!<tag:yaml.org,2002:int> "]
)  # fmt: skip


@given(st.lists(PIECES, max_size=30).map("".join))
def test_fields_or_one_line(text):
    try:
        found = fields(text)
    except InputError as error:
        assert re.fullmatch(r"plan\.yaml[^\n]*", str(error))
    else:
        assert all(isinstance(key, str) for key in found)


@given(st.text())
def test_any_text(text):
    test_fields_or_one_line.hypothesis.inner_test(text)
