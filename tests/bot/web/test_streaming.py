"""Work that is shared and told of: candidates stand there while a model still judges them."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import httpx
import pytest
from aiohttp import web

from bot.web.streaming import SharedWork
from tests.bot.web.browser import Visit, browsing
from tests.bot.web.stage import judging as settings_of_judging
from tests.bot.web.stage import web_stage
from tests.bot.web.test_service import Served, served
from tests.fakes.model import Asked, ModelServer, Step, failure, scoring
from tests.patience import PATIENCE, until
from tests.programs import require_program
from tests.scenarios.stage import HEADLINE, TWEETS, judged_by_words

PAGE = {"headline": HEADLINE, "date": "2024-06-01", "corpus": "demo"}
EVENTS = {"Accept": "text/event-stream"}
JUDGED = "old post"
SHIFT = 0.05  # at most, as browsers measure it
STATUS = "document.getElementById('progress').innerText"
REFUSED = b"HTTP/1.1 %d No\r\nContent-Length: 17\r\nConnection: close\r\n\r\n<main>Gone</main>"
_HASTE = """
  const [wait, tick, now, parse] = [setTimeout, setInterval, Date.now, JSON.parse];
  var waits = [], passed = 0, heard = 0, patient = false;
  const skip = (milliseconds) => { passed += milliseconds; };
  Date.now = () => now() + passed;
  JSON.parse = (text) => { heard += 1; return parse(text); };
  setInterval = (go) => tick(go, 5);
  setTimeout = (go, milliseconds) => { waits.push(milliseconds); patient || wait(go, 0); };
