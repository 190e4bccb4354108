"""A worker that copies its input, and misbehaves as told: `odd.py BEHAVIOUR [FILE]`.

FILE gets the process's number at each start, a line each.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path


def say(text):
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def answer(case, **more):
    say(json.dumps({"id": case["id"], "k": case["k"], **more}))


def copy(case):
    shutil.copy(case["image"], case["output"])


SLEEPER = [sys.executable, "-c", "import time; time.sleep(900)"]
SILENT = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)


def note(pid):
    with Path(sys.argv[2]).open("a") as file:
        file.write(f"{pid}\n")


def main():
    mode = sys.argv[1]
    starts = 0
    if len(sys.argv) > 2 and mode != "sized":
        with Path(sys.argv[2]).open("a+") as file:
            file.write(f"{os.getpid()}\n")
            file.seek(0)
            starts = len(file.readlines())
    if mode == "dies-at-start" or (mode == "dies-at-restart" and starts > 1):
        print("  File 'model.py', line 3\nRuntimeError: no weights here", file=sys.stderr)
        sys.exit(7)
    if mode == "never-ready":
        time.sleep(900)
    if mode == "late-ready" and starts < 3:
        sys.exit(1)
    if mode == "other-version":
        say(json.dumps({"medebench": 3, "ready": True}))
        time.sleep(900)
    if mode == "prints":
        say('loading 1 of 3\n[1, 2]\n{not json\n{}\n{"step": 3}')
    if mode == "closes-input":
        os.close(0)
    say(json.dumps({"medebench": 1, "ready": True}))
    if mode in ("never-reads", "closes-input"):
        time.sleep(900)
    for line in sys.stdin:
        case = json.loads(line)
        number = "".join(filter(str.isdigit, case["id"]))
        one(mode, case, int(number or 0))


def one(mode, case, number):
    if mode == "sometimes":
        if number % 30 == 0:
            print("thinking hard", file=sys.stderr, flush=True)
            time.sleep(900)
        if number % 10 == 0:
            print(
                "Traceback (most recent call last):\n  File x\nKeyError: 'organ'", file=sys.stderr
            )
            sys.stderr.flush()
            os._exit(3)
    elif mode == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    elif mode == "refuses":
        return answer(case, refused="not a  picture\nI can edit", detail={"score": float("nan")})
    elif mode == "refuses-without-words":
        return answer(case, refused=None)
    elif mode == "half-characters":
        return answer(case, refused="odd \ud800 text")
    elif mode == "no-file":
        return answer(case, done=True)
    elif mode == "empty-file":
        Path(case["output"]).touch()
        return answer(case, done=True)
    elif mode == "truncated":
        Path(case["output"]).write_bytes(Path(case["image"]).read_bytes()[:200])
        return answer(case, done=True)
    elif mode == "not-a-picture":
        Path(case["output"]).write_text("<html>error</html>" * 20)
        return answer(case, done=True)
    elif mode == "outside":
        return answer(case, done=True, output=str(Path(__file__).resolve()))
    elif mode == "link-outside":
        Path(case["output"]).symlink_to(sys.argv[2])
        return answer(case, done=True)
    elif mode == "strange-output":
        return answer(case, done=True, output=["output.png"])
    elif mode == "folder-output":
        Path(case["output"]).mkdir()
        return answer(case, done=True)
    elif mode == "pipe-output":
        os.mkfifo(case["output"])
        return answer(case, done=True)
    elif mode == "not-done":
        return answer(case, done=False)
    elif mode == "garbage":
        return say('{"id": "1", "done": tru')
    elif mode == "wrong-id":
        return say(json.dumps({"id": "another", "k": 0, "done": True}))
    elif mode == "late":
        copy(case)
        say(json.dumps({"id": "earlier", "k": 0, "done": True}))
    elif mode == "twice":
        copy(case)
        answer(case, done=True)
        return answer(case, done=True)
    elif mode == "flood":
        sys.stdout.write("x" * 3_000_000)
        sys.stdout.flush()
        time.sleep(900)
    elif mode == "chatty":
        for count in range(3000):
            print(f"warning number {count} " + "." * 200, file=sys.stderr)
            print(f"progress {count}")
        sys.stderr.flush()
    elif mode == "endless-line":
        for _ in range(40):
            sys.stderr.write("\rstep " + "#" * 100_000)
        sys.stderr.flush()
    elif mode == "closes-output":
        os.close(1)
        time.sleep(900)
    elif mode == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(900)
    elif mode == "child":
        note(subprocess.Popen(SLEEPER).pid)
        os._exit(4)
    elif mode == "away-child":
        note(subprocess.Popen(SLEEPER, start_new_session=True, **SILENT).pid)
    elif mode == "away-grandchild":
        # As a daemon does it: two forks, a session of its own, nothing held open.
        code = (
            "import os, subprocess, sys\n"
            "os.setsid()\n"
            "print(subprocess.Popen(sys.argv[1:], stdin=-3, stdout=-3, stderr=-3).pid)"
        )
        made = subprocess.run([sys.executable, "-c", code, *SLEEPER], stdout=subprocess.PIPE)
        note(int(made.stdout))
    elif mode == "away-and-dead":
        note(subprocess.Popen(SLEEPER, start_new_session=True, **SILENT).pid)
        os._exit(4)
    elif mode == "tells-secrets":
        print("my key is " + os.environ["SOME_API_KEY"], file=sys.stderr, flush=True)
        os._exit(5)
    elif mode == "huge-detail":
        copy(case)
        return answer(case, done=True, detail={"text": "x" * 100_000})
    elif mode == "sized":
        from PIL import Image

        size = tuple(map(int, sys.argv[2].split("x")))
        Image.open(case["image"]).resize(size).save(case["output"] + ".jpg")
        return answer(case, done=True, output="output.png.jpg")
    elif mode == "ends-after":
        copy(case)
        answer(case, done=True)
        sys.exit(0)
    copy(case)
    return answer(case, done=True)


if __name__ == "__main__":
    main()
