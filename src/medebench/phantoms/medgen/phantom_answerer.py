"""A system that answers, edits and generates by rules that read the drawings, and nothing else.

It is given pixels, instruction and choices. It knows how MedGEN phantoms are drawn and is of no
use on any other picture: a row of a demonstration that has really looked.
"""

from __future__ import annotations

import re

import cv2
import numpy as np

from medebench.images.picture import Picture
from medebench.outputs import Output
from medebench.phantoms.medgen import answer_rules, body_rules
from medebench.phantoms.medgen.edit_tasks import COLOUR_MAPS, coloured, outlined_box
from medebench.phantoms.medgen.generation_tasks import LATE, outlined_circle
from medebench.phantoms.medgen.picture_rules import Reading, Spot, framed_to_256, read
from medebench.phantoms.medgen.terms import TERMS
from medebench.systems.filter_restorer import restored
from medebench.systems.request import Refused, Request
from medebench.systems.system import System


class PhantomAnswerer(System):
    summary = "rules that read MedGEN phantoms; knows no other picture"
    example = "phantom-answerer"
    gives = ("image", "text")

    def generate(self, request: Request) -> Output:
        case, question = request.case, request.instruction
        pictures = [case.image(role) for role in case.case.inputs()]
        if not pictures:
            raise Refused("the case has no input image to read")
        if "image" not in request.gives:
            return Output(text=answer_question(question, case.case.choices, pictures))
        return _changed(pictures[0], question)


def answer_question(question: str, choices: tuple[str, ...], pictures: list[Picture]) -> str:
    """The answer to a question about pictures."""
    readings = [read(one) for one in pictures]
    if choices:
        return answer_rules.choose(question, choices, readings)
    if re.search(r"_{2,}", question):
        return answer_rules.fill(question, readings)
    if "FINDINGS" in question:
        return answer_rules.report(readings[0])
    return answer_rules.answer(question, readings[0])


def _changed(picture: Picture, instruction: str) -> Output:
    """An image, and words about it where rules have some."""
    words = instruction.lower()
    framed = framed_to_256(picture)
    if "render the body" in words:
        balls = body_rules.balls_of_sheet(framed)
        return Output(body_rules.render(balls), body_rules.tell_balls(balls))
    if height := re.search(r"slice at (\d+) percent", words):
        balls, at = body_rules.balls_of_rendering(framed), int(height.group(1))
        shown = body_rules.slice_at(balls, at, bone="bone" in words)
        return Output(shown, body_rules.tell_slice(balls, at))
    if (filtered := restored(picture, instruction)) is not None:
        return Output(filtered)
    if "false colours" in words:
        named = next((name for name in sorted(COLOUR_MAPS) if name in words), "viridis")
        return Output(coloured(framed, named))
    if "reconstruct" in words:
        return _filled(framed)
    reading = read(framed)
    if not reading.spots:
        return Output(framed, answer_rules.tell(reading))
    text = answer_rules.answer(instruction, reading)
    return Output(_drawn_upon(framed, reading, words), text)


def _drawn_upon(framed: Picture, reading: Reading, words: str) -> Picture:
    spot = reading.spots[0]
    if "box" in words:
        assert reading.modality is not None
        reach = round(spot.radius + 5)
        x, y = round(spot.x), round(spot.y)
        box = (max(0, x - reach), max(0, y - reach), x + reach, y + reach)
        return outlined_box(framed, box, TERMS[reading.modality].kinds[spot.kind][0])
    if "outline" in words:
        return outlined_circle(framed, spot.x, spot.y, spot.radius)
    if "remove" in words:
        mask = np.zeros(framed.shape[:2], np.uint8)
        cv2.circle(mask, (round(spot.x), round(spot.y)), round(spot.radius + 3), 255, -1)
        return np.asarray(cv2.inpaint(framed, mask, 5, cv2.INPAINT_TELEA))
    return _larger(framed, spot) if "later" in words else framed


def _larger(framed: Picture, spot: Spot) -> Picture:
    """The picture with what lies at the spot enlarged."""
    high, wide = framed.shape[:2]
    y, x = np.mgrid[:high, :wide].astype(np.float32)
    across, down = x - spot.x, y - spot.y
    maps = [(spot.x + across / LATE).astype(np.float32), (spot.y + down / LATE).astype(np.float32)]
    grown = cv2.remap(framed, maps[0], maps[1], cv2.INTER_LINEAR)
    inside = np.hypot(across, down) <= spot.radius * LATE
    return np.where(inside[..., None], np.asarray(grown), framed)


def _filled(framed: Picture) -> Output:
    """The part without texture, filled from around it."""
    grey = cv2.cvtColor(framed, cv2.COLOR_RGB2GRAY).astype(np.float32)
    rough = cv2.blur(np.abs(cv2.Laplacian(grey, cv2.CV_32F)), (7, 7))
    rough[grey < 20] = 99.0
    reach = cv2.blur((rough < 0.5 * np.median(rough)).astype(np.float32), (31, 25))
    reach[:20], reach[-20:], reach[:, :20], reach[:, -20:] = 0, 0, 0, 0
    row, column = np.unravel_index(int(reach.argmax()), reach.shape)
    mask = np.zeros(framed.shape[:2], np.uint8)
    mask[max(0, row - 16) : row + 17, max(0, column - 19) : column + 20] = 255
    filled = np.asarray(cv2.inpaint(framed, mask, 5, cv2.INPAINT_TELEA))
    side = "left" if column < framed.shape[1] / 2 else "right"
    return Output(filled, f"A part of the {side} half has been filled in.")
