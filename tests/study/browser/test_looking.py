"""Looking and reaching: zoom, flicker, large view, keyboard, contrast, touch."""

from __future__ import annotations

from typing import Any

import pytest

from medebench.study.design import Study
from tests.study.browser.person import ESCAPE, KEYS, UP, Person, answers, token


def test_looking_zoom_flicker_outline_and_large(small: tuple[Study, Person]) -> None:
    study, person = small
    person.begin(token(study))

    def matrix(name: str) -> list[float]:
        code = "getComputedStyle(document.querySelector(arguments[0])).transform"
        return [float(one) for one in person.js(code, name)[7:-1].split(",")]

    def visible(selector: str) -> bool:
        code = "getComputedStyle(document.querySelector(arguments[0])).visibility === 'visible'"
        return bool(person.js(code, selector))

    frame = person.find('.tile[data-name="B"] .frame')
    person.driver.execute_script(
        "arguments[0].dispatchEvent(new WheelEvent('wheel', {deltaY: -240, bubbles: true,"
        " cancelable: true, clientX: arguments[0].getBoundingClientRect().left,"
        " clientY: arguments[0].getBoundingClientRect().top}))",
        frame,
    )
    zoomed = matrix('.tile[data-name="A"] .layer')
    assert zoomed[0] > 1.3
    assert zoomed[4:] == pytest.approx([0, 0], abs=1)  # the corner under the wheel stays
    for name in ("previous", "B", "C"):
        assert matrix(f'.tile[data-name="{name}"] .layer') == zoomed
    person.chain().drag_and_drop_by_offset(frame, -30, 0).perform()
    assert matrix('.tile[data-name="C"] .layer')[4] == pytest.approx(-30, abs=1)
    person.press("0")
    assert matrix('.tile[data-name="A"] .layer')[0] == 1
    person.press("+")
    assert person.text("#zoom") == "150 %"
    person.press("0")

    person.chain().key_down("f").perform()
    assert visible('.tile[data-name="A"] .before') and visible('.tile[data-name="C"] .before')
    person.chain().key_up("f").perform()
    assert not visible('.tile[data-name="A"] .before')
    hold = person.find('.tile[data-name="B"] button')
    person.chain().click_and_hold(hold).perform()
    assert visible('.tile[data-name="B"] .before') and not visible('.tile[data-name="A"] .before')
    person.chain().release().perform()
    assert not visible('.tile[data-name="B"] .before')

    assert not visible(".tile .outline")
    person.press("r")
    assert visible(".tile .outline")
    frame.click()
    person.until(lambda: person.js("document.getElementById('large').open"))
    assert person.text("#large-stage .mark") == "B"
    person.press("c")
    assert person.text("#large-stage .mark") == "C"
    person.chain().key_down("f").perform()
    assert visible('#large-stage img[data-name="previous"]')
    person.chain().key_up("f").perform()
    assert visible('#large-stage img[data-name="C"]')
    person.press("z")
    assert not person.js("document.getElementById('large').open")
    assert person.orders == {key: [] for key in KEYS}  # looking ranks nothing
    # The key goes down here and up there: nothing stays on.
    person.chain().key_down("f").perform()
    frame.click()
    person.chain().key_up("f").perform()
    person.press(ESCAPE)
    assert not person.js("document.getElementById('large').open")
    assert not visible('.tile[data-name="A"] .before')
    person.chain().key_down("f").perform()
    person.jump(1)
    person.at_place(1)
    assert not visible('.tile[data-name="A"] .before')
    person.chain().key_up("f").perform()


def test_keys_of_other_alphabets(small: tuple[Study, Person]) -> None:
    study, person = small
    person.begin(token(study))

    def key(letter: str, code: str, **held: bool) -> None:
        person.driver.execute_script(
            "(document.querySelector('dialog[open]') ?? document.activeElement).dispatchEvent("
            "new KeyboardEvent('keydown', {bubbles: true, cancelable: true, ...arguments[0]}))",
            {"key": letter, "code": code, **held},
        )

    key("ф", "KeyA")
    assert person.orders["ea"] == [["A"]]
    key("я", "KeyZ", ctrlKey=True)
    assert person.orders["ea"] == []
    key("Я", "KeyZ", ctrlKey=True, shiftKey=True)
    assert person.orders["ea"] == [["A"]]
    key("я", "KeyZ")
    key("с", "KeyC")
    assert person.text("#large-stage .mark") == "C"
    person.settle()


