"""`tuning:` in a plan: the same experiment, checked before anything of the plan is done."""

from __future__ import annotations

import pytest

import medebench as mb
from tests.conftest import write_set
from tests.tiny_pipelines import QUIET, tiny_instruct_pix2pix

pytestmark = QUIET

TEXT = """
cases: set
{more}
tuning:
  system: diffusers:TINY,steps=1,size=64
  samples: [0, 1]
  draws: 1
  seeds: 1
  steps_per_sample: 1
  arms: per-sample
  tasks: Remove moles
  test: 2
  elsewhere: 0
  metrics: [cp]
  devices: cpu
  keep: scores
"""


@pytest.fixture
def write_plan(tmp_path):
    write_set(tmp_path / "set", 8)
    tiny = tiny_instruct_pix2pix(tmp_path / "tiny")

    def write(old: str = "", new: str = "", more: str = ""):
        path = tmp_path / "plan.yaml"
        path.write_text(TEXT.format(more=more).replace("TINY", str(tiny)).replace(old, new))
        return path

    return write


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("samples:", "smaples:", r"plan.yaml: tuning.smaples: no such field; there are: system"),
        ("test: 2", "test: none", "plan.yaml: tuning.test: input should be a valid integer"),
        ("Remove moles", "Remove", "tuning: tasks: no task 'Remove' with reference images"),
        ("[cp]", "[pc]", "tuning: .*'pc'"),
        ("diffusers:TINY", "blur", "blur"),
        ("devices: cpu", "devices: cuda:7", "tuning: devices: no 'cuda:7' here"),
    ],
)
def test_what_makes_no_sense_is_said_before_anything_is_done(write_plan, tmp_path, old, new, told):
    path = write_plan(old.replace("diffusers:TINY", "diffusers"), new, "systems: [identity]")
    with pytest.raises(mb.InputError, match=told) as error:
        mb.run_plan(path)
    assert "\n" not in str(error.value)
    assert not (tmp_path / "medebench-plan").exists()
