"""Run somebody else's implementation in a process of its own, on arrays, and take its answer.

    answer = run_reference(CODE, pictures=..., weights=str(path))

CODE finds the arrays in `given` (a dict) and puts its arrays into `answer` (a dict).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

FOLDER = Path(__file__).parent.parent / ".venv" / "references"

#: torchvision's compiled half fits one build of torch; its transforms and models need only that
#: the operators it asks for are known by name.
USABLE_TORCHVISION = """
import torch
if torch.version.cuda is None:  # beside a CUDA build torchvision defines its own
    _library = torch.library.Library("torchvision", "DEF")
    for _name in ("nms", "qnms"):
        _library.define(_name + "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
"""
_FRAME = """
import sys, warnings
import numpy as np
warnings.simplefilter("ignore")
given = dict(np.load(sys.argv[1], allow_pickle=False))
given = {{name: one.item() if one.ndim == 0 else one for name, one in given.items()}}
answer = {{}}
{code}
np.savez(sys.argv[2], **answer)
"""


def run_reference(code: str, **given: Any) -> dict[str, Any]:
    """What `code` answers; the test is skipped where the other packages are not installed."""
    if not FOLDER.is_dir():
        pytest.skip("other implementations are not installed (make test installs them)")
    with tempfile.TemporaryDirectory() as scratch:
        asked, told = Path(scratch) / "given.npz", Path(scratch) / "answer.npz"
        np.savez(asked, **given)
        script = Path(scratch) / "script.py"
        script.write_text(_FRAME.format(code=USABLE_TORCHVISION + code), "utf-8")
        environment = os.environ | {"PYTHONPATH": str(FOLDER), "OMP_NUM_THREADS": "1"}
        done = subprocess.run(
            [sys.executable, str(script), str(asked), str(told)],
            capture_output=True,
            text=True,
            env=environment,
            timeout=600,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        return dict(np.load(told, allow_pickle=False))