def test_everything_is_named_and_can_be_reached(small: tuple[Study, Person]) -> None:
    study, person = small
    person.begin(token(study))
    nameless = person.js(
        "[...document.querySelectorAll('button, input, textarea, [role=option], [role=listbox]')]"
        ".filter(e => e.checkVisibility() && !(e.innerText || e.ariaLabel || e.title ||"
        " e.getAttribute('aria-labelledby') || e.labels?.length)).map(e => e.outerHTML)"
    )
    assert nameless == []
    person.press("b", "a", "=")
    chip = person.chip("ea", "A")
    assert chip.get_attribute("aria-label") == "Output A, 1st, tied with B"
    assert "1st, tied with B. 2 of 3 in Editing accuracy" in person.text("#live")
    person.js("document.querySelector('.texts').focus()")
    person.press(UP)  # scrolls there
    assert person.order("ea") == [["A", "B"]]
    assert person.find(".texts").aria_role == "region"
    person.find('.list[data-key="ea"]').send_keys(UP)
    assert person.order("ea") == [["A"], ["B"]]
    focused = person.js("document.activeElement.getAttribute('aria-activedescendant')")
    assert focused == "chip-ea-A"
    reached = set()
    for _ in range(40):
        person.press("\ue004")
        reached.add(person.js("document.activeElement.id || document.activeElement.dataset.key"))
    assert {"cp", "vq", "next", "skip-open", "undo", "open-cases", "outline", "flicker"} <= reached
    person.press("?")
    assert "give the output the next place" in person.text("#help")
    assert person.js("document.documentElement.lang") == "en"


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_contrast_of_all_texts(small: tuple[Study, Person], colours: str) -> None:
    """4.5 to 1 at least, for every text that can be seen and acted on."""
    study, person = small
    media = {"features": [{"name": "prefers-color-scheme", "value": colours}]}
    person.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    person.begin(token(study))
    seen = 0
    for prepare in ("0", "document.getElementById('open-cases').click()", "admin"):
        if prepare == "admin":
            person.join(token(study, "admin"))
            person.until(lambda: "annotator-1" in person.text("#people"))
        else:
            person.press("a")
            person.driver.execute_script(prepare)
        pairs = person.js(CONTRASTS)
        seen += len(pairs)
        assert [pair for pair in pairs if pair[0] < 4.5] == []
    assert seen > 60


CONTRASTS = """(() => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", {willReadFrequently: true});
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = (colour) => {
    const linear = (v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    const [r, g, b] = colour.map((v) => linear(v / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const back = (element) => {
    for (let one = element; one; one = one.parentElement) {
      const colour = rgba(getComputedStyle(one).backgroundColor);
      if (colour[3] > 250) return colour;
    }
    return [255, 255, 255, 255];
  };
  const found = [];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!own || !element.checkVisibility({visibilityProperty: true})) continue;
    if (element.closest(":disabled, [aria-disabled=true], .sr")) continue;
    const [text, paper] = [light(rgba(getComputedStyle(element).color)), light(back(element))];
    const [a, b] = text > paper ? [text, paper] : [paper, text];
    found.push([(a + 0.05) / (b + 0.05), element.outerHTML.slice(0, 120)]);
  }
  return found;
})()"""


@pytest.mark.parametrize("size", [(768, 1024), (1024, 768), (390, 800)])
def test_touch_on_a_tablet_and_a_phone(small: tuple[Study, Person], size: tuple[int, int]) -> None:
    study, person = small
    width, height = size
    cdp = person.driver.execute_cdp_cmd
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": True}
    cdp("Emulation.setDeviceMetricsOverride", metrics)
    cdp("Emulation.setTouchEmulationEnabled", {"enabled": True, "maxTouchPoints": 5})
    person.begin(token(study))
    assert person.js("document.documentElement.scrollWidth") <= width
    steps = person.js("document.querySelector('.steps').getBoundingClientRect().bottom")
    assert steps <= height
    finger(person, person.chip("ea", "C"), person.slot("ea", 0))
    assert person.orders["ea"] == [["C"]]
    finger(person, person.chip("ea", "A"), person.slot("ea", 0))
    assert person.orders["ea"] == [["A", "C"]]
    person.find('.tabs [data-key="vq"]').click()
    tap(person, person.chip("vq", "B"))
    tap(person, person.slot("vq", 1))
    assert person.orders["vq"] == [["B"]]
    person.settle()
    assert answers(study)[0].ranks["ea"] == [["A", "C"]]
    small_targets = person.js(
        "[...document.querySelectorAll('button, .pool .chip')].filter(e => e.checkVisibility())"
        ".map(e => e.getBoundingClientRect()).filter(b => b.width < 24 || b.height < 24).length"
    )
    assert small_targets == 0


