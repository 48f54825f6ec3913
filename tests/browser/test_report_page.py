"""Reports in a real browser: they draw, sort, filter and switch without an error."""

import base64
import json
from pathlib import Path
from urllib.parse import unquote, urlparse

import pytest
from selenium.common.exceptions import NoAlertPresentException
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

ALL = ["binary", "hundred", "image", "tiny", "point", "suspects", "many", "table"]


def all_of(browser, selector):
    return browser.find_elements(By.CSS_SELECTOR, selector)


def one(browser, selector):
    return browser.find_element(By.CSS_SELECTOR, selector)


def report_of(browser):
    """Return the JSON file beside the page."""
    page = Path(unquote(urlparse(browser.current_url).path))
    return json.loads(page.with_suffix(".json").read_text(encoding="utf-8"))


def scroll_to(browser, element):
    browser.execute_async_script(
        "const [element, done] = arguments;"
        "element.scrollIntoView({block: 'center', behavior: 'instant'});"
        "requestAnimationFrame(() => requestAnimationFrame(done));",
        element,
    )


def click(browser, element):
    """Scroll to an element and click on it."""
    scroll_to(browser, element)
    element.click()


def shown_rows(browser):
    return browser.execute_script(
        "return [...document.querySelectorAll('#cluster-table tbody tr')]"
        ".filter((row) => row.offsetParent).map((row) => ({...row.dataset}))"
    )


def colors_of(browser, canvas):
    """Return the number of colors in a canvas, and a fingerprint of its pixels."""
    return browser.execute_script(
        "const canvas = document.getElementById(arguments[0]);"
        "const copy = new OffscreenCanvas(canvas.width, canvas.height);"
        "const context = copy.getContext('2d', {willReadFrequently: true});"
        "context.drawImage(canvas, 0, 0);"
        "const all = context.getImageData(0, 0, canvas.width, canvas.height).data;"
        "const seen = new Set(); let sum = 0;"
        "for (let i = 0; i < all.length; i += 4) {"
        "  if (all[i + 3] < 200) continue;"
        "  const color = all[i] * 65536 + all[i + 1] * 256 + all[i + 2];"
        "  seen.add(color); sum = (sum * 31 + color + i) % 1000000007;"
        "} return [seen.size, sum];",
        canvas,
    )


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("dark", [False, True])
def test_everything_is_drawn(visit, name, dark):
    browser = visit(name, dark=dark)
    assert browser.title.startswith(f"<i>{name}")
    assert colors_of(browser, "map-canvas")[0] > 1
    assert colors_of(browser, "overlap-canvas")[0] > 1
    n_clusters = len(shown_rows(browser))
    assert len(all_of(browser, "#strengths-chart .dot")) == n_clusters
    # Six rows have fewer than ten neighbors each, and the page says so.
    assert bool(all_of(browser, "#samples-list li")) == (name != "tiny")
    assert "No row is ranked" in one(browser, "#samples").text or name != "tiny"
    assert one(browser, "#verdict-title").text.endswith("%.")


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("width", [320, 390, 768])
def test_a_narrow_page_does_not_scroll_sideways(visit, name, width):
    browser = visit(name, width=width, mobile=True)
    widths = browser.execute_script(
        "return [document.documentElement.scrollWidth, window.innerWidth]"
    )
    assert widths == [width, width]


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("width", [320, 390])
@pytest.mark.parametrize("dark", [False, True])
def test_on_a_phone_nothing_is_cut_off(visit, name, width, dark):
    browser = visit(name, width=width, dark=dark, mobile=True)
    cut_off = browser.execute_script(
        "const all = [...document.querySelectorAll('main *, header *')];"
        "const texts = 'h1, h2, h3, p, th, td, dt, dd, summary, li';"
        "return all.filter((e) => e.getClientRects().length && !e.closest('pre')"
        "  && !e.closest('.visually-hidden, select')"
        "  && (e.getBoundingClientRect().right > window.innerWidth"
        "      || (e.matches(texts) && e.clientWidth"
        "          && e.scrollWidth > e.clientWidth)))"
        ".map((e) => e.outerHTML.slice(0, 120))"
    )
    assert cut_off == []


