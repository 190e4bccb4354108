"""An output on disk: a file for each of its parts, all with one stem."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medebench.errors import ImageError
from medebench.files import sha256, write_bytes
from medebench.images.picture import Picture, encode_png, read_file, read_picture
from medebench.outputs.output import Output, Part

#: More than any report of a radiologist; what is longer is refused.
MOST_TEXT = 1_000_000


@dataclass(frozen=True)
class Codec:
    """How one part of an output becomes a file and is read again."""

    media_type: str
    suffix: str
    encode: Callable[[Any], bytes]
    decode: Callable[[Path, bytes], Any]


def _decode_text(path: Path, data: bytes) -> str:
    try:
        # Some editors of texts begin a file with a mark.
        if len(text := data.decode("utf-8-sig")) <= MOST_TEXT:
            return text
    except UnicodeDecodeError as error:
        raise ImageError(f"{path}: not UTF-8 text (byte {error.start})") from error
    raise ImageError(f"{path}: longer than {MOST_TEXT:,} characters")


CODECS: Mapping[Part, Codec] = {
    "image": Codec("image/png", ".png", encode_png, read_picture),
    "text": Codec("text/plain", ".txt", str.encode, _decode_text),
}


def _alike(one: Picture, other: Picture) -> bool:
    """Whether only the way in memory is another."""
    return one.shape == other.shape and one.dtype == other.dtype


@dataclass(frozen=True)
class Stored:
    """The bytes of an output as they lie there, and one hash for all of them."""

    data: Mapping[Part, bytes]

    @property
    def sha256(self) -> str:
        """Of a single file its own hash; of several a hash of their names and hashes."""
        hashes = {part: sha256(data) for part, data in self.data.items()}
        if len(hashes) == 1:
            return next(iter(hashes.values()))
        return sha256("\n".join(f"{part} {one}" for part, one in sorted(hashes.items())).encode())


@dataclass(frozen=True)
class OutputFiles:
    """The files of one output; `parts` are those that its task asks for."""

    stem: Path
    parts: Sequence[Part] = ("image",)

    def path(self, part: Part) -> Path:
        return self.stem.with_name(self.stem.name + CODECS[part].suffix)

    @property
    def paths(self) -> list[Path]:
        return [self.path(part) for part in self.parts]

    def are_there(self) -> bool:
        return any(path.is_file() for path in self.paths)

    def encoded(self, output: Output) -> Stored:
        """What `write` would put on disk."""
        there = [part for part in self.parts if getattr(output, part) is not None]
        return Stored({part: CODECS[part].encode(getattr(output, part)) for part in there})

    def write(self, stored: Stored) -> None:
        """Each file is written under another name first; those of an earlier output go."""
        for part in self.parts:
            if part in stored.data:
                write_bytes(self.path(part), stored.data[part])
            else:
                self.path(part).unlink(missing_ok=True)

    def remove(self) -> None:
        for path in self.paths:
            path.unlink(missing_ok=True)

    def read(self) -> Stored:
        """The bytes of the parts that are there; ImageError where there is none."""
        found: dict[Part, bytes] = {}
        trouble: ImageError | None = None
        for part in self.parts:
            try:
                found[part] = read_file(self.path(part))
            except ImageError as error:
                trouble = trouble or error
        if trouble is not None and not found:
            raise trouble
        return Stored(found)

    def decode(self, stored: Stored, fit: Callable[[Picture], Picture] = lambda one: one) -> Output:
        """The output; its image on the grid that `fit` brings it to."""
        found = dict(self._decoded(stored))
        came: Picture | None = found.get("image")
        image = came
        if image is not None:
            image = fit(image)
            # Shared by all who look at the output: none may change what the next one sees.
            image.setflags(write=False)
        same = image is came or (came is not None and image is not None and _alike(came, image))
        return Output(image, found.get("text"), original=None if same else came)

    def _decoded(self, stored: Stored) -> Iterator[tuple[Part, Any]]:
        for part, data in stored.data.items():
            yield part, CODECS[part].decode(self.path(part), data)
