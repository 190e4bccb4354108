"""The door and the page of the people who run the study."""

from __future__ import annotations

from medebench.study.design import RUINED, Study
from medebench.study.server.answer_store import open_store
from tests.study.browser.person import KEYS, Person, token


def test_the_administrator_watches_invites_and_closes(small: tuple[Study, Person]) -> None:
    study, person = small
    person.begin(token(study))
    person.rank_by_keyboard({key: [["A"], ["B"], ["C"]] for key in KEYS})
    person.until(lambda: person.place == 1)
    person.press("a")
    person.settle()
    person.driver.get(f"{person.url}/admin")  # not for annotators
    assert person.text("h1") == "Please open your invitation link"
    assert person.js("document.querySelectorAll('table').length") == 0

    person.join(token(study, "admin"))
    assert person.js("location.pathname") == "/admin"
    person.until(lambda: "annotator-1" in person.text("#people"))
    row = person.text("#people tbody tr")
    assert "0 of 5" in row and "invited" in row  # the trial does not count
    assert "Editing accuracy" in person.text("#agreement")
    person.find('[data-key="invite annotator-2"]').click()
    person.until(lambda: person.js("document.getElementById('invitation').open"))
    link = person.js("document.getElementById('invitation-link').value")
    assert link.startswith(f"{person.url}/join#")
    person.find("#invitation-done").click()
    # a dialog tells of its closing in a task of its own
    person.until(lambda: person.js("document.getElementById('invitation-link').value") == "")
    assert link.split("#")[1] not in person.driver.page_source

    person.find("#close-study").click()
    assert "10 cases are not finished" in person.text("#sure")
    person.find("#sure-no").click()
    assert person.text("#state") == "open"
    person.find("#close-study").click()
    person.find("#sure-yes").click()
    person.until(lambda: person.text("#state").startswith("closed"))
    with open_store(study) as store:
        assert store.closed() is not None
    person.join(link.split("#")[1])
    person.until(lambda: person.shown("instructions"))
    assert "closed" in person.text("#banner")


def test_the_administrator_sees_doubts_and_the_end_and_reaches_all_buttons(
    small: tuple[Study, Person],
) -> None:
    """In the same numbers as the annotator."""
    study, person = small
    annotator = study.design.annotator("annotator-1")
    assert annotator is not None
    person.begin(token(study))
    for place, task in enumerate(annotator.tasks):
        person.at_place(place)
        if place == 3:
            assert person.text("#count") == "Case 3 of 5"
            person.find("#skip-open").click()
            person.find("#reason-2").click()
            person.find("#skip-go").click()
            continue
        # The ruined one first: whoever looks does not say so.
        letters = sorted("ABC", key=lambda one: task.order["ABC".index(one)] != RUINED)
        person.rank_by_keyboard({key: [[one] for one in letters] for key in KEYS})
    person.until(lambda: person.shown("thanks"))

    person.join(token(study, "admin"))
    person.until(lambda: "annotator-1" in person.text("#people"))
    row = person.text("#people tbody tr")
    assert "5 of 5" in row and "finished" in row and "invited" not in row
    assert "Repeats shown" in person.text("#people thead")
    doubted = person.driver.find_elements("css selector", "#people .amiss")
    titles = [one.get_attribute("title") for one in doubted]
    assert len(titles) == 2 and "s per case" in titles[0]
    assert titles[1] == "In doubt: failed 1 of 1 controls"
    assert person.text("#skips tbody td") == "3"

    for width in (768, 1199, 1200, 1440):
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        person.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        person.until(lambda width=width: person.js("innerWidth") == width)  # type: ignore[misc]
        assert person.js("document.documentElement.scrollWidth") <= width
        edges = person.js(
            "[...document.querySelectorAll('#people button')]"
            ".map(one => one.getBoundingClientRect().right)"
        )
        assert len(edges) == 3 and max(edges) <= width, (width, edges)
        assert person.js("document.querySelector('.scroll').scrollLeft") == 0


def test_a_wrong_link_says_so_and_leaves_no_token_in_the_address(
    small: tuple[Study, Person],
) -> None:
    study, person = small
    person.driver.get("about:blank")
    person.driver.delete_all_cookies()
    person.driver.get(f"{person.url}/join#not-a-token")
    person.until(lambda: person.text("h1") == "This link does not work")
    assert person.js("location.href") == f"{person.url}/join"
    person.driver.get(f"{person.url}/join#{token(study)}")  # the right one in the same tab
    person.until(lambda: person.shown("instructions"))
    assert "#" not in person.js("location.href")
