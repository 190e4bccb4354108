"""A real browser in front of the panel: what a person sees and does there."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from medebench.study.design import Study
from medebench.study.rankings import Answer
from medebench.study.server.answer_store import open_store
from medebench.study.server.serve import serving
from tests.patience import PATIENCE

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
NO_BROWSER = (
    "chromium and chromedriver are not installed (apt-get install chromium chromium-driver)"
)
KEYS = ("ea", "cp", "vq")
ENTER, ESCAPE, CONTROL, BACKSPACE = "\ue007", "\ue00c", "\ue009", "\ue003"
UP, DOWN, TAB, SHIFT = "\ue013", "\ue015", "\ue004", "\ue008"
Groups = list[list[str]]
#: What the protocol answers when two people want the same thing, or the wrong one.
EXPECTED = ("status of 401", "status of 403", "status of 409", "status of 423")


MEDDLE = """
const rules = arguments[0];
window.letGo?.();
window.held = 0;
const released = new Promise((resolve) => { window.letGo = resolve; });
window.realFetch ??= window.fetch;
window.fetch = async (path, options) => {
  const method = options?.method ?? "GET";
  const rule = rules[`${method} ${path}`] ?? rules[method];
  if (rule === "off") throw new TypeError("off");
  if (rule > 0) return new Response('{"problem": "made up"}', {status: rule});
  const answer = await window.realFetch(path, options);
  if (rule === "lost") throw new TypeError("lost");
  if (rule === "hold") { window.held += 1; await released; }
  return answer;
};
"""


def open_browser(size: tuple[int, int] = (1440, 900)) -> Any:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM or ""
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-background-networking",
        "--disable-dev-shm-usage",
        f"--window-size={size[0]},{size[1]}",
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(options=options, service=Service(DRIVER))


class Person:
    """Somebody with an invitation."""

    def __init__(self, driver: Any, url: str) -> None:
        self.driver = driver
        self.url = url

    def js(self, code: str, *words: Any) -> Any:
        return self.driver.execute_script(f"return {code}", *words)

    def until(self, condition: Callable[[], Any], what: str = "") -> Any:
        from selenium.common.exceptions import (
            JavascriptException,
            NoSuchElementException,
            StaleElementReferenceException,
        )
        from selenium.webdriver.support.ui import WebDriverWait

        passing = (StaleElementReferenceException, NoSuchElementException, JavascriptException)
        wait = WebDriverWait(self.driver, PATIENCE, 0.03, ignored_exceptions=passing)
        return wait.until(lambda _: condition(), what)

    def find(self, selector: str) -> Any:
        return self.driver.find_element("css selector", selector)

    def text(self, selector: str) -> str:
        return str(self.js("document.querySelector(arguments[0])?.innerText ?? ''", selector))

    def shown(self, name: str) -> bool:
        return bool(self.js("document.getElementById(arguments[0])?.hidden === false", name))

    def errors(self) -> list[str]:
        """What the console complains of, but for refusals that the protocol knows."""
        entries = [one for one in self.driver.get_log("browser") if one["level"] == "SEVERE"]
        messages = [str(one["message"]) for one in entries]
        return [one for one in messages if not any(known in one for known in EXPECTED)]

    def join(self, token: str) -> None:
        self.driver.get("about:blank")
        self.driver.delete_all_cookies()
        self.driver.get(f"{self.url}/join#{token}")
        self.until(lambda: self.js("location.pathname !== '/join'"), "signed in")
        self.until(lambda: self.js("document.readyState === 'complete'"))

    def begin(self, token: str) -> None:
        """From the link to the first case, through the instructions."""
        self.join(token)
        self.until(lambda: self.shown("instructions"), "the instructions")
        self.find("#begin").click()
        self.until(lambda: self.shown("case"), "the first case")

    @property
    def place(self) -> int:
        return int(self.js("Number(location.hash.slice('#case-'.length))"))

    def at_place(self, place: int) -> None:
        self.until(lambda: self.shown("case") and self.place == place, f"case {place}")

    @property
    def saved(self) -> bool:
        return bool(self.js("document.getElementById('saved').textContent.startsWith('saved')"))

    def settle(self) -> None:
        self.until(lambda: self.saved, "saved")

    def order(self, key: str) -> Groups:
        """What the board shows, without empty places."""
        code = (
            "[...document.querySelectorAll(`.dimension[data-key=${arguments[0]}] .slot`)].map("
            "slot => [...slot.querySelectorAll('.chip')].map(chip => chip.dataset.letter))"
        )
        return [group for group in self.js(code, key) if group]

    @property
    def orders(self) -> dict[str, Groups]:
        return {key: self.order(key) for key in KEYS}

    def chain(self) -> Any:
        from selenium.webdriver.common.action_chains import ActionChains

        return ActionChains(self.driver, duration=15)

    def press(self, *keys: str, held: str = "") -> None:
        chain = self.chain()
        if held:
            chain.key_down(held)
        for key in keys:
            chain.send_keys(key)
        if held:
            chain.key_up(held)
        chain.perform()

    def chip(self, key: str, letter: str) -> Any:
        return self.find(f'.dimension[data-key="{key}"] .chip[data-letter="{letter}"]')

    def slot(self, key: str, place: int) -> Any:
        return self.find(f'.dimension[data-key="{key}"] .slot[data-place="{place}"]')

    def drag(self, key: str, letter: str, place: int, aside: float = 0) -> None:
        """Onto a place, `aside` of its half width away from its middle."""
        slot = self.slot(key, place)
        chain = self.chain().click_and_hold(self.chip(key, letter))
        chain.move_by_offset(6, 6).move_to_element(slot)
        if aside:
            chain.move_by_offset(round(aside * slot.size["width"] / 2), 0)
        chain.release().perform()

    def rank_by_mouse(self, wanted: Mapping[str, Groups]) -> None:
        for key, groups in wanted.items():
            for place, group in enumerate(groups):
                for letter in group:
                    self.drag(key, letter, place)

    def rank_by_keyboard(self, wanted: Mapping[str, Groups]) -> None:
        """Letters from best to worst, "=" after one that ties; Enter leads on, at last out."""
        for groups in wanted.values():
            for group in groups:
                for place, letter in enumerate(group):
                    self.press(letter.lower(), *("=" if place else ""))
            self.press(ENTER)

    def go_on(self) -> None:
        """With the button, to the next case or to the end."""
        before = self.js("location.hash")
        self.find("#next").click()
        self.leave(before)

    def leave(self, before: str) -> None:
        self.until(lambda: self.js("location.hash") != before, "the next case")

    def beside(self, address: str) -> None:
        """Another tab of the same browser opens an address, until it is a page, and goes."""
        first = self.driver.current_window_handle
        self.driver.switch_to.new_window("tab")
        self.driver.get(self.url + address)
        self.until(lambda: self.shown("instructions") or self.shown("case"), "the other tab")
        self.driver.close()
        self.driver.switch_to.window(first)

    def choose(self, button: str) -> None:
        """A button of the words across the top."""
        found = self.driver.find_elements("css selector", "#banner button")
        next(one for one in found if one.text == button).click()

    def jump(self, place: int) -> None:
        self.driver.execute_script(
            "document.getElementById('open-cases').click();"
            "document.querySelectorAll('#cases-list button')[arguments[0]].click()",
            place,
        )

    def meddle(self, rules: Mapping[str, str | int]) -> None:
        """What becomes of requests, by "METHOD" or "METHOD path", until the next call.

        "off": no connection. "lost": the server has it, its answer is not heard. "hold": its
        answer comes with the next call of this. A number: the server says so.
        """
        self.driver.execute_script(MEDDLE, rules)

    def hold(self, path: str, act: Callable[[], None]) -> None:
        """Do something that asks for `path`, whose answer then waits."""
        self.meddle({f"GET {path}": "hold"})
        act()
        self.until(lambda: self.js("window.held > 0"), f"{path} asked for")

    def requests(self) -> Sequence[str]:
        """Addresses and bodies that went to the server since the last call."""
        sent = []
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                request = message["params"]["request"]
                sent.append(request["url"] + " " + request.get("postData", ""))
        return sent


@contextmanager
def at(driver: Any, study: Study) -> Iterator[Person]:
    """A person before the study's server; the console must stay clean."""
    driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": False})
    driver.get_log("browser")
    with serving(study) as url:
        person = Person(driver, url)
        yield person
        assert person.errors() == []
        # An open page would ask a server that has gone.
        driver.get("about:blank")
        driver.get_log("browser")


def token(study: Study, name: str = "annotator-1") -> str:
    with open_store(study) as store:
        return store.invite(name)


def answers(study: Study, name: str = "annotator-1") -> dict[int, Answer]:
    with open_store(study) as store:
        return {one.place: one for one in store.answers() if one.annotator == name}
