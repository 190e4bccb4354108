"""The door and the page of the people who run the study."""

from __future__ import annotations

from medebench.study.design import Study
from medebench.study.server.store import open_store
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
    assert "1 of 6" in row and "invited" in row
    assert "Editing accuracy" in person.text("#agreement")
    person.find('[data-key="invite annotator-2"]').click()
    person.until(lambda: person.js("document.getElementById('invitation').open"))
    link = person.js("document.getElementById('invitation-link').value")
    assert link.startswith(f"{person.url}/join#")
    person.find("#invitation-done").click()
    assert person.js("document.getElementById('invitation-link').value") == ""
    assert link.split("#")[1] not in person.driver.page_source

    person.find("#close-study").click()
    assert "11 cases are not finished" in person.text("#sure")
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
