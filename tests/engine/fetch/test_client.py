"""What the fetcher brings home, and how it gives up."""

import asyncio
import socket
import ssl
import subprocess
import time
from importlib.metadata import version
from pathlib import Path

import h11
import pytest

from engine.errors import (
    FetchError,
    FetchFailed,
    FetchStatus,
    FetchTimeout,
    FetchTooLarge,
    FetchWrongType,
)
from engine.fetch import Fetched, FetchLimits
from engine.fetch.client import Fetcher, user_agent
from tests.engine.conftest import LOOPBACK
from tests.fakes.web import (
    Answer,
    Asked,
    WebServer,
    cut_in_the_body,
    dripping,
    endless,
    gzip_bomb,
    gzipped,
    huge_headers,
    loopback_resolver,
    packed,
    page,
    redirect,
    reply,
    reset,
    silent,
    stalled,
)
from tests.patience import PATIENCE
from tests.programs import require_program

Answered = tuple[int, int, int, str, tuple[str, int]]  # one row of socket.getaddrinfo
LIMITS = FetchLimits(seconds=PATIENCE, bytes=100_000)
HASTY = FetchLimits(seconds=0.2, bytes=100_000)


async def test_a_page_has_its_address_headers_and_body(web: WebServer, fetcher: Fetcher) -> None:
    web.pages["/a?b=c"] = page("<title>é</title>", headers={"ETag": '"v1"'})
    fetched = await fetcher.get(web.url("/a?b=c"), limits=LIMITS, accept=("text/html",))
    assert fetched.url == web.url("/a?b=c")
    assert fetched.status == 200
    assert fetched.headers["etag"] == '"v1"'
    assert fetched.body == "<title>é</title>".encode()
    assert fetched.moved_permanently_to is None


async def test_the_request_identifies_the_agent_and_offers_only_bounded_encodings(
    web: WebServer, fetcher: Fetcher
) -> None:
    web.pages["/"] = page("")
    await fetcher.get(
        web.url(), limits=LIMITS, accept=("text/html",), headers={"If-None-Match": '"v1"'}
    )
    said = web.requests[0].headers
    assert said["user-agent"] == user_agent("https://bot.example/about")
    assert said["user-agent"].endswith(" (+https://bot.example/about)")
    assert said["accept-encoding"] == "gzip"
    assert said["accept"].startswith("text/html,")
    assert said["if-none-match"] == '"v1"'


async def test_no_proxy_of_the_environment_is_used(
    web: WebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    web.pages["/"] = page("here")
    async with Fetcher(LOOPBACK) as fetcher:
        assert (await fetcher.get(web.url(), limits=LIMITS)).body == b"here"


async def test_cookies_are_not_kept(web: WebServer, fetcher: Fetcher) -> None:
    cookie = {"Set-Cookie": "session=1; Path=/", "Location": "/b"}
    web.pages["/a"] = reply(302, headers=cookie)
    web.pages["/b"] = page("", headers={"Set-Cookie": "other=2; Path=/"})
    await fetcher.get(web.url("/a"), limits=LIMITS)
    await fetcher.get(web.url("/b"), limits=LIMITS)
    assert web.asked == ["/a", "/b", "/b"]
    assert all("cookie" not in request.headers for request in web.requests)


async def test_redirects_are_followed_to_the_end(web: WebServer, fetcher: Fetcher) -> None:
    web.pages["/1"] = redirect("/2", 301)
    web.pages["/2"] = redirect(web.url("/3", host="other.example"), 307)
    web.pages["/3"] = redirect("4?x=y#part", 303)
    web.pages["/4?x=y"] = page("there")
    fetched = await fetcher.get(web.url("/1"), limits=LIMITS)
    assert (fetched.body, fetched.url) == (b"there", web.url("/4?x=y#part", host="other.example"))
    assert web.asked == ["/1", "/2", "/3", "/4?x=y"]


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        ((301,), "/1"),
        ((308, 301), "/2"),
        ((301, 302, 301), "/1"),
        ((302, 301), None),
        ((307,), None),
    ],
)
async def test_only_an_unbroken_run_of_permanent_redirects_moves_the_address(
    statuses: tuple[int, ...], expected: str | None, web: WebServer, fetcher: Fetcher
) -> None:
    for number, status in enumerate(statuses):
        web.pages[f"/{number}"] = redirect(f"/{number + 1}", status)
    web.pages[f"/{len(statuses)}"] = page("")
    fetched = await fetcher.get(web.url("/0"), limits=LIMITS)
    assert fetched.moved_permanently_to == (expected and web.url(expected))