def test_low_windows_and_enlarged_pages_scroll_as_a_whole(small: tuple[Study, Person]) -> None:
    """1440 x 900 at 200 % is 720 x 450."""
    study, person = small
    person.begin(token(study))
    for width, height in ((720, 450), (683, 384), (844, 390), (960, 600)):
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        person.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        person.until(lambda: 136 <= person.js("document.querySelector('.frame').offsetWidth") < 310)
        look = "(e => [e.scrollWidth - e.clientWidth, e.scrollHeight - e.clientHeight])"
        look += "(document.querySelector(arguments[0]))"
        person.until(lambda look=look: person.js(look, ".room")[0] <= 0, "pictures that fit")
        for selector in ("html", "main", ".top", ".room", "#dimensions", ".texts"):
            assert person.js(look, selector)[0] <= 0, (width, selector)
        # Nothing scrolls inside of what scrolls.
        for selector in (".texts", ".room", ".reading", "#dimensions", ".ranking"):
            assert person.js(look, selector)[1] <= 1, (width, selector)
        for selector in ('.tile[data-name="C"] .frame', "#next"):
            show = "document.querySelector(arguments[0]).scrollIntoView({block: 'end'})"
            person.js(show, selector)
            box = person.js(
                "document.querySelector(arguments[0]).getBoundingClientRect().toJSON()", selector
            )
            assert box["top"] >= 0 and box["right"] <= width, (width, selector)
            assert box["bottom"] <= height + 1, (width, selector)


def test_touch_on_a_large_screen_reaches_every_dimension(small: tuple[Study, Person]) -> None:
    """A finger on a dimension that is not the current one makes it so, and drags all the same."""
    study, person = small
    cdp = person.driver.execute_cdp_cmd
    metrics = {"width": 1440, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    cdp("Emulation.setDeviceMetricsOverride", metrics)
    cdp("Emulation.setTouchEmulationEnabled", {"enabled": True, "maxTouchPoints": 5})
    person.begin(token(study))
    for key in ("vq", "cp", "ea"):
        finger(person, person.chip(key, "B"), person.slot(key, 1))
        finger(person, person.chip(key, "A"), person.slot(key, 0))
    finger(person, person.chip("vq", "A"), person.chip("cp", "B"))  # not across dimensions
    assert person.orders == {key: [["A"], ["B"]] for key in KEYS}
    finger(person, person.chip("vq", "A"), person.find('.dimension[data-key="vq"] .pool'))
    assert person.orders["vq"] == [["B"]]
    person.settle()
    # A palm that comes down during a drag, on the same question or another, changes nothing.
    for key in ("ea", "cp"):
        at_, to = (middle(person, one) for one in (person.chip("ea", "C"), person.slot("ea", 2)))
        palm = middle(person, person.chip(key, "B")) | {"id": 2}
        touch(person, "touchStart", at_ | {"id": 1})
        touch(person, "touchMove", {"x": at_["x"] + 20, "y": at_["y"] + 20, "id": 1})
        touch(person, "touchStart", {"x": at_["x"] + 20, "y": at_["y"] + 20, "id": 1}, palm)
        touch(person, "touchMove", to | {"id": 1}, palm)
        touch(person, "touchEnd", to | {"id": 1})  # the palm leaves
        touch(person, "touchEnd")
        assert person.orders["ea"] == [["A"], ["B"], ["C"]]
        assert person.orders["cp"] == [["A"], ["B"]]
        assert person.js("document.querySelectorAll('.ghost, .lifted').length") == 0
        finger(person, person.chip("ea", "C"), person.find('.dimension[data-key="ea"] .pool'))
    person.settle()


def middle(person: Person, element: Any) -> dict[str, float]:
    box = person.js("arguments[0].getBoundingClientRect().toJSON()", element)
    return {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}


def touch(person: Person, kind: str, *points: dict[str, float]) -> None:
    person.driver.execute_cdp_cmd(
        "Input.dispatchTouchEvent", {"type": kind, "touchPoints": list(points)}
    )


def finger(person: Person, start: Any, end: Any) -> None:
    a, b = middle(person, start), middle(person, end)
    touch(person, "touchStart", a)
    for step in (0.2, 0.6, 1):
        touch(
            person, "touchMove", {axis: a[axis] + step * (b[axis] - a[axis]) for axis in ("x", "y")}
        )
    touch(person, "touchEnd")


def tap(person: Person, element: Any) -> None:
    touch(person, "touchStart", middle(person, element))
    touch(person, "touchEnd")


def test_pinch_zooms_all_pictures(small: tuple[Study, Person]) -> None:
    study, person = small
    cdp = person.driver.execute_cdp_cmd
    cdp("Emulation.setTouchEmulationEnabled", {"enabled": True, "maxTouchPoints": 5})
    person.begin(token(study))
    at_ = middle(person, person.find('.tile[data-name="A"] .frame'))
    for kind, spread in (("touchStart", 10), ("touchMove", 20), ("touchMove", 40)):
        touch(
            person,
            kind,
            {"x": at_["x"] - spread, "y": at_["y"], "id": 0},
            {"x": at_["x"] + spread, "y": at_["y"], "id": 1},
        )
    touch(person, "touchEnd")
    assert int(person.text("#zoom").split()[0]) == pytest.approx(400, abs=30)
