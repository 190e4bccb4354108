"""A worker for `medebench edit ... --editor 'command:python worker.py'`: fill in load and edit.

It runs in the model's own environment, which needs Pillow but not medebench. The protocol is
described in docs/workers.md.
"""

import json
import os
import sys

from PIL import Image


def load():
    """Load the model, once."""
    return "whatever edit needs"


def edit(model, image, instruction, seed, settings, shown):
    """Return the edited picture, or raise ValueError with the reason why there is none.

    `shown` is empty unless `demonstrations=N` was given: then N times (before, after, instruction).
    """
    return image


def picture_of(path, top):
    """A picture with 8 bits a channel, whatever its own depth; `top` is its largest value."""
    image = Image.open(path)
    if image.mode.startswith("I"):
        image = image.convert("I").point(lambda value: value * (255 / top)).convert("L")
    return image.convert("RGB")


def main():
    # Libraries print: from here on to the log, so that the answers stay alone on their line.
    answers, sys.stdout = os.fdopen(os.dup(1), "w", encoding="utf-8"), sys.stderr
    os.dup2(2, 1)

    def say(**answer):
        print(json.dumps(answer), file=answers, flush=True)

    model = load()
    say(medebench=1, ready=True, name="my-model", identity="checkpoint of 1 May")
    for line in sys.stdin:  # ends when medebench closes it
        case = json.loads(line)
        image, top = picture_of(case["image"], case["range"]), case["range"]
        shown = [
            (picture_of(one["before"], top), picture_of(one["after"], top), one["instruction"])
            for one in case["demonstrations"]
        ]
        try:
            made = edit(model, image, case["instruction"], case["seed"], case["settings"], shown)
        except ValueError as error:
            say(id=case["id"], k=case["k"], refused=str(error))
            continue
        made.save(case["output"])
        say(id=case["id"], k=case["k"], done=True)


if __name__ == "__main__":
    main()