async def test_each_request_resolves_the_name_and_opens_a_new_connection(web: WebServer) -> None:
    known = loopback_resolver("news.example")
    looked_up: list[str] = []

    def resolve(host: str, port: int, *arguments: object) -> list[Answered]:
        looked_up.append(host)
        return known(host, port, *arguments)

    web.pages["/a"], web.pages["/b"] = redirect("/b"), page("there")
    async with Fetcher(LOOPBACK, resolver=resolve) as fetcher:
        await fetcher.get(web.url("/a", host="news.example"), limits=LIMITS)
        await fetcher.get(web.url("/b", host="news.example"), limits=LIMITS)
    assert (len(looked_up), web.connections) == (3, 3)


async def test_five_redirects_are_followed_and_no_sixth(web: WebServer, fetcher: Fetcher) -> None:
    for number in range(6):
        web.pages[f"/{number}"] = redirect(f"/{number + 1}")
    web.pages["/6"] = page("there")
    assert (await fetcher.get(web.url("/1"), limits=LIMITS)).body == b"there"
    web.requests.clear()
    with pytest.raises(FetchFailed, match="redirect"):
        await fetcher.get(web.url("/0"), limits=LIMITS)
    assert web.asked == ["/0", "/1", "/2", "/3", "/4", "/5"]


async def test_the_body_of_a_redirect_is_not_read(web: WebServer, fetcher: Fetcher) -> None:
    web.pages["/a"] = _moved_without_end
    web.pages["/b"] = page("there")
    assert (await fetcher.get(web.url("/a"), limits=LIMITS)).body == b"there"


async def _moved_without_end(_: object, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 302 Found\r\nLocation: /b\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        writer.write(b"10000\r\n" + b"x" * 65536 + b"\r\n")
        await writer.drain()


async def test_not_modified_is_an_answer_without_a_body(web: WebServer, fetcher: Fetcher) -> None:
    web.pages["/feed"] = reply(304, headers={"ETag": '"v1"', "Content-Type": "text/plain"})
    fetched = await fetcher.get(web.url("/feed"), limits=LIMITS, accept=("text/html",))
    assert (fetched.status, fetched.body, fetched.headers["ETag"]) == (304, b"", '"v1"')


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 429, 500, 503])
async def test_an_error_status_names_the_host_and_the_code(
    status: int, web: WebServer, fetcher: Fetcher
) -> None:
    web.pages["/"] = reply(status, "<title>Sorry</title>", {"Retry-After": "120"})
    with pytest.raises(FetchStatus, match=rf"^127\.0\.0\.1 .*\({status}\)\. ") as caught:
        await fetcher.get(web.url(), limits=LIMITS)
    assert (caught.value.status, caught.value.retry_after) == (status, "120")


async def test_a_redirect_without_a_location_fails(web: WebServer, fetcher: Fetcher) -> None:
    web.pages["/"] = reply(302)
    with pytest.raises(FetchFailed, match="302"):
        await fetcher.get(web.url(), limits=LIMITS)


@pytest.mark.parametrize("said", ["application/pdf", "image/png; charset=x", "text/htmlx", "x"])
async def test_another_type_is_refused_before_its_body_is_read(
    said: str, web: WebServer, fetcher: Fetcher
) -> None:
    web.pages["/"] = endless(headers={"Content-Type": said})
    with pytest.raises(FetchWrongType, match=said.partition(";")[0]):
        await fetcher.get(web.url(), limits=LIMITS, accept=("text/html",))


@pytest.mark.parametrize(
    ("said", "accept"),
    [
        *((said, ("text/html",)) for said in ("text/html", "TEXT/HTML ;charset=latin-1", None)),
        ("application/octet-stream", ()),
    ],
)
async def test_an_accepted_or_missing_type_passes_and_any_where_none_is_named(
    said: str | None, accept: tuple[str, ...], web: WebServer, fetcher: Fetcher
) -> None:
    web.pages["/"] = page("there", said)
    fetched = await fetcher.get(web.url(), limits=LIMITS, accept=accept)
    assert fetched.body == b"there"


