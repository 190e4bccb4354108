"""A tree of medebench with the Python it runs in."""

from __future__ import annotations

import hashlib
import io
import os
import re
import socket
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).parent.parent.parent
#: Nothing of the user's own set-up may tell the two trees apart.
_LEFT_OUT = ("MEDEBENCH_", "OPENAI_", "ANTHROPIC_", "GEMINI_", "GOOGLE_", "PYTHON")


@dataclass(frozen=True)
class Tree:
    side: str
    checkout: Path
    python: Path
    #: Where its results lie.
    work: Path
    weights: Path | None

    @property
    def identity(self) -> str:
        """Changes with the code and the work: results of another state are made anew."""
        digest = hashlib.sha256(f"{self.python} {self.weights}".encode())
        source, own = self.checkout / "src", Path(__file__).parent
        work = [own / name for name in ("environment.py", "odd_judge.py", "workload.py")]
        for path in (*sorted(source.rglob("*")), *work):
            if path.is_file() and "__pycache__" not in path.parts:
                digest.update(f"\n{os.path.relpath(path, source)}\n".encode() + path.read_bytes())
        return digest.hexdigest()

    @property
    def port(self) -> int:
        """A free port, the same for both trees."""
        kept = self.work.parent / "port"
        if not kept.is_file():
            with socket.socket() as one:
                one.bind(("127.0.0.1", 0))
                kept.write_text(str(one.getsockname()[1]))
        return int(kept.read_text())

    @property
    def environment(self) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith(_LEFT_OUT)}
        return kept | {
            "PYTHONPATH": os.pathsep.join([str(self._announced()), str(self.checkout / "src")]),
            "MEDEBENCH_CACHE": str(self.work / "cache"),
            "MEDEBENCH_WEIGHTS": str(self.weights or self.work / "no-weights"),
            "OPENAI_API_KEY": "a-key-for-loopback-only",
            "HF_HUB_OFFLINE": "1",
            "NO_PROXY": "127.0.0.1",
            "NO_COLOR": "1",
            # The order in which threads add up must not tell the trees apart either.
            "OMP_NUM_THREADS": "1",
        }

    def medebench(self, *words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        command = [str(self.python), "-m", "medebench", *words]
        return subprocess.run(
            command, cwd=cwd, env=self.environment, capture_output=True, text=True, check=False
        )

    def check(self) -> None:
        """That this Python imports this tree and no other."""
        command = [str(self.python), "-c", "import medebench; print(medebench.__file__)"]
        done = subprocess.run(
            command, env=self.environment, capture_output=True, text=True, check=False
        )
        if not Path(done.stdout.strip()).is_relative_to(self.checkout / "src"):
            said = done.stderr.strip().splitlines()[-1:] or [done.stdout.strip()]
            raise SystemExit(f"{self.python}: does not import {self.checkout}/src: {said[0]}")

    def _announced(self) -> Path:
        """A folder with the tree's entry points, which come before those of an installed tree."""
        folder = self.work / "announced"
        info = folder / "medebench-0.dist-info"
        if not info.is_dir():
            info.mkdir(parents=True)
            project = (self.checkout / "pyproject.toml").read_text("utf-8")
            (info / "entry_points.txt").write_text(entry_points(project), "utf-8")
            package = (self.checkout / "src" / "medebench" / "__init__.py").read_text("utf-8")
            version = re.search(r'__version__ = "([^"]+)"', package)
            said = f"Metadata-Version: 2.1\nName: medebench\nVersion: {version and version[1]}\n"
            (info / "METADATA").write_text(said, "utf-8")
        return folder


def entry_points(project: str) -> str:
    """The entry points of a pyproject.toml as an installer writes them.

    >>> entry_points('[project.entry-points."a.b"]\\nx = "y:Z"\\n[tool.other]\\nm = "n"')
    '[a.b]\\nx = y:Z\\n'
    """
    lines, inside = [], False
    for line in project.splitlines():
        if head := re.match(r"\[([^\]]+)\]", line):
            group = re.fullmatch(r'project\.entry-points\."?([^"]+)"?', head[1])
            inside = group is not None
            lines += [f"[{group[1]}]"] if group else []
        elif inside and (entry := re.match(r'"?([^"=]+?)"?\s*=\s*"([^"]+)"', line)):
            lines.append(f"{entry[1]} = {entry[2]}")
    return "\n".join([*lines, ""])


def find_tree(
    name: str, side: str, work: Path, python: Path | None, weights: Path | None, *, ready: bool
) -> Tree:
    """`name` is a checkout or a revision of this repository; `ready`: it is going to be run."""
    folder = work / side
    folder.mkdir(parents=True, exist_ok=True)
    checkout = Path(name).expanduser().absolute()
    if not (checkout / "pyproject.toml").is_file():
        checkout = _exported(name, folder / "tree") if ready else folder / "tree"
    own = checkout / ".venv" / "bin" / "python"
    if python is None and ready and not own.is_file():
        print(f"{side}: installing {checkout} into its own environment", flush=True)
        subprocess.run(["make", "-C", str(checkout), ".venv/dev"], check=True)
    tree = Tree(side, checkout, (python or own).absolute(), folder, weights)
    if ready:
        tree.check()
    return tree


def _exported(revision: str, folder: Path) -> Path:
    """The files of a revision, exported once."""
    git = ["git", "-C", str(REPOSITORY)]
    wish = [*git, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}"]
    found = subprocess.run(wish, capture_output=True, text=True, check=False)
    if found.returncode:
        raise SystemExit(f"{revision}: neither a checkout nor a revision of {REPOSITORY}")
    commit = found.stdout.strip()
    stamp = folder / ".exported"
    if stamp.is_file() and stamp.read_text() == commit:
        return folder
    if folder.exists():
        raise SystemExit(f"{folder}: holds another revision; choose another --work")
    packed = subprocess.run([*git, "archive", commit], capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
    stamp.write_text(commit)
    return folder
