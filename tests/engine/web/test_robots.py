"""Programs read what robots.txt lets them read, by the longest rule that matches."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import FetchDisallowed, FetchFailed, FetchStatus
from engine.fetch.client import Fetcher
from engine.web.pages import Robots, parse_robots
from tests.fakes.web import WebServer, page, redirect, reply, reset

EXAMPLE = """\ufeff# The example of RFC 9309, and more
User-Agent: *
Disallow: *.gif$
Disallow: /example/
Allow: /publications/

User-Agent: foobot
user-agent: Presagio
Disallow:/
Allow:/example/page.html
Allow:/example/allowed.gif
Crawl-delay: 10

User-agent: quxbot
Disallow: /

User-agent: presagio
Allow: /late
"""


@pytest.mark.parametrize(
    ("text", "path", "allowed"),
    [
        ("", "/any", True),
        (EXAMPLE, "/example/page.html", True),
        (EXAMPLE, "/example/other.html", False),
        (EXAMPLE, "/late/news", True),
        ("User-agent: *\nDisallow: /a", "/a/b", False),
        ("User-agent: *\nDisallow:", "/b", True),
        ("User-agent: *\nDisallow: /\nAllow: /$", "/", True),
        ("User-agent: *\nAllow: /p\nDisallow: /p", "/p", True),
        ("User-agent: *\nDisallow: /*.gif$", "/a/b.gif", False),
        ("User-agent: *\nDisallow: /*.gif$", "/a/b.gif?x", True),
        ("User-agent: *\nDisallow: /a*b*c", "/a-c-b", True),
        ("User-agent: *\nDisallow: /a*b*c", "/a-b-c-d", False),
        ("User-agent: *\nDisallow: /*?session", "/x?session=1", False),
        ("User-agent: *\nDisallow: /caf%C3%A9", "/café", False),
        ("User-agent: *\nDisallow: /café", "/caf%C3%A9/x", False),
        ("Disallow: /", "/x", True),
        ("User-agent: *\r\nDisallow: /x # all of it\r\n", "/x", False),
        ("User-agent: *\nSitemap: /s\nDisallow: /x", "/x", False),
    ],
)
def test_robots_rules_follow_the_longest_match(text: str, path: str, *, allowed: bool) -> None:
    assert parse_robots(text).allows(path) is allowed


@given(st.text(alphabet="Uu*/$aAl:#\n \r-gentDiswo%2F", max_size=200), st.text(max_size=50))
def test_any_robots_file_and_path_can_be_evaluated(text: str, path: str) -> None:
    assert parse_robots(text).allows(f"/{path}") in {True, False}


def test_many_stars_are_matched_in_no_time() -> None:
    rules = parse_robots(f"User-agent: *\nDisallow: /{'*a' * 1000}$")
    assert rules.allows("/" + "a" * 2000 + "b")


async def test_the_file_is_fetched_once_a_day(web: WebServer, fetcher: Fetcher) -> None:
    seconds = 0.0
    robots = Robots(fetcher, clock=lambda: seconds)
    web.pages["/robots.txt"] = page("User-agent: *\nDisallow: /private", "text/plain")
    await robots.require(web.url("/open?private"))
    with pytest.raises(FetchDisallowed, match="does not let programs read"):
        await robots.require(web.url("/private/x"))
    assert web.asked == ["/robots.txt"]
    seconds = 86_401
    web.pages["/robots.txt"] = reply(404)
    await robots.require(web.url("/private/x"))
    assert web.asked == ["/robots.txt"] * 2


@pytest.mark.parametrize("status", [401, 403, 404, 410])
async def test_a_site_without_the_file_allows_everything(
    web: WebServer, fetcher: Fetcher, status: int
) -> None:
    web.pages["/robots.txt"] = reply(status)
    await Robots(fetcher, clock=lambda: 0).require(web.url("/x"))
    assert web.asked == ["/robots.txt"]


async def test_a_file_behind_a_redirect_counts(web: WebServer, fetcher: Fetcher) -> None:
    web.pages["/robots.txt"] = redirect("/other.txt")
    web.pages["/other.txt"] = page("User-agent: *\nDisallow: /", "text/plain")
    with pytest.raises(FetchDisallowed):
        await Robots(fetcher, clock=lambda: 0).require(web.url("/x"))
    assert web.asked == ["/robots.txt", "/other.txt"]


async def test_a_site_whose_server_fails_allows_nothing_until_it_answers(
    web: WebServer, fetcher: Fetcher
) -> None:
    robots = Robots(fetcher, clock=lambda: 0)
    web.pages["/robots.txt"] = reply(503)
    with pytest.raises(FetchStatus):
        await robots.require(web.url("/x"))
    web.pages["/robots.txt"] = reset
    with pytest.raises(FetchFailed):
        await robots.require(web.url("/x"))
    web.pages["/robots.txt"] = reply(404)
    await robots.require(web.url("/x"))