def test_a_phone_shows_every_cell_of_the_table_of_clusters(visit):
    browser = visit("table", width=390, mobile=True)
    row = one(browser, "#cluster-table tbody tr")
    scroll_to(browser, row)
    cells = row.find_elements(By.CSS_SELECTOR, "th, td")
    assert len(cells) == 7
    for cell in cells:
        box = cell.rect
        assert 0 <= box["x"] <= box["x"] + box["width"] <= 390
    assert "elsewhere" in row.text
    click(browser, one(browser, "#cluster-table th[data-key=size] button"))
    sizes = [int(row["size"]) for row in shown_rows(browser)]
    assert sizes == sorted(sizes, reverse=True)


def test_names_that_look_like_markup_stay_text(visit):
    browser = visit("binary")
    with pytest.raises(NoAlertPresentException):
        _ = browser.switch_to.alert
    assert all_of(browser, "img[src='x']") == []
    assert len(all_of(browser, "script")) == 2
    texts = [button.text for button in all_of(browser, "#map-legend button")]
    assert sorted(texts) == sorted(
        ["<script>alert(1)</script>", "</script><img src=x onerror=alert(2)>"]
    )
    assert "<script>alert(1)</script>" in one(browser, "#overlap-pairs").text
    assert "<script>alert(1)</script>" in one(browser, "#cluster-table").text
    assert "<script>alert(1)</script>" in one(browser, "#samples-list").text


@pytest.mark.parametrize("name", ["binary", "hundred", "image", "census"])
def test_the_table_sorts_by_every_heading_both_ways(visit, name):
    browser = visit(name)
    for key in ("size", "strength", "lower", "low", "cluster"):
        heading = one(browser, f"#cluster-table th[data-key={key}]")
        orders = {}
        for _ in range(2):
            click(browser, heading.find_element(By.TAG_NAME, "button"))
            direction = heading.get_attribute("aria-sort")
            shown = shown_rows(browser)
            if key not in ("size", "cluster"):  # the others come last both ways
                marks = [row["little"] for row in shown]
                assert marks == sorted(marks)
                shown = [row for row in shown if row["little"] == "0"]
            orders[direction] = [float(row[key]) for row in shown]
        assert orders["ascending"] == sorted(orders["ascending"])
        assert orders["descending"] == sorted(orders["descending"], reverse=True)
        assert len(all_of(browser, "#cluster-table th[aria-sort]")) == 1


def test_what_says_little_is_at_the_end_of_every_list(visit):
    browser = visit("census")
    little = {row["cluster"] for row in shown_rows(browser) if row["little"] == "1"}
    assert len(little) >= 10
    options = all_of(browser, "#samples-cluster option")[1:]
    values = [option.get_attribute("value") for option in options]
    assert set(values[-len(little) :]) == little
    assert values == [row["cluster"] for row in shown_rows(browser)]
    cards = [card.text for card in all_of(browser, "#samples-list li")]
    assert len(cards) == 12
    assert not any(f"cluster {c}\n" in text for c in little for text in cards)
    click(browser, one(browser, f"tr[data-cluster='{values[-1]}'] button"))
    assert one(browser, "#samples-count").text == (
        "This cluster has too few rows to rank its samples."
    )


def test_the_table_filters_by_class_number_and_difference(visit):
    browser = visit("hundred")
    everything = shown_rows(browser)
    field = one(browser, "#table-filter")
    field.send_keys("class 77")
    some = shown_rows(browser)
    assert 0 < len(some) < len(everything)
    assert one(browser, "#table-count").text == (
        f"{len(some)} of {len(everything)} shown"
    )
    field.clear()
    field.send_keys("no such class")
    assert shown_rows(browser) == []
    field.clear()
    field.send_keys(Keys.SPACE)
    assert len(shown_rows(browser)) == len(everything)
    click(browser, one(browser, "#table-differs"))
    assert [row["cluster"] for row in shown_rows(browser)] == [
        row["cluster"] for row in everything if row["differs"] == "1"
    ]


@pytest.mark.parametrize("name", ["binary", "hundred", "image", "point"])
def test_the_map_changes_with_its_views(visit, name):
    browser = visit(name)
    pictures = {}
    for view in ("class", "error", "strength"):
        label = one(browser, f"input[value={view}] + span")
        click(browser, label)
        pictures[view] = colors_of(browser, "map-canvas")[1]
        legend = one(browser, "#map-legend").text
        if view != "class":
            wanted = (
                "estimated Bayes error" if view == "error" else "smoothing strength"
            )
            assert wanted in legend
    assert pictures["class"] not in (pictures["error"], pictures["strength"])


