"""The rules of docs/architecture.md that a program can check."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import medebench

PACKAGE = Path(medebench.__file__).parent
#: A folder imports only from folders before it; single modules of the package come first of all.
ORDER = [
    "cases",
    "clients",
    "weights",
    "encoders",
    "metrics",
    "judge",
    "grounding",
    "editors",
    "runs",
    "analysis",
]
ORDER += ["report", "study", "build", "stress", "tuning", "plan", "cli"]


def _imports(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
        elif isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
    return {name for name in names if name.split(".")[0] == "medebench"}


def test_imports_go_one_way():
    wrong = []
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE).parts
        own = ORDER.index(parts[0]) if len(parts) > 1 else -1
        if path.name in ("__init__.py", "__main__.py") and len(parts) == 1:
            continue
        for name in _imports(path):
            target = name.split(".")[1] if "." in name else None
            if target in ORDER and ORDER.index(target) > own:
                wrong.append(f"{'/'.join(parts)} imports {name}")
    assert wrong == []


def test_folders_are_those_of_the_design():
    folders = {p.name for p in PACKAGE.iterdir() if (p / "__init__.py").is_file()}
    assert folders <= set(ORDER)


def test_the_command_line_starts_without_heavy_imports():
    code = (
        "import sys, medebench.cli\n"
        "heavy = {'numpy', 'numba', 'cv2', 'PIL', 'polars', 'scipy', 'matplotlib', 'pydantic',"
        " 'rich', 'torch', 'huggingface_hub', 'jinja2', 'yaml', 'httpx'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_public_names_are_there():
    for name in medebench.__all__:
        assert getattr(medebench, name) is not None