"""


@dataclass
class Slow:
    """A model that answers once it is let go; the order of what happened is noted."""

    server: ModelServer
    go: asyncio.Event = field(default_factory=asyncio.Event)
    asked: asyncio.Event = field(default_factory=asyncio.Event)

    async def judge(self, asked: Asked, request: web.Request) -> web.StreamResponse:
        self.asked.set()
        await self.go.wait()
        return await scoring(judged_by_words)(asked, request)


@pytest.fixture
async def slow() -> AsyncIterator[Slow]:
    async with ModelServer([]) as server:
        model = Slow(server)
        server.script = [model.judge]
        yield model
        model.go.set()


@pytest.fixture
async def judging(coffee_url: str, slow: Slow) -> AsyncIterator[Served]:
    environ = {"DATABASE_URL": coffee_url, "PRESAGIO_LLM__BASE_URL": slow.server.base_url}
    async with served(environ, patience=0.1, judge="true", answers_per_minute="3") as service:
        yield service


def visiting(judging: Served) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=judging.service.address)


def count_jobs() -> int:
    return len([task for task in asyncio.all_tasks() if "App.prophesy" in repr(task)])


@dataclass
class Cut:
    """What passes connections on, and cuts the first stream of events after its first words."""

    address: str = ""
    streams: int = 0
    instead: bytes = b""  # sent in place of a stream


@asynccontextmanager
async def cutting_streams(address: str) -> AsyncIterator[Cut]:
    """Lend a way to a server on which the first stream of events breaks."""
    cut, server, opened = Cut(), httpx.URL(address), list[asyncio.StreamWriter]()

    async def pass_on(read: asyncio.StreamReader, write: asyncio.StreamWriter) -> None:
        opened.append(write)
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            asked = await read.readuntil(b"\r\n\r\n")
            streamed = b"text/event-stream" in asked
            if length := re.search(rb"(?i)content-length: (\d+)", asked):
                asked += await read.readexactly(int(length[1]))
            cut.streams += streamed
            if streamed and cut.instead:
                write.write(cut.instead)
                await write.drain()
            else:
                there, to = await asyncio.open_connection(server.host, server.port)
                opened.append(to)
                to.write(asked.replace(b"keep-alive", b"close"))
                while said := await there.read(65536):
                    write.write(said)
                    await write.drain()
                    if cut.streams == 1 and b"event: " in said:
                        break
                to.close()
        write.close()

    async with await asyncio.start_server(pass_on, "127.0.0.1", 0) as listening:
        cut.address = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/"
        yield cut
        for one in opened:
            one.close()
            with suppress(ConnectionError):
                await one.wait_closed()


async def shows(visit: Visit, expression: str, said: str) -> None:
    """Wait until a page shows it, in letters of any size."""
    async with asyncio.timeout(PATIENCE):
        while said.lower() not in str(await visit.read(expression)).lower():  # noqa: ASYNC110 - a browser tells nobody
            await asyncio.sleep(0.02)


@asynccontextmanager
async def hastening(address: str) -> AsyncIterator[Visit]:
    """Lend a browser on whose pages no wait is long: `waits` notes how long each should have been,
    `skip` lets that many milliseconds pass, `heard` counts events of streams."""
    async with browsing(require_program("chromium")) as browser:
        await browser.call("Page.addScriptToEvaluateOnNewDocument", source=_HASTE)
        yield Visit(browser, address)


@asynccontextmanager
async def hastening_over_cuts(judging: Served) -> AsyncIterator[tuple[Cut, Visit]]:
    """Lend such a browser, whose connections may be cut."""
    async with cutting_streams(judging.service.address) as cut, hastening(cut.address) as visit:
        yield cut, visit


async def read_event(lines: AsyncIterator[str]) -> tuple[str, dict[str, str]]:
    """Return the next event of a stream."""
    name = ""
    async for line in lines:
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        if line.startswith("data: "):
            return name, json.loads(line.removeprefix("data: "))
    raise AssertionError("the stream ended")


class TestPage:
    async def test_candidates_stand_there_before_the_model_has_answered(
        self, judging: Served, slow: Slow
    ) -> None:
        async with visiting(judging) as client:
            page = await client.get("/prophecy", params=PAGE)
            assert not slow.go.is_set()
            assert TWEETS[0] in re.sub("</?mark>", "", page.text)
            assert page.text.count("Being judged") == 1  # the heading of all cards
            assert 'class="marks"' not in page.text  # nobody knows yet how sure they are
            assert 'data-stream=""' in page.text
            assert '<noscript><meta http-equiv="refresh" content="3"></noscript>' in page.text
            for unready in ('class="figures"', 'id="picture"', "Not judged"):
                assert unready not in page.text
            async with client.stream("GET", "/prophecy", params=PAGE, headers=EVENTS) as stream:
                lines = stream.aiter_lines()
                name, body = await read_event(lines)
                assert (name, "judging" in body["says"]) == ("step", True)
                slow.go.set()
                name, body = await read_event(lines)
            assert name == "done"
            assert body["says"] == "7 old posts fit.", "of which more are shown on request"
            assert "Being judged" not in body["html"]
            assert 'class="figures"' in body["html"]
            assert "<html" not in body["html"]
        assert slow.server.calls == 1

    @pytest.mark.parametrize(
        ("judge", "said"),
        [
            (scoring(lambda _headline, _candidate: 3), "Nothing found for sure."),
            (failure(500), "Not judged."),
        ],
    )
    async def test_the_outcome_is_not_called_a_find_unless_it_is_one(
        self, coffee_url: str, judge: Step, said: str
    ) -> None:
        async with (
            ModelServer([judge]) as model,
            web_stage(settings_of_judging(coffee_url, model)) as stage,
        ):
            page = await stage.client.get("/prophecy", params=PAGE, headers=EVENTS)
        assert said in page.text.partition("event: done")[2]

    async def test_page_without_scripts_reloads_for_the_same_judgment(
        self, judging: Served, slow: Slow
    ) -> None:
        async with visiting(judging) as client:
            for _ in range(5):  # three answers a minute: those of one judgment count as one
                page = await client.get("/prophecy", params=PAGE)
                assert "Being judged" in page.text
            assert count_jobs() == 1
            slow.go.set()
            await until(lambda: count_jobs() == 0)
            page = await client.get("/prophecy", params=PAGE)
            assert "Being judged" not in page.text
            assert "http-equiv" not in page.text
        assert slow.server.calls == 1

    async def test_two_visitors_wait_for_one_judgment(self, judging: Served, slow: Slow) -> None:
        async with visiting(judging) as client, visiting(judging) as other:
            waiting = [
                asyncio.create_task(each.get("/prophecy", params=PAGE, headers=EVENTS))
                for each in (client, other)
            ]
            await slow.asked.wait()
            picture = asyncio.create_task(client.get("/picture.png", params=PAGE))
            await asyncio.sleep(0)
            slow.go.set()
            answers = await asyncio.gather(*waiting)
            assert all("event: done" in answer.text for answer in answers)
            assert (await picture).status_code == 200
        assert slow.server.calls == 1

    async def test_a_visitor_who_leaves_ends_the_work(
        self, judging: Served, slow: Slow, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("bot.web.streaming.RETURN_SECONDS", 0)
        async with visiting(judging) as client:
            await client.get("/prophecy", params=PAGE)
            async with client.stream("GET", "/prophecy", params=PAGE, headers=EVENTS) as stream:
                await read_event(stream.aiter_lines())
                assert count_jobs() == 1
        await until(lambda: count_jobs() == 0)
        assert not slow.go.is_set()

    async def test_a_browser_replaces_the_candidates(self, judging: Served, slow: Slow) -> None:
        program = require_program("chromium")
        async with browsing(program) as browser:
            await browser.look_like(width=360, height=800)
            await browser.watch_shifts()
            visit = Visit(browser, judging.service.address)
            await visit.open(f"prophecy?{httpx.QueryParams(PAGE)}")
            assert "judging" in str(await visit.read(STATUS))
            assert await visit.read("document.querySelectorAll('.hit').length") == 3
            slow.go.set()
            await shows(visit, STATUS, JUDGED)
            assert await visit.read("document.querySelectorAll('.hit .figures').length") == 3
            assert await visit.read("document.querySelector('[aria-busy]')") is None
            assert float(str(await visit.read("shift"))) < SHIFT
            assert browser.complaints == []
        assert slow.server.calls == 1

    async def test_a_browser_asks_again_where_the_stream_breaks(
        self, judging: Served, slow: Slow
    ) -> None:
        program = require_program("chromium")
        async with cutting_streams(judging.service.address) as cut, browsing(program) as browser:
            visit = Visit(browser, cut.address)
            await visit.open(f"prophecy?{httpx.QueryParams(PAGE)}")
            await shows(visit, STATUS, "broke")
            await until(lambda: cut.streams == 2)
            slow.go.set()
            await shows(visit, STATUS, JUDGED)
            assert await visit.read("document.querySelectorAll('.hit .figures').length") == 3
            assert await visit.read("document.querySelector('[aria-busy]')") is None
            assert "Being judged" not in str(await visit.read("document.body.textContent"))
        assert slow.server.calls == 1  # for the stream that broke and for the one after it

    async def test_refused_stream_ends_the_being_judged_state(self, judging: Served) -> None:
        program = require_program("chromium")
        async with cutting_streams(judging.service.address) as cut, browsing(program) as browser:
            cut.instead = REFUSED % 404
            visit = Visit(browser, cut.address)
            await visit.open(f"prophecy?{httpx.QueryParams(PAGE)}")
            await shows(visit, "document.getElementById('found').innerText", "by their words")
            assert await visit.read("document.querySelector('[aria-busy]')") is None

    @pytest.mark.parametrize("status", [429, 500, 503])
    async def test_a_page_that_gets_no_answer_gives_up_and_offers_to_ask_again(
        self, judging: Served, status: int
    ) -> None:
        async with hastening_over_cuts(judging) as (cut, visit):
            cut.instead = REFUSED % status
            await visit.open(f"prophecy?{httpx.QueryParams(PAGE)}")
            await shows(visit, STATUS, "The answer did not come. Try again")
            assert await visit.read("waits") == [1000, 2000, 5000, 10000, 30000, 30000, 30000]
            assert cut.streams == 8
            assert "by their words" in str(await visit.read("document.body.textContent"))
            assert await visit.read("document.querySelector('[aria-busy]')") is None
            await visit.browser.click("#progress a")
            await visit.browser.load()
            await shows(visit, STATUS, "Try again")
            assert cut.streams == 16

    @pytest.mark.parametrize(
        "event",
        ["window.dispatchEvent(new Event('online'))",
         "document.dispatchEvent(new Event('visibilitychange'))"],
    )  # fmt: skip
    async def test_returning_to_the_page_reconnects_at_once(
        self, judging: Served, slow: Slow, event: str
    ) -> None:
        async with hastening_over_cuts(judging) as (cut, visit):
            await visit.browser.call(
                "Page.addScriptToEvaluateOnNewDocument", source="patient = true"
            )
            cut.instead = REFUSED % 503
            await visit.open(f"prophecy?{httpx.QueryParams(PAGE)}")
            await shows(visit, STATUS, "broke")
            assert cut.streams == 1
            cut.instead = b""
            slow.go.set()
            await visit.read(event)
            await shows(visit, STATUS, JUDGED)
            assert await visit.read("waits") == [1000]

    async def test_a_stream_that_says_nothing_for_long_is_asked_for_again(
        self, judging: Served, slow: Slow
    ) -> None:
        async with hastening_over_cuts(judging) as (cut, visit):
            cut.streams = 1  # none is cut
            await visit.open(f"prophecy?{httpx.QueryParams(PAGE)}")
            await until(lambda: cut.streams == 2)
            await shows(visit, "heard", "1")
            await visit.read("skip(30000)")
            assert await visit.read("new Promise((go) => wait(() => go(waits), 50))") == []
            await visit.read("skip(11000)")
            await until(lambda: cut.streams == 3)
            slow.go.set()
            await shows(visit, STATUS, JUDGED)
            assert await visit.read("waits") == [1000]

    async def test_a_form_that_comes_back_from_memory_is_not_busy(self, judging: Served) -> None:
        async with hastening(judging.service.address) as visit:
            await visit.open("")
            label = "document.querySelector('form.ask button').textContent"
            before = await visit.read(label)
            await visit.read(
                "document.querySelector('form.ask').dispatchEvent(new Event('submit'))"
            )
            assert await visit.read(label) == "Reading old posts…"
            await visit.read("window.dispatchEvent(new Event('pageshow'))")
            assert await visit.read(label) == before
            assert await visit.read("document.querySelector('[aria-busy]')") is None


class TestSharedWork:
    async def test_closing_ends_what_is_under_way(self) -> None:
        shared = SharedWork[None]()
        async with shared.join("key", asyncio.Event().wait) as task:  # type: ignore[arg-type]  # as above
            shared.expect_return("key")
            await shared.aclose()
            assert task.cancelled()
            async with shared.join("key", asyncio.Event().wait) as another:  # type: ignore[arg-type]  # as above
                assert another is not task, "who asks later is answered"
