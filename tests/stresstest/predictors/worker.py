"""A predictor as a program: `worker.py MODE`, well-behaved or not. Standard library alone."""

import json
import os
import sys
import time
from pathlib import Path


def main() -> None:
    mode = sys.argv[1]
    if mode == "dies-at-start":
        print("RuntimeError: no weights here", file=sys.stderr)
        sys.exit(7)
    print("loading ...", flush=True)
    print(json.dumps({"medebench": 1, "ready": True}), flush=True)
    for count, line in enumerate(sys.stdin, start=1):
        asked = json.loads(line)
        size = Path(asked["image"]).stat().st_size
        answer = {"id": asked["id"], "probability": (size % 97) / 97}
        if mode == "tells":
            said = [asked["task"], asked["positive"], asked["range"], asked["settings"]]
            answer["probability"] = 0.25 if said == json.loads(sys.argv[2]) else 0.75
        elif mode == "weighs":
            answer["probability"] = float(Path(asked["settings"]["weights"]).read_text())
        elif mode == "error":
            answer = {"id": asked["id"], "error": "not a  chest\nX-ray"}
        elif mode == "dies" and count == 2:
            print("Traceback (most recent call last):\nKeyError: 'lung'", file=sys.stderr)
            sys.stderr.flush()
            os._exit(3)
        elif mode == "hangs":
            time.sleep(900)
        elif mode == "nan":
            answer["probability"] = float("nan")
        elif mode == "text":
            answer["probability"] = "high"
        elif mode == "nothing":
            del answer["probability"]
        elif mode == "garbage":
            print('{"id": "1", "probab', flush=True)
            time.sleep(900)
        elif mode == "mask":
            Path(asked["output"]).write_bytes(Path(sys.argv[2]).read_bytes())
        elif mode == "no-mask":
            pass
        elif mode == "outside":
            answer["mask"] = sys.argv[2]
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
