"""Which pages a site lets programs read: robots.txt, as RFC 9309 says."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from engine.errors import FetchDisallowed, FetchStatus
from engine.fetch.client import Fetcher, FetchLimits
from engine.fetch.faults import shown_host
from engine.llm.single_flight import SingleFlight
from engine.messages import Message

AGENT = "presagio"
_LIMITS = FetchLimits(seconds=5.0, bytes=600_000)  # a site may expect that 500 KiB are read
_MOST_RULES = 5_000
_KEPT = 24 * 3600.0  # seconds
_MOST_KEPT = 1_000  # sites


@dataclass(frozen=True, slots=True)
class RobotRules:
    """The rules for one program: (allowed, pattern). Without rules, everything is allowed."""

    rules: tuple[tuple[bool, str], ...] = ()

    def allows(self, path: str) -> bool:
        """Return whether the longest pattern that matches allows it; in a tie it does."""
        path = unquote(path)
        matching = [
            (len(pattern), allowed) for allowed, pattern in self.rules if _matches(pattern, path)
        ]
        return max(matching)[1] if matching else True


def parse_robots(text: str, agent: str = AGENT) -> RobotRules:
    """Return the rules for `agent`: those of all groups that name it, or those for "*"."""
    named: list[tuple[bool, str]] = []
    general: list[tuple[bool, str]] = []
    grouped: set[str] = set()  # the agents of the current group
    in_rules = False
    own = False
    for key, value in _lines(text):
        if key == "user-agent":
            grouped = {value.lower()} if in_rules else grouped | {value.lower()}
            in_rules = False
            own = own or agent in grouped
            continue
        in_rules = True
        if value and key in ("allow", "disallow"):
            rule = (key == "allow", unquote(value))
            if agent in grouped:
                named.append(rule)
            if "*" in grouped:
                general.append(rule)
    return RobotRules(tuple((named if own else general)[:_MOST_RULES]))


def _lines(text: str) -> Iterator[tuple[str, str]]:
    """Yield the names, in lower case, and values of the lines that mean something."""
    for line in text.lstrip("\ufeff").splitlines():
        key, colon, value = line.partition("#")[0].partition(":")
        key = key.strip().lower()
        if colon and key in ("user-agent", "allow", "disallow"):
            yield key, value.strip()


def _matches(pattern: str, path: str) -> bool:
    """Match from the beginning; "*" is any text, and "$" at the end is the end of the path."""
    anchored = pattern.endswith("$")
    first, *others = pattern.removesuffix("$").split("*")
    if not path.startswith(first):
        return False
    place = len(first)
    if not others:
        return not anchored or place == len(path)
    *middle, last = others
    for part in middle:
        found = path.find(part, place)
        if found < 0:
            return False
        place = found + len(part)
    if anchored:
        return path.endswith(last) and len(path) - len(last) >= place
    return path.find(last, place) >= 0


class Robots:
    """The rules of sites, fetched when first needed and kept for a day.

    `clock` returns monotonic seconds.
    """

    def __init__(self, fetcher: Fetcher, *, clock: Callable[[], float]) -> None:
        self._fetcher = fetcher
        self._clock = clock
        self._kept: dict[str, tuple[float, RobotRules]] = {}
        self._flights = SingleFlight[RobotRules]()

    async def require(self, url: str) -> None:
        """Raise FetchDisallowed if the site does not let this program read `url`.

        A site without such a file, or that refuses to show it, allows everything; one whose
        server fails allows nothing until it answers, and then FetchError is raised.
        """
        parts = urlsplit(url)
        rules = await self._rules(f"{parts.scheme}://{parts.netloc}")
        path = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
        if not rules.allows(path):
            raise FetchDisallowed(
                Message("{host} does not let programs read this page.", host=shown_host(url))
            )

    async def _rules(self, site: str) -> RobotRules:
        until, rules = self._kept.get(site, (0.0, RobotRules()))
        if self._clock() < until:
            return rules
        rules = await self._flights.run(site, lambda: self._fetched(site))
        self._kept.pop(site, None)  # the oldest comes first
        self._kept[site] = (self._clock() + _KEPT, rules)
        while len(self._kept) > _MOST_KEPT:
            del self._kept[next(iter(self._kept))]
        return rules

    async def _fetched(self, site: str) -> RobotRules:
        try:
            fetched = await self._fetcher.get(f"{site}/robots.txt", limits=_LIMITS)
        except FetchStatus as refusal:
            if refusal.status == 429 or refusal.status >= 500:
                raise
            return RobotRules()
        return parse_robots(fetched.body.decode("utf-8", "replace"))
