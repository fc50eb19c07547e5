"""Feeds are read in processes that may hang and die."""

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import psutil  # type: ignore[import-untyped]  # no type information
import pytest

from engine.errors import FeedUnreadable, PresagioError
from engine.feeds.read import FEED_LIMITS, FeedParser, read_feed
from tests.engine.conftest import workers
from tests.engine.feeds.documents import URL, item, rss
from tests.isolation import forked_workers
from tests.patience import PATIENCE, movable_time

GOOD = rss(item("The port is closed", link="https://e.org/1", more="<category>Sea</category>"))
# Nested beyond a lenient parser's patience, behind something that a strict one stops at.
ENDLESS = rss("<item><title></item>" + "<a>" * 1_000_000)
MEGABYTE = 2**20
pytestmark = pytest.mark.usefixtures("no_process_is_left")


def used(process: psutil.Process) -> float:
    """Return the seconds of processor time that a process has used; 0 if it is ending."""
    try:
        return float(process.cpu_times().user)
    except psutil.Error:
        return 0.0


async def until_busy(process: psutil.Process) -> None:
    began = used(process)
    async with asyncio.timeout(PATIENCE):
        while used(process) < began + 0.1:  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(0.01)


@pytest.fixture
async def parser() -> AsyncIterator[FeedParser]:
    async with FeedParser(workers=1) as parser:
        yield parser


@pytest.fixture
def forked() -> Iterator[None]:
    """Processes are not started afresh: what they do and how they end is the same."""
    with forked_workers():
        yield


async def titles(parser: FeedParser, body: bytes = GOOD) -> list[str]:
    return [entry.title for entry in (await parser.parse(body, None, URL)).entries]


def peak_memory(process: psutil.Process) -> int:
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


async def test_the_process_returns_what_the_reader_returns(parser: FeedParser) -> None:
    dated = rss(
        item("One", link="/1", more="<pubDate>Tue, 03 Mar 2020 10:00:00 -0500</pubDate>"),
        item("Two: “ñ”", guid="2", more="<category>a</category><category>b</category>"),
        head="<ttl>60</ttl><language>es</language>",
    )
    assert await parser.parse(dated, "text/xml", URL) == read_feed(dated, "text/xml", URL)


@pytest.mark.usefixtures("forked")
async def test_processes_start_when_they_are_needed() -> None:
    async with FeedParser(workers=3) as parser:
        assert workers() == []
        await titles(parser)
        (first,) = workers()
        await titles(parser)
        assert workers() == [first]
        await asyncio.gather(*(titles(parser) for _ in range(9)))
        assert len(workers()) == 3


