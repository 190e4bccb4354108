"""Metadata in a picture file that may say who, where or when: which kinds, never the values."""

from __future__ import annotations

from collections.abc import Iterator

from PIL import ExifTags, Image

_PNG = b"\x89PNG\r\n\x1a\n"
#: Chunks that only say how the pixels are stored and shown.
_PLAIN_CHUNKS = frozenset(
    b"IHDR PLTE IDAT IEND tRNS gAMA cHRM sRGB iCCP cICP pHYs sBIT bKGD hIST".split()
)
_XMP_KEYWORD = b"XML:com.adobe.xmp"
# Written by every drawing library, and true of no person.
_HARMLESS_KEYWORDS = frozenset((b"Software",))

_MAIN_TAGS = {
    270: "comment",  # ImageDescription
    306: "time",  # DateTime
    315: "author",  # Artist
    316: "computer name",  # HostComputer
    700: "XMP",
    33432: "author",  # Copyright
    33723: "IPTC",
    34377: "IPTC",  # Photoshop resources
    40091: "comment",  # XPTitle
    40092: "comment",  # XPComment
    40093: "author",  # XPAuthor
    40094: "comment",  # XPKeywords
    40095: "comment",  # XPSubject
}
_CAMERA_TAGS = {
    36867: "time",  # DateTimeOriginal
    36868: "time",  # DateTimeDigitized
    37500: "maker note",
    37510: "comment",  # UserComment
    42016: "image number",  # ImageUniqueID
    42032: "author",  # CameraOwnerName
    42033: "camera serial number",
    42037: "camera serial number",  # of the lens
}
_THUMBNAIL_OFFSET = 513


def personal_kinds(data: bytes, header: Image.Image) -> tuple[str, ...]:
    """Which kinds of personal metadata the file holds, sorted."""
    kinds: set[str] = set()
    if data[:8] == _PNG:
        for name, body in png_chunks(data):
            kinds.update(_chunk_kinds(name, body))
    else:
        keys = {"xmp": "XMP", "photoshop": "IPTC", "comment": "comment"}
        kinds.update(kind for key, kind in keys.items() if header.info.get(key))
        if header.format == "TIFF":
            kinds.update(_exif_kinds(header.getexif()))
        elif exif := header.info.get("exif"):
            kinds.update(_exif_block_kinds(exif))
    return tuple(sorted(kinds))


def is_plain_png(data: bytes) -> bool:
    """A PNG that holds pixels and nothing else, so that it can be passed on as it is."""
    if data[:8] != _PNG or not data.endswith(b"IEND\xaeB`\x82"):
        return False
    names = [name for name, _ in png_chunks(data)]
    return names[-1:] == [b"IEND"] and _PLAIN_CHUNKS.issuperset(names)


def png_chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Name and body of each chunk: those behind the pixels too, which Pillow reads only late."""
    at = len(_PNG)
    while at + 8 <= len(data):
        length = int.from_bytes(data[at : at + 4], "big")
        yield data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        at += 12 + length


def _chunk_kinds(name: bytes, body: bytes) -> set[str]:
    if name in (b"tEXt", b"zTXt", b"iTXt"):
        keyword = body.split(b"\0", 1)[0]
        if keyword == _XMP_KEYWORD:
            return {"XMP"}
        return set() if keyword in _HARMLESS_KEYWORDS else {"PNG text"}
    if name == b"tIME":
        return {"time"}
    if name == b"caBX":
        return {"content credentials"}
    return _exif_block_kinds(body) if name == b"eXIf" else set()


def _exif_block_kinds(block: bytes) -> set[str]:
    try:
        exif = Image.Exif()
        exif.load(block)
        return _exif_kinds(exif)
    except Exception:  # EXIF is written by many hands, and Pillow's reader fails in many ways
        return {"EXIF that cannot be read"}


def _exif_kinds(exif: Image.Exif) -> set[str]:
    kinds = {kind for tag, kind in _MAIN_TAGS.items() if _given(exif.get(tag))}
    camera = exif.get_ifd(ExifTags.IFD.Exif)
    kinds.update(kind for tag, kind in _CAMERA_TAGS.items() if _given(camera.get(tag)))
    if exif.get_ifd(ExifTags.IFD.GPSInfo):
        kinds.add("GPS position")
    if _THUMBNAIL_OFFSET in exif.get_ifd(ExifTags.IFD.IFD1):
        kinds.add("embedded thumbnail")
    return kinds


def _given(value: object) -> bool:
    if isinstance(value, str | bytes):
        blank = value.strip(" \0") if isinstance(value, str) else value.strip(b" \0")
        return bool(blank)
    return value is not None
