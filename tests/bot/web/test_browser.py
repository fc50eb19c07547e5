"""The page in a real browser: with and without scripts, by keyboard, on a phone, at night."""

import json
from urllib.parse import urlencode

import pytest

from tests.bot.web.browser import Visit
from tests.scenarios.stage import HEADLINE, TWEETS

PHONE, DESKTOP = (360, 740), (1280, 900)
PATHS = (
    "",
    "prophecy?headline=Coffee+prices&date=2024-01-01&corpus=demo",
    "search?q=coffee",
    "documents/demo/1",
    "corpora/demo",
    "corpora",
    "corpora/demo/2010/10",
    "ask?question=What+of+coffee",
    "corpora/demo/on-this-day",
    "corpora/demo/most-liked",
    "docs",
    "nowhere",
)
CARDS = "document.querySelectorAll('.hit').length"


async def ask(visit: Visit) -> None:
    await visit.open("")
    await visit.browser.click("#headline")
    await visit.browser.write(HEADLINE)


async def require_answer(visit: Visit) -> None:
    assert await visit.read("document.querySelector('h1').innerText") == HEADLINE
    assert await visit.read(CARDS) == 3
    assert await visit.read("document.querySelector('blockquote').innerText") == TWEETS[0]
    assert await visit.read("document.querySelector('mark').innerText") == "Coffee"
    assert "date=" in str(await visit.read("location.search"))


async def test_a_headline_is_asked_with_the_keyboard(visit: Visit) -> None:
    await ask(visit)
    await visit.browser.press("Enter", "\r")
    await visit.browser.load()
    await require_answer(visit)


async def test_an_installed_page_takes_a_headline_that_a_phone_shares(visit: Visit) -> None:
    await visit.browser.look_like(width=PHONE[0], height=PHONE[1])
    await visit.open("")
    installed = await visit.browser.call("Page.getAppManifest")
    assert installed["errors"] == []
    target = json.loads(installed["data"])["share_target"]
    shared = {target["params"]["title"]: "The Daily", target["params"]["text"]: HEADLINE}
    await visit.open(f"{target['action'].removeprefix('/')}?{urlencode(shared)}")
    await require_answer(visit)


async def test_headline_is_answered_without_scripts(visit: Visit) -> None:
    await visit.browser.call("Emulation.setScriptExecutionDisabled", value=True)
    await ask(visit)
    await visit.browser.click("form.ask button")
    await visit.browser.load()
    await require_answer(visit)


async def test_the_keyboard_reaches_everything_and_is_seen(visit: Visit) -> None:
    await visit.open(PATHS[1])
    await visit.read("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    reached: list[object] = []
    for _ in range(60):
        await visit.browser.press("Tab")
        if await visit.read("document.activeElement === document.body"):
            break
        reached.append(await visit.read("document.activeElement.outerHTML"))
        # A field of a box is seen by the outline of that.
        outlined = (
            "[document.activeElement, document.activeElement.closest('.box') ?? document.body]"
            ".some((one) => getComputedStyle(one).outlineStyle !== 'none')"
        )
        assert await visit.read(outlined), reached[-1]
    assert "skip" in str(reached[0])
    wanted = "a[href], button:not([hidden]), textarea, summary, input:not([type=hidden]), select"
    for name in ("a", "button", "textarea", "summary", "input"):
        there = await visit.read(f"[...document.querySelectorAll({wanted!r})]"
                                 f".filter(one => one.matches({name!r})).length")  # fmt: skip
        assert len({one for one in reached if str(one).startswith(f"<{name}")}) > 0
        assert there
    await visit.open(PATHS[1])
    await visit.browser.press("Tab")
    await visit.browser.press("Enter", "\r")
    assert await visit.read("document.activeElement.id") == "content"


async def test_the_link_to_this_page_is_in_sight_and_the_keyboard_begins_before_it(
    visit: Visit,
) -> None:
    await visit.browser.look_like(width=PHONE[0], height=PHONE[1])
    for path in ("search?lang=es", "corpora?lang=es", "?lang=es"):
        await visit.open(path)
        inside = await visit.read(
            "(({left, right}, row) => row.left <= left && left < right && right <= row.right + 1)("
            "...['[aria-current]', 'nav'].map(part =>"
            " document.querySelector('.top ' + part).getBoundingClientRect()))"
        )
        assert inside, path
        await visit.browser.press("Tab")
        assert await visit.read("document.activeElement.className") == "skip", path


@pytest.mark.slow
@pytest.mark.parametrize("dark", [False, True])
async def test_every_page_fits_every_screen_by_day_and_by_night(visit: Visit, dark: bool) -> None:
    colours = set()
    await visit.browser.watch_shifts()
    for width, height in (PHONE, DESKTOP):
        await visit.browser.look_like(width=width, height=height, dark=dark)
        for path in PATHS:
            await visit.open(path)
            assert float(str(await visit.read("shift"))) < 0.05, (path, width)
            fits = "{0}.scrollWidth <= {0}.clientWidth".format("document.documentElement")
            assert await visit.read(fits), (path, width)
            colours.add(await visit.read("getComputedStyle(document.body).backgroundColor"))
    assert colours == {"rgb(24, 22, 19)" if dark else "rgb(244, 239, 230)"}
    visit.browser.complaints[:] = [
        complaint for complaint in visit.browser.complaints if "404" not in complaint
    ]


async def test_touch_targets_are_at_least_40_pixels_high(visit: Visit) -> None:
    await visit.browser.look_like(width=PHONE[0], height=PHONE[1])
    await visit.open(PATHS[1])
    small = await visit.read(
        "[...document.querySelectorAll('button:not([hidden]), input:not([type=hidden]),"
        " textarea, select, .top nav a')].filter(one => one.getBoundingClientRect().height < 40)"
        ".map(one => one.outerHTML)"
    )
    assert small == []


@pytest.mark.parametrize(
    "row",
    [
        "<ol class=leads><li><p class=lead-time></p><div>said</div></li></ol>",
        "<ol class=rest><li><div class=hit><div class=when><b class=rank>1</b>"
        "<h3 class=lead-time></h3></div></div></li></ol>",
    ],
)
async def test_a_long_lead_time_stands_on_one_line(visit: Visit, row: str) -> None:
    await visit.browser.look_like(width=DESKTOP[0], height=DESKTOP[1])
    await visit.open("corpora")
    await visit.read(f"document.querySelector('main').innerHTML = '{row}'")
    lines = await visit.read(
        "(() => { const time = document.querySelector('.lead-time');"
        " time.textContent = '10 years, 11 months before';"
        " return time.offsetHeight / parseFloat(getComputedStyle(time).lineHeight); })()"
    )
    assert round(float(str(lines))) == 1


async def test_three_results_fit_on_a_phone_screen_and_a_half(visit: Visit) -> None:
    width, height = 390, 844
    await visit.browser.look_like(width=width, height=height)
    await visit.open(PATHS[1])
    bottom = await visit.read("document.querySelector('#hit-3').getBoundingClientRect().bottom")
    assert 0 < float(str(bottom)) <= 1.5 * height
