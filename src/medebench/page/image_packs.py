"""Pictures by the hundred in one file: scripts, each of which the page loads when it needs it.

Thousands of cases would be hundreds of thousands of small files, and a page that is opened from
the disk may not read files, but it may load scripts. So the pictures of a few neighbouring cases
are written as texts into one script for each kind of picture. A script is named after what its
pictures are drawn from: what is still right keeps its name and is not made again.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import ceil
from pathlib import Path

from medebench.page.page_folder import Folder, script

#: Thumbnails; large views; maps of what changed; outlines and overlays; cards of outputs as JSON.
KINDS = ("small", "large", "change", "lines", "cards")
#: Pictures of one kind in a script, unless that would make more than `MOST` scripts.
FEW = 32
MOST = 500
#: Before the key of another picture of the same script, which looks just the same.
SAME = "="


def split(keys: Sequence[str], outputs: int) -> list[list[str]]:
    """The cases whose pictures lie together, neighbours in the gallery.

    There are never more than twice `MOST` groups.
    """
    pictures = 2 * len(keys) + outputs
    together = max(1, max(FEW, ceil(pictures / MOST)) * len(keys) // max(1, pictures))
    return [list(keys[i : i + together]) for i in range(0, len(keys), together)]


def natural(text: str) -> list[tuple[int, int, str]]:
    """Sort key under which case 9 comes before case 10."""
    parts: list[tuple[int, int, str]] = []
    number = ""
    for c in [*text, ""]:
        if c.isascii() and c.isdigit():
            number += c
            continue
        if number:
            parts.append((0, int(number), number))
            number = ""
        if c:
            parts.append((1, 0, c))
    return parts


def place(kind: str, name: str) -> str:
    """Where the script of this kind lies, relative to the report."""
    return f"assets/{kind}/{name}.js"


def as_text(media: str, data: bytes) -> str:
    """A picture as the page takes it: what follows `data:image/`."""
    return f"{media};base64,{b64encode(data).decode('ascii')}"


def as_file(text: str) -> tuple[str, bytes]:
    """The ending and the bytes of the file that a packed picture would be."""
    if text.startswith("<"):
        return "svg", text.encode()
    media, _, data = text.partition(";base64,")
    return media, b64decode(data)


class Earlier:
    """Packs of an earlier report in the same folder, read when a picture of them is wanted."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._read: dict[tuple[str, str], Mapping[str, str]] = {}

    def picture(self, kind: str, name: str, key: str) -> str | None:
        if (kind, name) not in self._read:
            self._read[kind, name] = read_pack(self._folder.path / place(kind, name))
        return self._read[kind, name].get(key)


class Pack:
    """The pictures of some cases, by kind and key, in the order in which they were put."""

    def __init__(self, earlier: Callable[[str, str], str | None]) -> None:
        self._earlier = earlier
        self._texts: dict[str, dict[str, str]] = {kind: {} for kind in KINDS}

    def has(self, kind: str, key: str) -> bool:
        """Whether it is there, or in an earlier pack and hereby taken over."""
        if key not in self._texts[kind] and (known := self._earlier(kind, key)) is not None:
            self._texts[kind][key] = known
        return key in self._texts[kind]

    def put(self, kind: str, key: str, text: str) -> None:
        self._texts[kind].setdefault(key, text)

    def write(self, folder: Folder, name: str) -> list[str]:
        """Write the kinds there are; which these are."""
        kinds = [kind for kind in KINDS if self._texts[kind]]
        for kind in kinds:
            pictures = _once(self._texts[kind])
            folder.write(place(kind, name), script(f"MEDEBENCH_{kind.upper()}_{name}", pictures))
        return kinds


def _once(pictures: Mapping[str, str]) -> dict[str, str]:
    first: dict[str, str] = {}
    return {
        key: text if (known := first.setdefault(text, key)) == key else SAME + known
        for key, text in pictures.items()
    }


def read_pack(path: Path) -> dict[str, str]:
    """The pictures of a pack by key; none where there is no readable pack."""
    try:
        text = path.read_text(encoding="utf-8")
        found = json.loads(text[text.index("=") + 1 : text.rindex(";")])
        return {
            key: found[one.removeprefix(SAME)] if one.startswith(SAME) else one
            for key, one in found.items()
        }
    except (OSError, ValueError, KeyError, AttributeError):
        return {}


def unpack(folder: Folder, wanted: Iterable[tuple[str, str, str]]) -> dict[str, str]:
    """Single files of a few packed pictures, given as (kind, pack, key): the path of each key."""
    earlier, found = Earlier(folder), {}
    for kind, name, key in wanted:
        if key in found or (text := earlier.picture(kind, name, key)) is None:
            continue
        ending, data = as_file(text)
        found[key] = f"assets/examples/{key}.{ending}"
        folder.write(found[key], data)
    return found
