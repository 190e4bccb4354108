"""What a finding spoils, cases chosen by finding, audits kept on disk, sheets of cases."""

from __future__ import annotations

import json
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import medebench as mb
from medebench.audit import (
    AUDIT_VERSION,
    KINDS,
    audit,
    cases_with,
    kind_of,
    known_audit,
    summary,
    without_findings,
)
from medebench.audit.audit_finding import Audit
from medebench.audit.contact_sheet import PER_SHEET, write_sheets
from medebench.errors import InputError
from medebench.files import cache_folder
from tests.audit.drafts import Draft, scene
from tests.cli.test_cli import call
from tests.conftest import REPOSITORY


def flawed(folder: Path) -> Draft:
    draft = Draft(folder)
    draft.save(2, "changed", scene(99))
    draft.records[2]["rephrased_prompt"] = "Fill the"
    draft.records[1]["prompt"] = "Straighten the patient鈥檚 finger."
    return draft


def test_every_kind_says_what_it_does_to_metrics_that_exist() -> None:
    names = [one.name for one in mb.list_metrics()]
    names += ["ea_judge", "vq_offline", "intended_offline", "success"]
    # Scores of texts, where they are not there yet.
    names += ["choice_accuracy", "gap_accuracy", "key_accuracy", "exact_match", "token_f1"]
    names += ["bleu_sacre", "rouge_l", "cider", "bertscore", "finding_f1", "report_sections"]
    page = (REPOSITORY / "docs" / "audit.md").read_text("utf-8")
    for code, kind in KINDS.items():
        assert f"| `{code}` | {kind.severity} | {kind.label} | {kind.effect} |" in page
        assert kind.remedy and kind.effect.endswith(".")
        for pattern in kind.spoils:
            assert any(fnmatchcase(name, pattern) for name in names), (code, pattern)
    assert kind_of("no-organ").severity == "warning"
    assert kind_of("no-subtask").severity == "note"
    assert not kind_of("personal-metadata").spoils


def test_the_summary_has_a_row_for_each_finding_and_names_the_columns_that_suffer(
    tmp_path: Path,
) -> None:
    found = audit(flawed(tmp_path).read())
    rows = {row.finding: row for row in summary(found.findings, ["cp", "ssim", "niqe", "ea_x"])}
    assert list(rows) == ["cut-text", "mojibake", "other-photograph"]
    assert rows["other-photograph"].cases == 1
    assert rows["other-photograph"].spoils == ("ssim", "ea_x")
    assert rows["cut-text"].spoils == ("ea_x",)
    assert "lpips_*" in summary(found.findings)[2].spoils
    assert json.loads(json.dumps([row.to_json() for row in rows.values()]))


def test_an_audit_survives_being_written(tmp_path: Path) -> None:
    found = audit(flawed(tmp_path).read())
    told = json.loads(json.dumps(found.to_json()))
    assert told["version"] == AUDIT_VERSION
    assert Audit.from_json(told).findings == tuple(
        type(one)(one.code, one.cases, one.detail, one.groups, one.severity)
        for one in found.findings
    )


def test_cases_are_left_out_by_finding_and_recorded(tmp_path: Path) -> None:
    cases = flawed(tmp_path).read()
    left = without_findings(cases, ["other-photograph", "cut-text", "roi-tiny"])
    assert [case.id for case in left.cases] == ["1", "4"]
    assert left.left_out == {"other-photograph": ("2",), "cut-text": ("3",), "roi-tiny": ()}
    assert left.to_json()["audit_version"] == AUDIT_VERSION
    assert (left.to_json()["cases"], left.to_json()["of"]) == (2, 4)
    assert left.told().startswith("2 of 4 cases: without other-photograph (1), cut-text (1)")
    assert without_findings(cases, []).cases == cases
    assert cases_with(audit(cases).findings, "mojibake") == ("2",)


