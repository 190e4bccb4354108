"""MedGEN-Bench in Parquet: configurations of shards that hold the bytes of their images.

Images are taken out into the cache folder, named by their content. What a shard holds is noted
beside them, so that the gigabytes of a release are gone through once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from medebench.cases.caseset import CaseSet
from medebench.cases.medgen_names import format_of
from medebench.cases.readers.medgen_records import MOST_IMAGES, MOST_RECORDS, MedgenSet, Place
from medebench.cases.readers.record_values import BadRecord, RecordFiles
from medebench.errors import InputError
from medebench.files import cache_folder, read_bytes, sha256, unwritable, write_bytes, write_text
from medebench.progress import Progress, silent

IMAGES = ("input_images", "output_images")
#: Columns without which a table is none of MedGEN-Bench.
NEEDED = {"input_images", "instruction"}
#: Rows held at once, bytes of the largest image, and shards of a set.
ROWS, LARGEST_IMAGE, MOST_SHARDS = 64, 100_000_000, 10_000
#: Changes with what is noted of a shard.
_VERSION = 1
_SUFFIXES = (
    (b"\x89PNG", ".png"),
    (b"\xff\xd8\xff", ".jpg"),
    (b"RIFF", ".webp"),
    (b"II*\0", ".tif"),
    (b"MM\0*", ".tif"),
    (b"BM", ".bmp"),
)


def find(path: Path) -> list[Path] | None:
    """The shards, if `path` is a release in Parquet, one of its configurations or one shard."""
    if path.is_file():
        return [path] if path.suffix.lower() == ".parquet" and _is_medgen(path) else None
    if not path.is_dir():
        return None
    for pattern in ("*/*/*.parquet", "*/*.parquet", "*.parquet"):
        shards = [one for _, one in zip(range(MOST_SHARDS), path.glob(pattern), strict=False)]
        shards = [one for one in sorted(shards) if _is_medgen(one)]
        if shards:
            return sorted(shards, key=lambda one: (_order(one), one))
    return None


def read(path: Path, shards: Sequence[Path], progress: Progress = silent) -> CaseSet:
    root = path if path.is_dir() else path.parent
    gathered = MedgenSet()
    counts = [_guarded(shard, _count_rows) for shard in shards]
    before = 0
    files = RecordFiles(root)
    for shard, count in zip(shards, counts, strict=True):
        rows = _rows(shard, count, partial(_tell, progress, before, sum(counts)))
        before += count
        place = str(shard.relative_to(root)) if shard != path else ""
        config = _config(shard)
        for number, row in enumerate(rows):
            where = f"{place}, row {number}".removeprefix(", ")
            sample = f"medgen:{config}:{shard.stem}:{number:06d}"
            form = config if format_of(config) else ""
            record, flaw = _with_paths(row)
            if flaw is not None:
                gathered.refuse(flaw, f"record {number + 1}", where)
                continue
            gathered.add(record, Place(where, files, form, sample_id=sample))
    return gathered.done(root.name if path.is_dir() else path.stem, root, str(path))


def _tell(progress: Progress, before: int, total: int, done: int) -> None:
    progress(before + done, total)


def _order(shard: Path) -> int:
    """Formats in the order of the other layouts."""
    return ("vqa", "editing", "generation", None).index(format_of(_config(shard)))


def _config(shard: Path) -> str:
    return shard.parent.name if format_of(shard.parent.name) else shard.stem


def _is_medgen(file: Path) -> bool:
    try:
        with file.open("rb") as stream:
            if stream.read(4) != b"PAR1":
                return True  # damaged: said when it is read
    except OSError:
        return False
    return NEEDED.issubset(_guarded(file, _columns))


def _columns(file: Path) -> list[str]:
    import polars as pl

    return list(pl.read_parquet_schema(file))


def _count_rows(file: Path) -> int:
    import polars as pl

    count = int(pl.scan_parquet(file).select(pl.len()).collect().item())
    if count > MOST_RECORDS:
        raise InputError(f"{file}: more than {MOST_RECORDS:,} rows; split it")
    return count


def _guarded(file: Path, look: Callable[[Path], Any]) -> Any:
    """What the reader finds; it fails in many ways on a damaged file, by panics of Rust too."""
    try:
        return look(file)
    except InputError:
        raise
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt | SystemExit | GeneratorExit):
            raise
        why = " ".join(str(error).split())[:120] or type(error).__name__
        raise InputError(f"{file}: not readable as Parquet ({why}); fetch it again") from None


def _rows(shard: Path, count: int, progress: Callable[[int], None]) -> list[dict[str, Any]]:
    """The rows of a shard, with names of images in the cache in the place of their bytes."""
    note = _note(shard)
    try:
        known = json.loads(read_bytes(note))
        if len(known) == count and all(_is_there(row) for row in known):
            progress(count)
            return list(known)
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        pass  # not gone through yet, or not what this version wrote
    rows: list[dict[str, Any]] = []
    for start in range(0, count, ROWS):
        piece = _guarded(shard, partial(_piece, start))
        rows += [_kept(row) for row in piece]
        progress(len(rows))
    try:
        write_text(note, json.dumps(rows, default=lambda value: None))
    except OSError as error:
        raise unwritable(note, error) from error
    # As it will be read next time.
    return list(json.loads(read_bytes(note)))


def _piece(start: int, file: Path) -> list[dict[str, Any]]:
    import polars as pl

    return pl.scan_parquet(file).slice(start, ROWS).collect().rows(named=True)


def _note(shard: Path) -> Path:
    about = shard.stat()
    told = [_VERSION, str(shard.resolve()), about.st_size, about.st_mtime_ns]
    return cache_folder() / "medgen-shards" / f"{sha256(json.dumps(told).encode())[:32]}.json"


def _kept(row: dict[str, Any]) -> dict[str, Any]:
    return {
        name: [_image(one) for one in _several(value)] if name in IMAGES else value
        for name, value in row.items()
    }


def _several(value: Any) -> list[Any]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _image(value: Any) -> dict[str, str]:
    """Where an image lies now, where it is said to lie, or why it is none."""
    named = value if isinstance(value, dict) else {"bytes": value}
    data, path = named.get("bytes"), named.get("path")
    if isinstance(data, bytes) and data:
        if len(data) > LARGEST_IMAGE:
            return {"flaw": f"has more than {LARGEST_IMAGE:,} bytes; make it smaller"}
        return {"kept": _keep(data)}
    if isinstance(path, str) and path:
        return {"path": path}
    return {"flaw": "has neither bytes nor a path; fetch the set again"}


def _keep(data: bytes) -> str:
    name = sha256(data)
    suffix = next((suffix for magic, suffix in _SUFFIXES if data.startswith(magic)), ".png")
    path = _images() / name[:2] / f"{name}{suffix}"
    if not path.is_file() or path.stat().st_size != len(data):
        try:
            write_bytes(path, data)
        except OSError as error:
            raise unwritable(path, error) from error
    return f"{name[:2]}/{path.name}"


def _images() -> Path:
    return cache_folder() / "medgen-images"


def _is_there(row: dict[str, Any]) -> bool:
    return all((_images() / name).is_file() for name in _names(row))


def _names(row: dict[str, Any]) -> Iterator[str]:
    for column in IMAGES:
        yield from (one["kept"] for one in row.get(column) or [] if "kept" in one)


def _with_paths(row: dict[str, Any]) -> tuple[dict[str, Any], BadRecord | None]:
    record = dict(row)
    for column in IMAGES:
        images = (row.get(column) or [])[: MOST_IMAGES + 1]  # more are refused anyway
        for image in images:
            if "flaw" in image:
                return row, BadRecord("missing-file", column, f"an image {image['flaw']}")
        record[column] = [
            _images() / image["kept"] if "kept" in image else image["path"] for image in images
        ]
    return record, None