@pytest.mark.parametrize("size", [0, 1, 99_999, 100_000])
async def test_a_body_at_the_limit_comes_whole(size: int, web: WebServer, fetcher: Fetcher) -> None:
    body = b"a" * size
    web.pages["/plain"], web.pages["/packed"] = page(body), packed(gzipped(body))
    for path in ("/plain", "/packed"):
        assert (await fetcher.get(web.url(path), limits=LIMITS)).body == body


@pytest.mark.parametrize(
    "answer",
    [
        page(b"a" * 100_001),
        endless(),
        packed(gzipped(b"a" * 100_001)),
        packed(gzip_bomb(100)),
        endless(gzip_bomb(1), headers={"Content-Encoding": "gzip"}),
        # Members that unpack to nothing: what arrives is counted too.
        endless(gzipped(b"") * 1000, headers={"Content-Encoding": "x-gzip"}),
    ],
    ids=["long", "endless", "long when unpacked", "bomb", "endless bombs", "endless nothing"],
)
async def test_a_long_body_is_given_up(answer: Answer, web: WebServer, fetcher: Fetcher) -> None:
    web.pages["/"] = answer
    with pytest.raises(FetchTooLarge, match=r"longer than 0\.1 MB"):
        await fetcher.get(web.url(), limits=LIMITS)


@pytest.mark.parametrize("encoding", ["gzip, gzip", "br", "deflate", "zstd", "gzip,br"])
async def test_an_encoding_that_was_not_offered_is_refused(
    encoding: str, web: WebServer, fetcher: Fetcher
) -> None:
    web.pages["/"] = packed(gzipped(gzip_bomb(1)), encoding)
    with pytest.raises(FetchFailed, match="encoding"):
        await fetcher.get(web.url(), limits=LIMITS)


@pytest.mark.parametrize(
    "lines",
    [
        {"X-Odd Name": "x", "X-Last": "1"},
        {"X-Powered-By ": "PHP"},
        {"Warning: Undefined index in line 3": ""},
        {"(none)": "x"},
    ],
    ids=["blank in a name", "blank before the colon", "a warning", "no name"],
)
async def test_an_odd_line_of_a_head_costs_itself_alone(
    lines: dict[str, str], web: WebServer, fetcher: Fetcher
) -> None:
    web.pages["/"] = page("<title>A</title>", headers=lines)
    fetched = await fetcher.get(web.url(), limits=LIMITS)
    assert fetched.body == b"<title>A</title>"
    assert fetched.headers["Content-Type"].startswith("text/html")


@pytest.mark.parametrize(
    "answer", [dripping(0.01), silent, stalled], ids=["dripping", "silent", "stalled"]
)
async def test_the_whole_time_is_limited(answer: Answer, web: WebServer, fetcher: Fetcher) -> None:
    web.pages["/"] = answer
    started = time.monotonic()
    with pytest.raises(FetchTimeout, match=r"127\.0\.0\.1 took longer than 0\.2 s"):
        await fetcher.get(web.url(), limits=HASTY)
    assert 0.1 < time.monotonic() - started < PATIENCE / 2


async def test_looking_a_name_up_counts_and_blocks_nobody(web: WebServer) -> None:
    release = asyncio.Event()
    loop = asyncio.get_running_loop()

    def hanging(*_: object) -> list[Answered]:
        asyncio.run_coroutine_threadsafe(release.wait(), loop).result(PATIENCE)
        return []

    async with Fetcher(LOOPBACK, resolver=hanging) as fetcher:
        with pytest.raises(FetchTimeout):
            await fetcher.get("http://slow.example/", limits=HASTY)
        release.set()


@pytest.mark.parametrize("answer", [reset, cut_in_the_body], ids=["reset", "cut"])
async def test_a_cut_connection_fails(answer: Answer, web: WebServer, fetcher: Fetcher) -> None:
    web.pages["/"] = answer
    with pytest.raises(FetchFailed, match=r"The connection to 127\.0\.0\.1 broke\."):
        await fetcher.get(web.url(), limits=LIMITS)


