"""The page for everybody: names and roles, contrast, small screens, paper."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest
from playwright.sync_api import expect

from report.conftest import ROWS, OpenPage, Scheme, chosen, row


def test_everything_has_a_name_and_a_role(opened: OpenPage, small_page: Path) -> None:
    page = opened(small_page)
    page.click(row(2))
    session = page.context.new_cdp_session(page)
    nodes = session.send("Accessibility.getFullAXTree")["nodes"]
    needs_name = {
        "button",
        "link",
        "combobox",
        "searchbox",
        "textbox",
        "listbox",
        "option",
        "table",
        "image",
        "dialog",
        "region",
        "checkbox",
    }
    nameless = [
        node["role"]["value"]
        for node in nodes
        if not node.get("ignored")
        and node.get("role", {}).get("value") in needs_name
        and not node.get("name", {}).get("value")
    ]
    assert nameless == []
    roles = [node["role"]["value"] for node in nodes if not node.get("ignored")]
    assert {"main", "banner", "contentinfo", "listbox", "search", "complementary", "status"} <= set(roles)
    options = page.locator(ROWS)
    assert options.nth(2).get_attribute("aria-label") == page.locator(row(2)).get_attribute("aria-label")
    expect(options.nth(2)).to_have_attribute("aria-selected", "true")
    expect(options.nth(2)).to_have_attribute("aria-posinset", "3")
    expect(options.nth(2)).to_have_attribute(
        "aria-label",
        re.compile(r"^Request 2: broken, clock_in_prefix in system, .*estimated; \d+ % reusable"),
    )


def test_headings_go_down_one_step_at_a_time(opened: OpenPage, small_page: Path) -> None:
    page = opened(small_page)
    levels = page.evaluate(
        "[...document.querySelectorAll('h1,h2,h3,h4')].map((one) => Number(one.tagName[1]))"
    )
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


def test_focus_can_be_seen(opened: OpenPage, small_page: Path) -> None:
    page = opened(small_page)
    for _ in range(12):
        page.keyboard.press("Tab")
        style = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert style == "solid", page.evaluate("document.activeElement.outerHTML.slice(0, 80)")


CONTRAST = (Path(__file__).parent / "contrast.js").read_text(encoding="utf-8").partition("\n")[2]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_in_both_schemes(opened: OpenPage, small_page: Path, scheme: Scheme) -> None:
    page = opened(small_page, scheme=scheme)
    for place in (2, 1):
        page.click(row(place))
        page.click("#detail .part-list summary")
        assert page.evaluate(CONTRAST) == []


def test_the_button_changes_the_colours_and_the_next_visit_knows(opened: OpenPage, small_page: Path) -> None:
    page = opened(small_page, scheme="light")
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.click("#theme")
    dark = page.evaluate(ground)
    assert dark != light
    expect(page.locator("#theme")).to_have_attribute("aria-pressed", "true")
    page.reload()
    assert page.evaluate(ground) == dark


@pytest.mark.parametrize("width", [360, 800, 1280])
def test_no_width_makes_the_page_scroll_sideways(
    opened: OpenPage, hostile_page: Path, small_page: Path, width: int
) -> None:
    for path in (hostile_page, small_page):
        page = opened(path, width, 740)
        page.click(row(1))
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_on_a_small_screen_the_chosen_request_is_a_sheet(opened: OpenPage, small_page: Path) -> None:
    page = opened(small_page, 360, 740)
    detail = page.locator("#detail")
    expect(detail).to_be_hidden()
    page.click(row(2))
    expect(detail).to_be_visible()
    assert page.evaluate("document.activeElement.id") == "detail"
    page.keyboard.press("Escape")
    expect(detail).to_be_hidden()
    page.click(row(3))
    page.get_by_role("button", name="Close the chosen request").click()
    expect(detail).to_be_hidden()
    page.keyboard.press("End")
    expect(detail).to_be_hidden()
    page.keyboard.press("Enter")
    expect(detail).to_be_visible()
    assert chosen(page) == "Request 4"


def test_on_paper_there_are_rows_and_breaks_and_no_controls(opened: OpenPage, small_page: Path) -> None:
    page = opened(small_page, scheme="dark")
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    for name in ("#filters", ".actions", ".sections", "#detail"):
        expect(page.locator(name)).to_be_hidden()
    expect(page.locator(ROWS)).to_have_count(5)
    expect(page.locator("#print-breaks tbody tr")).to_have_count(2)
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


def test_no_motion_where_none_is_wanted(opened: OpenPage, small_page: Path) -> None:
    page = opened(small_page, motion="reduce")
    assert page.evaluate("getComputedStyle(document.documentElement).scrollBehavior") == "auto"
