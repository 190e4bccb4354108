"""The rules of docs/architecture.md that a program can check."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import medebench

PACKAGE = Path(medebench.__file__).parent
#: A folder imports only from folders before it; single modules of the package come first of all.
ORDER = [
    *("images", "outputs", "cases", "tasks", "models", "workers", "weights", "encoders"),
    *("metrics", "audit", "judge", "grounding", "systems", "engine", "runs", "analysis"),
    *("page", "reporting", "study", "stresstest", "tuning", "phantoms", "plan", "cli"),
]


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


def test_no_two_modules_share_a_name():
    names = Counter(path.name for path in PACKAGE.rglob("*.py") if path.name != "__init__.py")
    assert [name for name, count in names.items() if count > 1] == []


def test_no_folder_overwrites_a_public_function():
    """A package is set as an attribute of its parent as soon as one of its modules is imported."""
    folders = {p.name for p in PACKAGE.iterdir() if (p / "__init__.py").is_file()}
    assert not folders & {*medebench.__all__, "report", "stress", "generate", "export"}


#: Rooms that phantoms/ registers in, by the entry points that any package may use.
EARLIER = ("cases", "weights", "encoders", "systems", "stresstest")
PHANTOMS = re.compile(r"phantom|builtin:\w|\bchest[-_]|Chest(Model|Editor|Encoder)", re.IGNORECASE)


class _Code(ast.NodeTransformer):
    """A module without docstrings and examples of calls; comments are not in the tree."""

    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        return None if isinstance(node.value, ast.Constant) else node

    def visit_Assign(self, node: ast.Assign) -> ast.Assign | None:
        return None if ast.unparse(node.targets[0]) == "EXAMPLE" else node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AnnAssign | None:
        return None if ast.unparse(node.target) == "example" else node


def _phantoms_in(path: Path) -> list[str]:
    code = ast.unparse(_Code().visit(ast.parse(path.read_text("utf-8"))))
    return [f"{path}: {line}" for line in code.splitlines() if PHANTOMS.search(line)]


def test_phantoms_are_strangers_to_the_rooms_they_register_in():
    assert _phantoms_in(PACKAGE / "phantoms" / "phantom_editors.py")
    paths = [path for room in EARLIER for path in (PACKAGE / room).rglob("*.py")]
    assert [line for path in paths for line in _phantoms_in(path)] == []


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