async def test_a_response_that_is_not_http_raises_a_fetch_error(fetcher: Fetcher) -> None:
    async with await asyncio.start_server(_speaks_smtp, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(FetchFailed):
            await fetcher.get(f"http://127.0.0.1:{port}/", limits=LIMITS)


async def _speaks_smtp(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"220 mail.example ESMTP\r\n")
    await writer.drain()
    writer.close()


async def test_nobody_listening_is_a_failure(fetcher: Fetcher) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        with pytest.raises(FetchFailed, match=r"No connection to news\.example\."):
            await fetcher.get(f"http://news.example:{port}/", limits=LIMITS)


async def test_an_unknown_name_is_told_from_a_name_server_that_is_down(fetcher: Fetcher) -> None:
    with pytest.raises(FetchFailed, match=r"There is no nowhere\.example\."):
        await fetcher.get("http://nowhere.example/", limits=LIMITS)

    def down(*_: object) -> list[Answered]:
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

    async with Fetcher(LOOPBACK, resolver=down) as blind:
        with pytest.raises(FetchFailed, match="could not be looked up"):
            await blind.get("http://news.example/", limits=LIMITS)


async def test_an_untrusted_certificate_is_a_failure(tmp_path: Path, fetcher: Fetcher) -> None:
    async with WebServer(tls=_self_signed(tmp_path)) as web:
        web.pages["/"] = page("secret")
        with pytest.raises(FetchFailed, match=r"news\.example cannot prove"):
            await fetcher.get(web.url(host="news.example"), limits=LIMITS)
        assert web.asked == []


def _self_signed(folder: Path) -> ssl.SSLContext:
    openssl = require_program("openssl")
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    request = (
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2"
        " -subj /CN=news.example -addext subjectAltName=DNS:news.example"
    )
    subprocess.run(
        [openssl, *request.split(), "-keyout", str(key), "-out", str(certificate)],
        check=True,
        capture_output=True,
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context


async def test_errors_name_the_host_and_no_secret(web: WebServer, fetcher: Fetcher) -> None:
    web.pages["/?token=s3cret"] = redirect("http://10.0.0.1/?token=s3cret")
    urls = {
        web.url("/?token=s3cret"): "10.0.0.1",
        web.url("/other?token=s3cret"): "127.0.0.1",
        "http://name:s3cret@news.example/": "news.example",
        "https://news.example:22/s3cret": "news.example",
        "s3cret": "the link",
        "http://nаtion.example/?s3cret": "xn--ntion-4ve.example",  # a Cyrillic а
    }
    for url, host in urls.items():
        with pytest.raises(FetchError) as caught:
            await fetcher.get(url, limits=LIMITS)
        assert host in str(caught.value)
        assert "s3cret" not in str(caught.value)
        assert "\n" not in str(caught.value)
        assert caught.value.fix


async def test_a_slow_server_does_not_hold_up_the_others(web: WebServer, fetcher: Fetcher) -> None:
    web.pages["/slow"], web.pages["/fast"] = silent, page("there")

    async def fast() -> Fetched:
        return await fetcher.get(web.url("/fast"), limits=LIMITS)

    slow = [fetcher.get(web.url("/slow"), limits=HASTY) for _ in range(20)]
    answers = await asyncio.gather(*slow, fast(), fast(), return_exceptions=True)
    assert [type(answer) for answer in answers] == [FetchTimeout] * 20 + [Fetched] * 2


async def test_giving_up_closes_the_connection(web: WebServer, fetcher: Fetcher) -> None:
    ended = asyncio.Event()

    async def watch(_: object, writer: asyncio.StreamWriter) -> None:
        try:
            await endless()(None, writer)  # type: ignore[arg-type]  # what was asked is not used
        except ConnectionError:
            ended.set()

    web.pages["/"] = watch
    with pytest.raises(FetchTooLarge):
        await fetcher.get(web.url(), limits=LIMITS)
    await asyncio.wait_for(ended.wait(), PATIENCE)


def test_the_agent_without_a_contact_is_name_and_version() -> None:
    assert user_agent("") == f"Presagio/{version('presagio')}"


async def test_concurrent_fetches_are_limited(web: WebServer, fetcher: Fetcher) -> None:
    under_way, maximum, full = 0, 0, asyncio.Event()

    async def counted(asked: Asked, writer: asyncio.StreamWriter) -> None:
        nonlocal under_way, maximum
        under_way += 1
        maximum = max(maximum, under_way)
        if maximum == 16:
            full.set()
        await full.wait()
        await page("here")(asked, writer)
        under_way -= 1

    web.pages["/"] = counted
    waiting = [fetcher.get(web.url(), limits=LIMITS) for _ in range(100)]
    assert {fetched.body for fetched in await asyncio.gather(*waiting)} == {b"here"}
    assert maximum == 16


# Work that is no content


def _parsed_events(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Count what the HTTP library takes apart from now on, in the only item."""
    events, next_event = [0], h11.Connection.next_event

    def counted(connection: h11.Connection) -> object:
        events[0] += 1
        return next_event(connection)

    monkeypatch.setattr(h11.Connection, "next_event", counted)
    return events


def _without_end(head: bytes, piece: bytes) -> Answer:
    async def answer(_: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(head)
        while True:
            writer.write(piece)
            await writer.drain()

    return answer


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
SLEEPLESS = {
    "heads": (_without_end(b"", b"HTTP/1.1 103 Early Hints\r\n\r\n" * 500), 20),
    "bare heads": (_without_end(b"", b"HTTP/1.1 100\n\n" * 999), 20),
    "long heads": (_without_end(b"", b"HTTP/1.1 103 x\r\nX: " + b"x" * 60_000 + b"\r\n\r\n"), 40),
    "headers without end": (huge_headers, 40),
    "chunks of a byte": (_without_end(CHUNKED, b"1\r\nx\r\n" * 500), 1_200),
    "chunks of 32 bytes": (_without_end(CHUNKED, b"20\r\n" + b"x" * 32 + b"\r\n"), 4_000),
}


@pytest.mark.parametrize("case", SLEEPLESS)
async def test_a_response_in_too_many_tiny_pieces_is_refused(
    case: str, web: WebServer, fetcher: Fetcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    web.pages["/"], maximum = SLEEPLESS[case]
    events = _parsed_events(monkeypatch)
    with pytest.raises(FetchFailed, match=r"^127\.0\.0\.1 sends its answer in too many pieces\."):
        await fetcher.get(web.url(), limits=FetchLimits(seconds=60, bytes=10_000_000))
    assert events[0] < maximum


async def test_a_page_after_a_hint_in_many_lines_is_read(web: WebServer, fetcher: Fetcher) -> None:
    lines = [b"%x\r\n%s\r\n" % (len(line), line) for line in [b"<item>a line of it</item>\n"] * 900]
    text = b"HTTP/1.1 200 says the log\n" * 40

    async def answer(_: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 103 Early Hints\r\nLink: </x.css>\r\n\r\n" * 2 + CHUNKED)
        writer.write(b"".join(lines) + b"%x\r\n%s\r\n0\r\n\r\n" % (len(text), text))

    web.pages["/"] = answer
    fetched = await fetcher.get(web.url(), limits=LIMITS)
    assert fetched.body == b"<item>a line of it</item>\n" * 900 + text


async def test_busy_servers_cannot_monopolise_the_event_loop(
    web: WebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All fetches together: whoever answers a chat comes between any two portions."""
    chunks = b"40\r\n" + b"x" * 64 + b"\r\n"
    web.pages["/"] = _without_end(CHUNKED, chunks * 200)
    events, largest = _parsed_events(monkeypatch), 0
    async with Fetcher(LOOPBACK, at_once=20) as fetcher:
        limits = FetchLimits(seconds=60, bytes=200_000)
        fetches = asyncio.gather(
            *(fetcher.get(web.url(), limits=limits) for _ in range(20)), return_exceptions=True
        )
        while not fetches.done():
            before = events[0]
            await asyncio.sleep(0)
            largest = max(largest, events[0] - before)
        assert {type(fetch) for fetch in await fetches} == {FetchTooLarge}
    assert events[0] > 20 * 3_000
    assert largest < 200