def test_a_class_can_be_shown_alone(visit):
    browser = visit("image")
    before = colors_of(browser, "map-canvas")
    button = all_of(browser, "#map-legend button")[3]
    click(browser, button)
    pressed = all_of(browser, "#map-legend button[aria-pressed=true]")
    assert [b.text for b in pressed] == ["3"]
    assert colors_of(browser, "map-canvas") != before
    browser = visit("hundred")
    before = colors_of(browser, "map-canvas")
    Select(one(browser, "#map-class")).select_by_visible_text("class 42")
    assert colors_of(browser, "map-canvas") != before


def test_hovering_over_the_map_tells_about_a_row(visit):
    browser = visit("image")
    canvas = one(browser, "#map-canvas")
    scroll_to(browser, canvas)
    ActionChains(browser).move_to_element(canvas).perform()
    tip = one(browser, "#tip")
    assert tip.is_displayed()
    assert "row" in tip.text
    assert "strength 0." in tip.text
    ActionChains(browser).move_to_element(one(browser, "#map-title")).perform()
    assert not tip.is_displayed()


def test_the_keyboard_moves_through_map_chart_and_heat_map(visit):
    browser = visit("image")
    for canvas, live in (
        ("map-canvas", "map-live"),
        ("overlap-canvas", "overlap-live"),
    ):
        browser.execute_script(f"document.getElementById('{canvas}').focus()")
        said = []
        for _ in range(3):
            browser.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
            said.append(one(browser, f"#{live}").get_attribute("textContent"))
        assert len(set(said)) == 3
        assert all(said)
    dots = all_of(browser, "#strengths-chart .dot")
    assert [dot.get_attribute("tabindex") for dot in dots].count("0") == 1
    browser.execute_script("arguments[0].focus()", dots[0])
    browser.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
    second = browser.switch_to.active_element
    assert second.get_attribute("aria-label") == dots[1].get_attribute("aria-label")
    second.send_keys(Keys.ENTER)
    assert one(browser, "[data-clear]").is_displayed()


def test_a_chosen_cluster_is_chosen_everywhere(visit):
    browser = visit("image")
    row = next(r for r in shown_rows(browser) if float(r["lower"]) > 0)
    number = row["cluster"]
    before = colors_of(browser, "map-canvas"), colors_of(browser, "overlap-canvas")
    click(browser, one(browser, f"tr[data-cluster='{number}'] button"))
    after = colors_of(browser, "map-canvas"), colors_of(browser, "overlap-canvas")
    assert before[0] != after[0]
    assert before[1] != after[1]
    assert one(browser, "#samples-cluster").get_attribute("value") == number
    cards = [card.text for card in all_of(browser, "#samples-list li")]
    assert cards
    assert all(f"cluster {number}\n" in text for text in cards)
    click(browser, one(browser, "[data-clear]"))
    assert one(browser, "#overlap-cluster").get_attribute("value") == ""
    assert colors_of(browser, "map-canvas") == before[0]


def test_pictures_of_samples_are_images(visit):
    browser = visit("image")
    sizes = browser.execute_script(
        "return [...document.querySelectorAll('#samples-list img')]"
        ".map((image) => [image.naturalWidth, image.naturalHeight, image.alt])"
    )
    assert len(sizes) == 24
    assert all(size[:2] == [8, 8] for size in sizes)
    assert all("labeled" in size[2] for size in sizes)


def test_suspects_show_the_label_they_have_and_the_one_they_look_like(visit):
    browser = visit("suspects")
    report = report_of(browser)
    assert report["n_suspects"] >= 10
    cards = all_of(browser, "#suspects-list li")
    assert len(cards) == min(24, len(report["suspects"]))
    for card, found in zip(cards, report["suspects"], strict=False):
        assert f"labeled “{found['label']}”" in card.text
        assert f"looks like “{found['likely']}”" in card.text
        assert f"row {found['row']}, cluster {found['cluster']}" in card.text
        image = card.find_element(By.TAG_NAME, "img")
        assert image.get_property("naturalWidth") == 8
    assert any(found["row"] % 90 == 0 for found in report["suspects"])
    assert all_of(visit("image"), "#suspects") == []


