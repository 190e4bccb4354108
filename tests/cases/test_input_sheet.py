"""Several input images on one numbered sheet."""

from __future__ import annotations

import numpy as np
import pytest

from medebench.cases.case import Case
from medebench.cases.open_case import open_case
from medebench.errors import InputError
from medebench.images.input_sheet import BAR, CELL, MOST_IMAGES, WIDEST, input_sheet
from medebench.images.picture import encode_png


def image(shade: int, height: int = 120, width: int = 160) -> np.ndarray:
    return np.full((height, width, 3), shade, np.uint8)


def test_every_image_keeps_its_pixels_and_its_shape_in_reading_order():
    shades = [10, 90, 170, 250]
    sheet = input_sheet([image(shade) for shade in shades])
    assert sheet.shape == (2 * (BAR + 160), 320, 3)
    for place, shade in enumerate(shades):
        row, column = divmod(place, 2)
        cell = sheet[row * (BAR + 160) + BAR :, column * 160 :][:160, :160]
        assert (cell[20:140] == shade).all()
        assert (cell[:20] == 255).all() and (cell[140:] == 255).all()


def test_the_bars_tell_the_images_apart():
    sheet = input_sheet([image(0)] * 3)
    bars = [sheet[:BAR, :160], sheet[:BAR, 160:], sheet[BAR + 160 : 2 * BAR + 160, :160]]
    written = [(bar > 200).sum() for bar in bars]
    assert min(written) > 100
    assert len({bar.tobytes() for bar in bars}) == 3
    # The place of the fourth image is empty, with no bar that promises one.
    assert (sheet[BAR + 160 :, 160:] == 255).all()


@pytest.mark.parametrize("count", [2, 3, 5, 9, 10, 17, MOST_IMAGES])
def test_a_sheet_stays_small_however_many_and_large_the_images_are(count):
    sheet = input_sheet([image(0, 1500, 700)] * count)
    assert sheet.shape[1] <= WIDEST
    assert sheet.shape[0] <= WIDEST + 20 * BAR
    assert sheet.shape[1] > CELL


def test_large_images_are_shrunk_and_small_ones_stay_as_they_are():
    small, large = image(40, 30, 50), image(200, 2000, 1000)
    sheet = input_sheet([small, large])
    assert (sheet == 40).all(axis=2).sum() == 30 * 50
    assert (sheet == 200).all(axis=2).sum() == CELL * CELL // 2


def test_the_same_images_give_the_same_bytes_and_others_do_not():
    images = [image(3), image(4)]
    assert encode_png(input_sheet(images)) == encode_png(
        input_sheet([one.copy() for one in images])
    )
    assert encode_png(input_sheet(images)) != encode_png(input_sheet(images[::-1]))


def test_sixteen_bits_are_shown_in_eight_and_one_image_stays_as_it_is():
    deep = np.full((120, 120, 3), 4095, np.uint16)
    assert input_sheet([deep]) is deep
    sheet = input_sheet([deep, image(0, 120, 120)])
    assert sheet.dtype == np.uint8 and (sheet[BAR:, :120] == 255).all()


def test_no_images_and_too_many_are_refused():
    for count in (0, MOST_IMAGES + 1):
        with pytest.raises(InputError, match=f"not {count}"):
            input_sheet([image(0)] * count)


def test_a_case_gives_its_inputs_as_a_sheet(tmp_path):
    paths = []
    for number in range(3):
        paths.append(tmp_path / f"{number}.png")
        paths[-1].write_bytes(encode_png(image(number * 50)))
    case = Case("1", paths[0], "Compare.", images={"input2": paths[1], "input3": paths[2]})
    sheet = open_case(case).sheet
    assert (sheet == input_sheet([image(0), image(50), image(100)])).all()
    assert not sheet.flags.writeable
