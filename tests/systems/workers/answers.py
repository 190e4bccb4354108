"""A worker of version 2 that answers, paints or both, and leaves things out as told."""

import json
import shutil
import sys
from pathlib import Path

MODE = sys.argv[1] if len(sys.argv) > 1 else "well"
print(json.dumps({"medebench": 2, "ready": True, "name": "answers"}), flush=True)
for line in sys.stdin:
    case = json.loads(line)
    if len(sys.argv) > 2:
        with Path(sys.argv[2]).open("a") as heard:
            heard.write(line)
    said = {"id": case["id"], "k": case["k"], "done": True}
    if "text" in case["gives"] and MODE != "wordless":
        sizes = [len(Path(one["path"]).read_bytes()) > 100 for one in case["images"]]
        said["text"] = f"{len(case['choices'])} choices, {sum(sizes)} images"
    if "image" in case["gives"] and MODE != "blind":
        shutil.copy(case["image"], case["output"])
    if MODE == "odd-text":
        said["text"] = ["no", "text"]
    if MODE == "silent":
        said["text"] = " "
    if MODE == "cut":
        said |= {"truncated": True, "input_shown": False, "detail": {"steps": 3}}
    print(json.dumps(said), flush=True)
