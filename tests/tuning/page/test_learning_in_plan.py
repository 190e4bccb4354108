"""A plan with an experiment: its report has the section, its folder the pages."""

from __future__ import annotations

from pathlib import Path

import medebench as mb
from medebench.tuning.tuning_folder import read_tuning
from tests.conftest import write_set
from tests.study.test_section import parse
from tests.tiny_pipelines import QUIET, tiny_instruct_pix2pix

pytestmark = QUIET

PLAN = """
cases: {cases}
systems: [blur]
metrics: [cp]
ground: false
report: {{published: false, scale: false, audit: false}}
tuning:
  system: "diffusers:{tiny},steps=1,size=64"
  samples: [0, 2]
  draws: 1
  seeds: 1
  steps_per_sample: 1
  arms: [per-sample]
  tasks: [Remove moles]
  test: 2
  elsewhere: 0
  metrics: [cp]
  devices: cpu
"""


def test_the_report_of_a_plan_says_what_was_learned(tmp_path: Path):
    tiny = tiny_instruct_pix2pix(tmp_path / "tiny")
    plan = tmp_path / "plan.yaml"
    plan.write_text(PLAN.format(cases=write_set(tmp_path / "set", 16), tiny=tiny))
    done = mb.run_plan(plan)
    assert done.report is not None and done.tuning is not None
    found = parse(done.report.index.read_text())
    assert "learning" in found.ids
    (link,) = [one for one in found.links if one.endswith("index.html")]
    page = (done.report.index.parent / link).resolve()
    assert page == done.tuning.index.resolve()
    results = parse(page.read_text())
    assert done.tuning.words[0] in results.text.replace("\u00a0%", " %")
    # Pictures come from the runs of the experiment; nobody's folders are told.
    assert list((page.parent / "assets" / "examples").glob("*.webp"))
    assert str(tmp_path) not in page.read_text()
    assert str(tmp_path) not in (page.parent / "results.json").read_text()
    assert read_tuning(done.tuning.path).design.samples == (0, 2)
    live = list(done.tuning.path.rglob("state.js"))
    assert len(live) == 1 and '"finished":true' in live[0].read_text()
