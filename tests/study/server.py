"""A study's server in a process of its own: `python server.py STUDY [DATABASE [PORT]]`.

It is the real `serve`; prints its address and new tokens for everybody as one line of JSON.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from medebench.study.design import open_study
from medebench.study.server.answer_store import open_store
from medebench.study.server.serve import serve

if __name__ == "__main__":
    study = open_study(Path(sys.argv[1]))
    database = (sys.argv[2] if len(sys.argv) > 2 else "") or None
    with open_store(study, database) as store:
        people = [*(one.name for one in study.design.annotators), "admin"]
        tokens = {name: store.invite(name) for name in people}
    serve(
        study,
        port=int(sys.argv[3]) if len(sys.argv) > 3 else 0,
        database=database,
        on_ready=lambda url: print(json.dumps({"url": url, "tokens": tokens}), flush=True),
    )
