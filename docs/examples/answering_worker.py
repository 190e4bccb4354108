"""A worker for models that answer: fill in load and answer.

`medebench generate SET --system 'command:gives=both,python answering_worker.py' --out RUN`; with
`gives=text` for a model that paints nothing. It runs in the model's own environment, which needs
Pillow but not medebench. The protocol is described in docs/workers.md.
"""

import json
import os
import sys

from PIL import Image


def load():
    """Load the model, once."""
    return "whatever answer needs"


def answer(model, images, asked, wants_text, wants_image, seed, settings):
    """Return a text and a picture, None for what is not wanted; ValueError with the reason if not.

    `asked` is the question with options and form of the answer; where only a picture is wanted, it
    is the instruction.
    """
    text = f"{len(images)} images, {len(asked)} letters" if wants_text else None
    return text, images[0] if wants_image else None


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

    def say(**said):
        print(json.dumps(said), file=answers, flush=True)

    model = load()
    say(medebench=2, ready=True, name="my-model", identity="checkpoint of 1 May")
    for line in sys.stdin:  # ends when medebench closes it
        case = json.loads(line)
        images = [picture_of(one["path"], case["range"]) for one in case["images"]]
        wants = ["text" in case["gives"], "image" in case["gives"]]
        asked = case.get("asked", case["instruction"])
        place = {"id": case["id"], "k": case["k"]}
        try:
            text, image = answer(model, images, asked, *wants, case["seed"], case["settings"])
        except ValueError as error:
            say(**place, refused=str(error))
            continue
        if image is not None:
            image.save(case["output"])
        # A model that paints without looking at the input says input_shown=False as well, one
        # whose text was cut by its token limit truncated=True.
        say(**place, done=True, **({} if text is None else {"text": text}))


if __name__ == "__main__":
    main()
