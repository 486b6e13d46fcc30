"""Thousands of requests: only what is in sight is drawn."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from coldturn.analysis.report.page import write_report
from report.conftest import ROWS, OpenPage, chosen, row
from report.many_rows import HISTORY, many_rows

MANY = 5_000
ROWS_IN_SIGHT = 60


@pytest.fixture(scope="module")
def many_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("many") / "many.html"
    write_report(many_rows(MANY), path, "many")
    return path


def test_rows_out_of_sight_are_no_elements(opened: OpenPage, many_page: Path) -> None:
    page = opened(many_page)
    expect(page.locator(ROWS).first).to_have_attribute("aria-setsize", str(MANY))
    page.focus("#rows")
    for key, place in (("End", MANY - 1), ("PageUp", MANY - 11), ("Home", 0)):
        page.keyboard.press(key)
        assert chosen(page).startswith(f"Request {place},")
        expect(page.locator(f"#row-{place}")).to_be_in_viewport()
        assert page.locator(ROWS).count() < ROWS_IN_SIGHT


def test_a_step_of_scrolling_makes_few_elements_however_many_rows_there_are(
    opened: OpenPage, many_page: Path
) -> None:
    page = opened(many_page)
    made = page.evaluate(
        """async () => {
            const box = document.querySelector("#rows");
            const steps = [];
            let added = 0;
            new MutationObserver((seen) => { for (const one of seen) added += one.addedNodes.length; })
                .observe(document.querySelector("#rows-all"), { childList: true });
            for (let step = 0; step < 40; step += 1) {
                added = 0;
                box.scrollTop += step < 20 ? 56 : 5600;
                await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
                steps.push(added);
            }
            return steps;
        }"""
    )
    # By sums: on a busy machine, two steps may be drawn as one.
    near, far = sum(made[:20]), sum(made[20:])
    assert 0 < near <= 20 * 56 / 28 + ROWS_IN_SIGHT
    assert 0 < far <= 20 * ROWS_IN_SIGHT


def test_parts_far_down_are_unpacked_as_they_were_packed(opened: OpenPage, many_page: Path) -> None:
    page = opened(many_page, fragment=f"#row={MANY - 1}")
    page.click("#detail .part-list summary")
    expect(page.locator("#detail .parts li")).to_have_count(HISTORY + 2)
    keys = page.locator("#detail .parts .key").all_inner_texts()
    assert keys == ["tools[0] search", "instructions", *(f"input[{at}] user" for at in range(HISTORY))]


def test_more_than_fits_on_paper_is_cut(opened: OpenPage, many_page: Path) -> None:
    page = opened(many_page)
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator(ROWS).count() == 400


def test_what_is_lost_without_a_change_of_text_has_no_place(opened: OpenPage, many_page: Path) -> None:
    page = opened(many_page, fragment="#row=5")
    bar = page.locator(f"{row(5)} svg.bar")
    assert bar.locator(".mark").count() == 0
    assert bar.locator('rect[fill="url(#hatch)"]').count() > 0
    detail = page.locator("#detail")
    expect(detail).to_contain_text(
        "The prompt's text is that of the request it continues. About 1,000 tokens lost"
    )
    expect(detail).to_contain_text("Because: 7 minutes after the request before it.")
    expect(detail).to_contain_text("estimated, from tokens")
    assert page.locator(f"{row(10)} svg.bar .mark.loud").count() == 1