@pytest.mark.parametrize(
    ("code", "hint"),
    [("other-photo", "did you mean 'other-photograph'"), ("zzz", "there are: bad-record")],
)
def test_an_unknown_finding_is_one_line_with_a_hint(tmp_path: Path, code: str, hint: str) -> None:
    cases = flawed(tmp_path).read()
    with pytest.raises(InputError, match=hint):
        without_findings(cases, [code])
    with pytest.raises(InputError, match="every case has one"):
        without_findings(cases.select(ids=["2"]), ["other-photograph"])


def test_an_audit_is_done_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEDEBENCH_CACHE", str(tmp_path / "cache"))
    draft = flawed(tmp_path / "set")
    looked: list[int] = []

    def count(done: int, total: int) -> None:
        looked.append(done)

    first = known_audit(draft.read(), progress=count)
    assert len(looked) == 4
    again = known_audit(draft.read(), progress=count)
    assert len(looked) == 4
    assert again.to_json() == first.to_json()
    draft.save(4, "changed", scene(98))
    changed = known_audit(draft.read(), progress=count)
    assert len(looked) == 8
    assert changed["other-photograph"].cases == ("2", "4")
    for stored in (cache_folder() / "audits").iterdir():
        stored.write_text('{"findings": 3')
    assert known_audit(draft.read()).to_json() == changed.to_json()


def test_check_keeps_its_audit_for_the_next_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEDEBENCH_CACHE", str(tmp_path / "cache"))
    cases = flawed(tmp_path / "set").read()
    mb.check_cases(cases)
    monkeypatch.setattr("medebench.audit.audit_cache.audit", None)
    assert without_findings(cases, ["cut-text"]).left_out == {"cut-text": ("3",)}


def test_mojibake_is_repaired_in_the_copy(tmp_path: Path) -> None:
    flawed(tmp_path / "set").read()
    found = mb.check_cases(tmp_path / "set", fixed=tmp_path / "out")
    assert found.fix is not None
    assert "1 texts put back" in found.fix.summary()
    copy = mb.load_cases(tmp_path / "out")
    assert copy["2"].prompt == "Straighten the patient’s finger."
    assert "mojibake" not in {one.code for one in audit(copy).findings}
    assert found.fix.copied == 12


def test_sheets_show_every_case_and_what_is_missing(tmp_path: Path) -> None:
    draft = Draft(tmp_path / "set", PER_SHEET + 2)
    for case_id in range(5, PER_SHEET + 3):
        draft.save(case_id, "previous_mask", np.eye(80, 96, dtype=np.uint8) * 255)
    draft.path(1, "changed").write_bytes(b"no image")
    del draft.records[1]["changed_image"]
    cases = draft.read()
    sheets = write_sheets(cases.cases, tmp_path / "sheet.png")
    assert [path.name for path in sheets] == ["sheet.png", "sheet-2.png"]
    with Image.open(sheets[0]) as first, Image.open(sheets[1]) as second:
        assert first.width == second.width and first.height > 5 * second.height


def test_cases_show_makes_a_sheet_of_a_finding(tmp_path: Path) -> None:
    flawed(tmp_path / "set").read()
    out = tmp_path / "sheet.png"
    done = call("cases", "show", tmp_path / "set", "--finding", "other-photograph", "--out", out)
    assert done.exit_code == 0 and out.is_file()
    assert "other-photograph:  2" in done.stdout
    done = call("cases", "show", tmp_path / "set", "--finding", "other-photo")
    assert done.exit_code == 2 and "did you mean 'other-photograph'?" in done.stderr
    done = call("cases", "show", tmp_path / "set", "2", "--out", tmp_path / "two.png")
    assert done.exit_code == 0 and (tmp_path / "two.png").is_file()
    done = call("cases", "show", tmp_path / "set", "--out", tmp_path / "sheet.pdf")
    assert done.exit_code == 2 and not (tmp_path / "sheet.pdf").exists()