async def test_a_process_holds_no_secret_of_its_owner(
    parser: FeedParser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_TOKEN", "secret")
    await titles(parser)
    assert "SOME_TOKEN" not in workers()[0].environ()


ATTACKS = ("cyclic", "dtd", "dtd_element", "external", "external_file", "quadratic", "xmlbomb")
HARMLESS = ("simple", "simple-ns")  # the plain documents that attacks are compared with


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
async def test_attacks_are_refused_and_cost_nothing(parser: FeedParser, shared_data: Path) -> None:
    await titles(parser)
    (worker,) = workers()
    for name in (*ATTACKS, "xmlbomb2"):
        start = used(worker)
        with pytest.raises(FeedUnreadable, match=r"declares XML entities|web page"):
            await parser.parse(wrapped(shared_data, name), None, URL)
        assert workers() == [worker], name
        assert used(worker) - start < 1, name
        assert peak_memory(worker) < 100 * MEGABYTE, name


@pytest.mark.usefixtures("forked")
@pytest.mark.parametrize("name", HARMLESS)
async def test_unknown_elements_inside_a_feed_are_no_attack(
    parser: FeedParser, name: str, shared_data: Path
) -> None:
    assert "The port is closed" in await titles(parser, wrapped(shared_data, name))


def wrapped(shared_data: Path, name: str) -> bytes:
    """Return a feed with what stands before the root of an attack, and its root in an item."""
    attack = (shared_data / "feeds" / "attacks" / f"{name}.xml").read_text()
    start = next(i for i, _ in enumerate(attack) if attack[i] == "<" and attack[i + 1].isalpha())
    root = attack[start:].strip()
    return rss(item("The port is closed", more=root), prolog=attack[:start])


@pytest.mark.usefixtures("forked")
async def test_endless_nesting_is_refused_at_once(parser: FeedParser) -> None:
    await titles(parser)
    (worker,) = workers()
    start = used(worker)
    with pytest.raises(FeedUnreadable, match="nested without end"):
        await parser.parse(rss("<item>" + "<a>" * 3_000_000), None, URL)
    assert used(worker) - start < 10  # to read a third of it takes twenty


@pytest.mark.usefixtures("forked")
async def test_feed_using_too_much_cpu_is_refused_and_the_next_is_read() -> None:
    async with FeedParser(
        replace(FEED_LIMITS, seconds=0.3, seconds_per_megabyte=0.0, patience=PATIENCE), workers=1
    ) as parser:
        with pytest.raises(FeedUnreadable, match="too long"):
            await parser.parse(ENDLESS, None, URL)
        assert await titles(parser) == ["The port is closed"]


@pytest.mark.usefixtures("forked")
async def test_a_feed_that_takes_too_long_is_refused_and_the_next_is_read() -> None:
    async with FeedParser(
        replace(FEED_LIMITS, seconds=PATIENCE, patience=PATIENCE), workers=1
    ) as parser:
        await titles(parser)
        with movable_time() as move:
            reading = asyncio.create_task(parser.parse(ENDLESS, None, URL))
            await until_busy(workers()[0])
            move(PATIENCE)
            with pytest.raises(FeedUnreadable, match="too long"):
                await reading
        assert await titles(parser) == ["The port is closed"]


@pytest.mark.slow
async def test_ten_megabytes_are_read(parser: FeedParser) -> None:
    many = rss(*(item("The port is closed " * 200, guid=str(n)) for n in range(2500)))
    assert 9e6 < len(many) < 10.5e6
    assert len((await parser.parse(many, None, URL)).entries) == 2000


async def test_a_feed_that_takes_too_much_memory_is_refused() -> None:
    greedy = rss("<item " + 'a="1" ' * 1_500_000)
    async with FeedParser(replace(FEED_LIMITS, memory=200_000_000), workers=1) as parser:
        with pytest.raises(FeedUnreadable, match=r"memory|broke down"):
            await parser.parse(greedy, None, URL)
        assert await titles(parser) == ["The port is closed"]


@pytest.mark.usefixtures("forked")
async def test_a_process_that_died_idle_costs_no_feed(parser: FeedParser) -> None:
    await titles(parser)
    (worker,) = workers()
    worker.kill()
    assert await titles(parser) == ["The port is closed"]
    assert workers() != [worker]


@pytest.mark.usefixtures("forked")
async def test_a_process_that_dies_over_a_feed_twice_is_its_fault(parser: FeedParser) -> None:
    await titles(parser)
    start = used(workers()[0])
    task = asyncio.create_task(parser.parse(ENDLESS, None, URL))
    killed: set[int] = set()
    while not task.done():
        for worker in workers():
            if worker.pid not in killed and used(worker) > 2 * start + 0.3:
                killed.add(worker.pid)
                worker.kill()
        await asyncio.sleep(0.02)
    with pytest.raises(FeedUnreadable, match="broke down"):
        await task
    assert len(killed) == 2  # the second was started for it alone


@pytest.mark.usefixtures("forked")
@pytest.mark.slow
async def test_cancelling_ends_the_process_and_mixes_up_no_answers(parser: FeedParser) -> None:
    for number in range(5):
        task = asyncio.create_task(parser.parse(ENDLESS, None, URL))
        await asyncio.sleep(0.05 * number)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await titles(parser) == ["The port is closed"]
    assert len(workers()) == 1


@pytest.mark.usefixtures("forked")
async def test_a_slow_feed_holds_up_no_other() -> None:
    async with FeedParser(workers=2) as parser:
        await titles(parser)
        slow = asyncio.create_task(parser.parse(ENDLESS, None, URL))
        await asyncio.sleep(0)
        for _ in range(50):
            await titles(parser)
        assert not slow.done()
        slow.cancel()
        with pytest.raises(asyncio.CancelledError):
            await slow


async def test_a_process_that_cannot_start_is_not_the_feeds_fault(
    parser: FeedParser, monkeypatch: pytest.MonkeyPatch
) -> None:
    for program in ("/nowhere/python", "/bin/false"):
        monkeypatch.setattr(sys, "executable", program)
        with pytest.raises(PresagioError, match="cannot be started") as caught:
            await titles(parser)
        assert not isinstance(caught.value, FeedUnreadable)
