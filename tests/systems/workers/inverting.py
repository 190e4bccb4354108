"""A worker of the standard library alone: reads a PNG, inverts it, writes it.

`inverting.py [--not-in PREFIX]` fails at once if it runs in the environment named.
"""

import json
import struct
import sys
import zlib
from pathlib import Path


def main():
    if "--not-in" in sys.argv:
        assert sys.prefix != sys.argv[sys.argv.index("--not-in") + 1], (
            "not an environment of its own"
        )
        for absent in ("numpy", "PIL", "medebench"):
            try:
                __import__(absent)
            except ImportError:
                continue
            raise SystemExit(f"{absent} can be imported here")
    print(json.dumps({"medebench": 1, "ready": True, "name": "inverting", "identity": sys.prefix}))
    sys.stdout.flush()
    for line in sys.stdin:
        case = json.loads(line)
        Path(case["output"]).write_bytes(inverted(Path(case["image"]).read_bytes()))
        detail = {"seed": case["seed"], "shown": len(case["demonstrations"]), **case["settings"]}
        detail["instruction"] = case["instruction"]
        print(json.dumps({"id": case["id"], "k": case["k"], "done": True, "detail": detail}))
        sys.stdout.flush()


def inverted(data):
    """All pixels, 8 or 16 bits, without interlacing and alpha, turned into their opposite."""
    chunks, place = [], 8
    while place < len(data):
        (length,) = struct.unpack(">I", data[place : place + 4])
        chunks.append((data[place + 4 : place + 8], data[place + 8 : place + 8 + length]))
        place += length + 12
    width, height, depth, colour = struct.unpack(">IIBB", chunks[0][1][:10])
    pixel = {0: 1, 2: 3}[colour] * depth // 8
    rows = unfiltered(
        zlib.decompress(b"".join(body for name, body in chunks if name == b"IDAT")),
        width * pixel,
        height,
        pixel,
    )
    flipped = b"".join(b"\0" + bytes(255 - value for value in row) for row in rows)
    made = data[:8] + chunk(b"IHDR", chunks[0][1])
    return made + chunk(b"IDAT", zlib.compress(flipped)) + chunk(b"IEND", b"")


def unfiltered(raw, stride, height, pixel):
    rows, before = [], bytes(stride)
    for number in range(height):
        start = number * (stride + 1)
        kind, row = raw[start], bytearray(raw[start + 1 : start + 1 + stride])
        for i in range(stride):
            left = row[i - pixel] if i >= pixel else 0
            corner = before[i - pixel] if i >= pixel else 0
            row[i] = (row[i] + predicted(kind, left, before[i], corner)) & 255
        rows.append(bytes(row))
        before = rows[-1]
    return rows


def predicted(kind, left, above, corner):
    if kind < 4:
        return (0, left, above, (left + above) // 2)[kind]
    guess = left + above - corner
    return min((left, above, corner), key=lambda one: abs(guess - one))


def chunk(name, body):
    whole = name + body
    return struct.pack(">I", len(body)) + whole + struct.pack(">I", zlib.crc32(whole))


if __name__ == "__main__":
    main()