def test_values_of_rows_are_shown_the_unusual_ones_first(visit):
    browser = visit("table")
    report = report_of(browser)
    for selector, rows in (("samples", "samples"), ("suspects", "suspects")):
        cards = all_of(browser, f"#{selector}-list li")
        assert len(cards) == 12
        for card, row in zip(cards, report[rows], strict=False):
            names = card.find_elements(By.CSS_SELECTOR, ".values dt")
            values = card.find_elements(By.CSS_SELECTOR, ".values dd")
            assert len(names) == len(values) == 6
            for name, value, found in zip(names, values, row["values"], strict=False):
                assert name.text == found["feature"]
                usual = found["usual"]
                expected = found["value"]
                if usual not in (None, expected):
                    expected += f" usually {usual}"
                assert value.text == expected
    card = one(browser, "#samples-list li")
    click(browser, card.find_element(By.CSS_SELECTOR, ".more"))
    assert len(card.find_elements(By.CSS_SELECTOR, ".values dt")) == 9
    assert card.find_elements(By.CSS_SELECTOR, ".more") == []
    assert "<b>occupation" in card.text  # names of columns are text too
    assert "missing" in one(browser, "#samples-list").text
    click(browser, one(browser, "#suspects-more"))
    assert len(all_of(browser, "#suspects-list li")) == len(report["suspects"]) > 12
    assert not one(browser, "#suspects-more").is_displayed()


def test_clusters_say_what_distinguishes_them_and_are_found_by_it(visit):
    browser = visit("table")
    report = report_of(browser)
    first = report["clusters"][0]
    texts = all_of(browser, "#cluster-table tbody tr:first-child .distinction")
    assert [text.text.partition(":")[0] for text in texts] == [
        f"{found['feature']} {found['condition']}" for found in first["distinctions"]
    ]
    everything = shown_rows(browser)
    one(browser, "#table-filter").send_keys("capital gain")
    assert {int(row["cluster"]) for row in shown_rows(browser)} == {
        row["cluster"]
        for row in report["clusters"]
        if "capital gain" in [found["feature"] for found in row["distinctions"]]
    }
    assert 0 < len(shown_rows(browser)) < len(everything)


@pytest.mark.parametrize("has_clipboard", [True, False])
def test_lines_are_copied(visit, has_clipboard):
    browser = visit("table")
    lines = report_of(browser)["snippets"]
    blocks = all_of(browser, ".snippet")
    assert [block.find_element(By.TAG_NAME, "summary").text for block in blocks] == [
        line["title"] for line in lines
    ]
    if not has_clipboard:
        browser.execute_script("delete Navigator.prototype.clipboard")
    wanted = 0
    click(browser, blocks[wanted].find_element(By.CSS_SELECTOR, "[data-copy]"))
    button = blocks[wanted].find_element(By.CSS_SELECTOR, "[data-copy]")
    WebDriverWait(browser, 5).until(lambda _: button.text == "Copied")
    # What was copied can be pasted.
    field = one(browser, "#table-filter")
    scroll_to(browser, field)
    field.send_keys(Keys.CONTROL, "v")
    assert field.get_property("value") == lines[wanted]["code"]
    assert lines[wanted]["code"] == (
        "structsmooth fit people.csv --label income -o out"
    )


def test_colors_follow_the_system_and_the_button(visit):
    def background(browser):
        return browser.execute_script(
            "return getComputedStyle(document.body).backgroundColor"
        )

    light = background(visit("tiny"))
    browser = visit("tiny", dark=True)
    dark = background(browser)
    assert light != dark
    click(browser, one(browser, "#theme"))
    assert background(browser) == light
    click(browser, one(browser, "#theme"))
    assert background(browser) == dark


def test_the_page_prints_and_paper_is_white(visit):
    light = colors_of(visit("image"), "overlap-canvas")
    browser = visit("image", dark=True)
    dark = colors_of(browser, "overlap-canvas")
    browser.execute_script("window.dispatchEvent(new Event('beforeprint'))")
    assert colors_of(browser, "overlap-canvas") == light
    browser.execute_script("window.dispatchEvent(new Event('afterprint'))")
    assert colors_of(browser, "overlap-canvas") == dark
    answer = browser.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})
    pdf = base64.b64decode(answer["data"])
    assert pdf.startswith(b"%PDF")
    assert len(pdf) > 50_000


@pytest.mark.usefixtures("visit")
def test_without_javascript_verdict_checks_and_tables_are_there(chromium, reports):
    switch = "Emulation.setScriptExecutionDisabled"
    chromium.execute_cdp_cmd(switch, {"value": True})
    try:
        chromium.get(reports["image"])
        assert one(chromium, "noscript p").is_displayed()
        assert one(chromium, "#verdict-title").is_displayed()
        assert len(all_of(chromium, "#cluster-table tbody tr")) > 5
        assert len(all_of(chromium, "#overlap-pairs tr")) == 10
    finally:
        chromium.execute_cdp_cmd(switch, {"value": False})
