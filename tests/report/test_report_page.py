"""The page in a real browser: what it draws, and how it is used."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from report.conftest import ROWS, OpenPage, chosen, row, write_page
from report.report_inputs import HOSTILE, conversation, written


def test_the_overview_keeps_its_columns_apart(opened: OpenPage, small_page: Path) -> None:
    page = opened(small_page)
    expect(page.locator("#headline")).to_contain_text("2 unplanned breaks in 5 requests")
    rates = page.locator("#rates > div")
    expect(rates).to_have_count(3)
    for place, words in enumerate(("Ceiling estimated", "By rules estimated", "Reported by the provider")):
        expect(rates.nth(place).locator("dt")).to_have_text(words)
    expect(rates.nth(2).locator("b")).to_have_text("39.5 %")
    expect(page.locator("#causes tbody tr").first).to_contain_text("clock_in_prefix")
    expect(page.locator("#rate-chart svg")).to_have_attribute(
        "aria-label", re.compile("ceiling, estimated .* reported 39.5 %")
    )


BARS = """() => [...document.querySelectorAll("#rows [role=option] svg.bar")].map((bar) => {
    const rects = (selector) => [...bar.querySelectorAll(selector)].map((one) => one.width.baseVal.value);
    const sum = (widths) => widths.reduce((all, one) => all + one, 0);
    const mark = bar.querySelector(".mark .line")?.getAttribute("d").match(/^M([\\d.]+)/)[1];
    return {
        reused: sum(rects("rect.reused")),
        again: sum(rects("rect.again")),
        fresh: sum(rects("rect.fresh")),
        hatched: sum(rects('rect[fill="url(#hatch)"]')),
        mark: mark === undefined ? null : Number(mark),
        width: bar.clientWidth,
    };
})"""


def test_bars_are_as_long_as_prompts_and_mark_what_is_sent_again(opened: OpenPage, small_page: Path) -> None:
    first, held, clock, tools, _ = bars = opened(small_page).evaluate(BARS)
    assert first["reused"] == first["again"] == 0 < first["fresh"]
    assert held["reused"] == pytest.approx(first["fresh"], abs=0.1)
    assert held["again"] == 0
    assert clock["again"] > clock["fresh"]
    assert [bar["hatched"] for bar in bars] == [bar["again"] for bar in bars]
    assert [bar["mark"] is None for bar in bars] == [True, True, False, False, True]
    for broken in (clock, tools):
        assert broken["mark"] == pytest.approx(broken["reused"], abs=0.1)
    longest = max(bar["reused"] + bar["again"] + bar["fresh"] for bar in bars)
    assert longest == pytest.approx(first["width"] - 1, abs=0.5)


def test_a_click_shows_what_broke_where_and_what_to_do(opened: OpenPage, small_page: Path) -> None:
    page = opened(small_page)
    page.click(row(2))
    detail = page.locator("#detail")
    expect(detail.locator("h3")).to_have_text("Request 2")
    expect(detail.locator(".verdict-line")).to_contain_text("clock_in_prefix")
    expect(detail.locator(".was del")).to_have_text("1")
    expect(detail.locator(".now ins")).to_have_text("2")
    expect(detail.locator(".was pre")).to_have_text(re.compile("Current time: 10:01⏎⏎## Rules⏎"))
    expect(detail).to_contain_text("tokens lost, estimated")
    expect(detail.locator(".remedy")).to_contain_text("coldturn docs clock_in_prefix")
    expect(detail).to_contain_text("$.instructions")
    detail.get_by_role("button", name="request 1").click()
    assert chosen(page) == "Request 1"
    assert page.url.endswith("#row=1")


def test_the_parts_of_a_prompt_are_listed_with_their_state(opened: OpenPage, small_page: Path) -> None:
    page = opened(small_page)
    page.click(row(2))
    page.click("#detail .part-list summary")
    states = page.locator("#detail .parts .state").all_inner_texts()
    assert states[0] == "reusable"
    assert "differs" in states
    assert states.index("differs") < states.index("sent again")
    keys = page.locator("#detail .parts .key").all_inner_texts()
    assert keys[0] == "tools[0] read_file"


def test_the_keyboard_reaches_everything(opened: OpenPage, small_page: Path) -> None:
    page = opened(small_page)
    page.keyboard.press("Escape")
    for key, place in (("j", 0), ("j", 1), ("k", 0), ("n", 2), ("n", 3), ("p", 2)):
        page.keyboard.press(key)
        assert chosen(page) == f"Request {place}", key
    page.focus("#rows")
    for key, place in (("ArrowDown", 3), ("ArrowUp", 2), ("End", 4), ("Home", 0)):
        page.keyboard.press(key)
        assert chosen(page) == f"Request {place}", key
    assert page.get_attribute("#rows", "aria-activedescendant") == "row-0"
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "q"
    page.keyboard.type("j")
    assert page.input_value("#q") == "j"
    page.keyboard.press("Escape")
    expect(page.locator("#q")).to_have_value("")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog", name="Keys")).to_be_hidden()


def test_what_can_be_read_again_is_not_called_read(opened: OpenPage, small_page: Path) -> None:
    page = opened(small_page)
    page.click(row(2))
    expect(page.locator("#map-legend")).to_contain_text("reusable")
    expect(page.locator("#detail .shares")).to_contain_text("reusable")
    assert not re.search(r"\breused\b", page.inner_text("body"))


@pytest.mark.parametrize("key", ["n", "p", "j", "k"])
def test_a_key_brings_what_it_chooses_into_the_window(opened: OpenPage, small_page: Path, key: str) -> None:
    page = opened(small_page, height=600, motion="reduce", fragment="#row=2")
    page.evaluate("scrollTo(0, 0)")
    page.keyboard.press(key)
    expect(page.locator("#rows [aria-selected=true]")).to_be_in_viewport(ratio=1)


SELECT = """(select) => {
    const style = getComputedStyle(select);
    const pen = document.createElement("canvas").getContext("2d");
    pen.font = style.font;
    const words = pen.measureText(select.selectedOptions[0].textContent).width;
    return select.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight) - words;
}"""
ARROW = 16


def test_a_chosen_cause_stands_clear_of_the_arrow(opened: OpenPage, small_page: Path) -> None:
    page = opened(small_page, fragment="#cause=clock_in_prefix")
    assert page.eval_on_selector("#cause", SELECT) >= ARROW


def test_the_lines_of_two_files_are_not_joined(opened: OpenPage, tmp_path: Path) -> None:
    logs = [written(tmp_path / f"{name}.jsonl", conversation()) for name in "ab"]
    one, two = (write_page(tmp_path / f"{len(given)}.html", *given) for given in (logs[:1], logs))
    lines = "(path) => path.getAttribute('d').split('M').length - 1"
    for path, count, words in ((one, 1, "request 0"), (two, 2, "10 requests of 2 files")):
        page = opened(path)
        assert page.eval_on_selector("#rate-chart path.line-ceiling", lines) == count
        expect(page.locator("#rate-chart svg")).to_contain_text(words)


def test_filters_filter_and_stand_in_the_address(opened: OpenPage, small_page: Path) -> None:
    page = opened(small_page)
    page.select_option("#cause", "tool_added")
    expect(page.locator(ROWS)).to_have_count(1)
    expect(page.locator("#shown")).to_have_text("1 of 5 requests, 1 unplanned break")
    assert "cause=tool_added" in page.url
    page.click("#clear")
    expect(page.locator(ROWS)).to_have_count(5)
    page.select_option("#verdict", "unplanned")
    expect(page.locator(ROWS)).to_have_count(2)
    page.select_option("#zone", "system")
    expect(page.locator(ROWS)).to_have_count(1)
    page.click("#clear")
    page.fill("#q", "grep tools")
    expect(page.locator(ROWS)).to_have_count(1)
    page.fill("#q", "nothing of this")
    expect(page.locator("#empty")).to_be_visible()


def test_the_costliest_can_come_first(opened: OpenPage, small_page: Path) -> None:
    page = opened(small_page)
    page.select_option("#order", "cost")
    expect(page.locator(ROWS).first).to_have_attribute("aria-label", re.compile("tokens lost"))
    assert "order=cost" in page.url
    page.focus("#rows")
    page.keyboard.press("Home")
    assert chosen(page) in ("Request 2", "Request 3")


def test_a_cause_of_the_overview_leads_to_its_requests(opened: OpenPage, small_page: Path) -> None:
    page = opened(small_page)
    page.get_by_role("button", name="Show only tool_added").click()
    expect(page.locator(ROWS)).to_have_count(1)
    assert chosen(page) == "Request 3"


def test_an_address_opens_what_it_names(opened: OpenPage, small_page: Path) -> None:
    page = opened(small_page, fragment="#row=3&zone=tools")
    assert chosen(page) == "Request 3"
    expect(page.locator(ROWS)).to_have_count(1)
    page.evaluate("location.hash = '#row=2'")
    expect(page.locator("#detail h3")).to_have_text("Request 2")
    expect(page.locator(ROWS)).to_have_count(5)


@pytest.mark.parametrize(
    "fragment", ["#row=99", "#view=7&row=x", "#cause=%3Cimg%20src%3Dx%3E", "#__proto__=1"]
)
def test_an_address_that_names_nothing_does_no_harm(
    opened: OpenPage, small_page: Path, fragment: str
) -> None:
    page = opened(small_page, fragment=fragment)
    expect(page.locator("#headline")).to_contain_text("5 requests")


def test_servers_and_idle_tools(opened: OpenPage, small_page: Path) -> None:
    page = opened(small_page)
    panel = page.locator("#servers")
    expect(panel.get_by_role("table", name="MCP servers")).to_contain_text("files")
    panel.locator("summary").click()
    expect(panel.locator(".versions")).to_contain_text("added: grep")
    expect(panel.locator(".versions")).to_contain_text("removed: write_file")
    expect(panel.locator(".versions ins")).to_contain_text("a whole file")
    expect(panel).to_contain_text("2 of 3 tools that prompts define were never called")


def test_what_could_not_be_read_is_told_where_there_is_something(
    opened: OpenPage, hostile_page: Path, small_page: Path
) -> None:
    page = opened(hostile_page)
    notes = page.locator("#notes")
    expect(notes).to_be_visible()
    expect(notes.locator("li")).to_have_count(1)
    expect(notes).to_contain_text("line 7")
    expect(opened(small_page).locator("#notes")).to_be_hidden()


def test_hostile_text_stays_text(opened: OpenPage, hostile_page: Path) -> None:
    page = opened(hostile_page)
    shown = page.evaluate("document.querySelectorAll('img, script:not([type]), iframe').length")
    assert shown == 0
    for place in range(page.locator(ROWS).count()):
        page.click(row(place))
        page.click("#detail .part-list summary")
    page.click("#servers summary")
    assert page.title() == "a log · coldturn report"
    text = page.inner_text("body")
    assert HOSTILE[:30] in text
    assert not re.search("[\u202a-\u202e\u2066-\u2069\0]", text)
    assert "⟨U+202E⟩" in text
    assert page.evaluate("document.querySelectorAll('img').length") == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
