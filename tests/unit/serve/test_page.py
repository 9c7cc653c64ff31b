"""The page in a real browser: Chromium, driven by selenium. Without one the tests are skipped, and say so."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.unit.serve.served_models import loaded, running

pytestmark = pytest.mark.thorough
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DRIVER = shutil.which("chromedriver")
OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="module")
def browse(tmp_path_factory):
    if not BROWSER or not DRIVER:
        pytest.skip("NO BROWSER: the page was not tested. Install it:  apt-get install chromium chromium-driver")
    webdriver = pytest.importorskip("selenium.webdriver")
    opened = []

    def open_at(url: str, width: int = 1600) -> Any:
        options = webdriver.ChromeOptions()
        options.binary_location = BROWSER
        for one in (*OPTIONS, f"--user-data-dir={tmp_path_factory.mktemp('browser')}", f"--window-size={width},900"):
            options.add_argument(one)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
        opened.append(driver)
        driver.set_window_size(width, 900)
        driver.get(url)
        return Page(driver)

    yield open_at
    for one in opened:
        one.quit()


@pytest.fixture(scope="module")
def served(store, models):
    of = {"bert": "wordpiece", "dialogpt": "dialogues", "dialogpt-backward": "dialogues"}
    more = {name: loaded(name, store(kind), store(kind, "valid")) for name, kind in of.items()}
    with running({**models, **more}) as found:
        yield found


class Page:
    """What a person sees and does."""

    def __init__(self, driver: Any):
        self.driver = driver
        self.until(lambda: self.text("#served") != "Asking which models are here …")

    def until(self, holds: Callable[[], Any]) -> Any:
        from selenium.common.exceptions import StaleElementReferenceException
        from selenium.webdriver.support.ui import WebDriverWait

        wait = WebDriverWait(self.driver, 120, 0.05, ignored_exceptions=[StaleElementReferenceException])
        return wait.until(lambda _: holds())

    def find(self, css: str) -> Any:
        return self.driver.find_element("css selector", css)

    def all(self, css: str) -> list[Any]:
        return self.driver.find_elements("css selector", css)

    def text(self, css: str) -> str:
        return self.find(css).text

    def write(self, css: str, text: str) -> None:
        self.find(css).clear()
        self.find(css).send_keys(text)

    def choose(self, css: str, value: str) -> None:
        self.find(f"{css} option[value='{value}']").click()

    def go(self, tab: str) -> None:
        self.find(f"#tab-{tab}").click()

    def send(self, panel: str) -> None:
        self.find(f"#{panel} form > button:not([type])").click()

    def done(self, panel: str) -> str:
        """Until it is no longer busy: what the panel says."""
        self.until(lambda: self.find(f"#{panel}").get_attribute("aria-busy") is None)
        return self.text(f"#{panel} .status")

    def complaints(self) -> list[str]:
        return [one["message"] for one in self.driver.get_log("browser") if one["level"] in ("SEVERE", "WARNING")]


def test_a_text_is_written_and_goes_on_from_another_token(browse, served) -> None:
    page = browse(served.url)
    tabs = [one.text for one in page.all("[role=tab]")]
    assert tabs == ["Write", "Read", "Chat", "Fill", "Compare"]  # what nobody here can has no tab
    page.choose("#write [name=model]", "kneser-ney")
    page.write("#write [name=max_tokens]", "8")
    page.send("write")
    assert page.done("write").startswith("8 tokens")
    tokens = page.all("#write .text .token")
    before = "The" + "".join(one.get_attribute("textContent") for one in tokens[:2])
    tokens[2].click()
    others = [one for one in page.all("#write .others button") if one.is_enabled()]
    assert 1 <= len(others) <= 8
    others[0].click()
    page.until(lambda: page.find("#write [name=prompt]").get_attribute("value").startswith(before))
    page.done("write")
    assert page.find("#write [name=prompt]").get_attribute("value") != "The"
    assert page.complaints() == []


def test_writing_can_be_stopped(browse, served) -> None:
    page = browse(served.url)
    page.write("#write [name=max_tokens]", "4000")
    page.send("write")
    page.until(lambda: page.all("#write .text .token"))
    page.find("#write .stop").click()
    assert page.done("write") == "Stopped."
    served.settle()  # the model was told as well
    assert page.complaints() == []


def test_two_models_read_a_text(browse, served) -> None:
    page = browse(served.url)
    page.go("read")
    page.send("read")
    assert "There is no text yet" in page.done("read")
    page.write("#read [name=text]", "The class definition.")
    page.choose("#read [name=second]", "kneser-ney")
    page.send("read")
    page.done("read")
    heads = [one.text for one in page.all("#read h2")]
    assert heads == ["gpt2", "kneser-ney", "Where one beats the other"]
    assert page.text("#read .columns > div .text") == "The class definition."
    assert all("bits per byte" in one.text for one in page.all("#read .note")[:2])
    assert page.complaints() == []


def test_words_are_hidden_and_guessed(browse, served) -> None:
    page = browse(served.url)
    page.go("fill")
    page.send("fill")
    assert "Hide a word first" in page.done("fill")
    page.all("#fill .words button")[1].click()
    page.send("fill")
    page.done("fill")
    assert page.text("#fill h2") == "instead of “class”"
    assert len(page.all("#fill tbody tr")) == 8
    assert page.complaints() == []


def test_a_conversation_shows_what_replies_were_chosen_from(browse, served) -> None:
    page = browse(served.url)
    page.go("chat")
    page.choose("#chat [name=backward]", "dialogpt-backward")
    page.write("#chat [name=said]", "what is class?")
    page.send("chat")
    assert page.done("chat") == ""
    assert [one.get_attribute("class") for one in page.all("#chat li")] == ["mine", ""]
    page.find("#chat summary").click()
    first = [cell.text for cell in page.all("#chat tbody tr:first-child td")]
    assert first[3] == first[4] != "–"  # by default the backward score alone decides
    assert page.complaints() == []


def test_a_wrong_key_and_a_server_that_is_gone_are_said(browse, models) -> None:
    with running({"kneser-ney": models["kneser-ney"]}, api_key="secret") as locked:
        page = browse(locked.url)
        assert "missing or wrong" in page.text("#served")
        for key, said in (("wrong", "missing or wrong"), ("secret", "kneser-ney")):
            page.write("#key", key)
            page.find("#key-form button").click()
            page.until(lambda said=said: said in page.text("#served"))
        assert not page.find("#key-form").is_displayed()
        page.send("write")
        assert "tokens" in page.done("write")
    page.send("write")
    assert page.done("write") == "The server is gone. Start it again, then try once more."


@pytest.mark.parametrize("width", [360, 1600])
def test_nothing_is_wider_than_the_window_and_keys_are_enough(browse, served, width) -> None:
    from selenium.webdriver.common.keys import Keys

    page = browse(served.url, max(width, 500))  # a window is at least so wide: the rest is done inside it
    page.driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    )
    page.find("[role=tab]").send_keys(Keys.ARROW_RIGHT)
    for tab in page.all("[role=tab]"):
        page.go(tab.get_attribute("id").removeprefix("tab-"))
        assert page.driver.execute_script("return document.documentElement.scrollWidth") <= width
    unlabelled = "return [...document.querySelectorAll('input, select, textarea')].filter(x => !x.labels.length).length"
    assert page.driver.execute_script(unlabelled) == 0


def test_axe_finds_no_serious_fault(browse, served) -> None:
    """axe-core, where it is: AXE names its file (npm pack axe-core)."""
    file = os.environ.get("AXE", "")
    if not file:
        pytest.skip("NO AXE: accessibility was not tested. Get it:  npm pack axe-core; AXE=package/axe.min.js")
    page = browse(served.url)
    page.driver.execute_script(Path(file).read_text(encoding="utf-8"))
    for tab in page.all("[role=tab]"):
        page.go(tab.get_attribute("id").removeprefix("tab-"))
        found = page.driver.execute_async_script("axe.run().then(arguments[0])")["violations"]
        assert [one["id"] for one in found if one["impact"] in ("serious", "critical")] == []
