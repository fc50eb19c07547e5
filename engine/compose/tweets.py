"""The text of a tweet: how long X counts it to be, how much fits, and the tweet of sources."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

from engine.compose.composition import Draft, DraftSentence, SourcePassage, Tweet, cited_place
from engine.text.clean import normalise_form
from engine.text.snippet import one_line

LONGEST = 280  # weighted characters
MAX_TWEETS = 6  # of a thread, that of the sources included
SOURCES = "Sources:"
_CUT = "…"
# Scripts of which a character counts 1; all others count 2.
_HEAVY = re.compile(r"[^\u0000-\u10ff\u2000-\u200d\u2010-\u201f\u2032-\u2037]")
_LINE_END = re.compile(r"\r\n?")

# An emoji counts 2 as a whole: a flag, a key, or pictures joined, with their colours and tags.
_PICTURE = (
    r"[\xa9\xae\u203c\u2049\u2122\u2139\u2194-\u21aa\u231a-\u23ff\u24c2\u25aa-\u27bf\u2934\u2935"
    r"\u2b05-\u2b55\u3030\u303d\u3297\u3299\U0001f000-\U0001faff](?!\ufe0e)"
    r"[\U0001f3fb-\U0001f3ff\ufe0f]?(?:[\U000e0020-\U000e007e]++\U000e007f)?"
)
_EMOJI = re.compile(
    r"[\U0001f1e6-\U0001f1ff]{2}|[0-9#*]\ufe0f?\u20e3" rf"|{_PICTURE}(?:\u200d{_PICTURE})*+"
)
_HEAVY_LETTER = "\u3042"

_LINK = "\n" * 23  # stands for a link, whatever its length: no character of links
_LONGEST_LINK = 4096
_LONGEST_LABEL = 63
_LETTER = (  # of a domain, in any script
    r"[^\s!#-/:-@\[-_{-~\u061c\u180e\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ufffe\uffff]"
)
_LABEL = f"{_LETTER}(?:[_-]*+{_LETTER})*+"
_LATIN = (
    r"a-zA-Z0-9\xc0-\xd6\xd8-\xf6\xf8-\u024f\u0253\u0254\u0256\u0257\u0259\u025b\u0263\u0268\u026f"
    r"\u0272\u0289\u028b\u02bb\u0300-\u036f\u1e00-\u1eff"
)
_ON_A_PATH = rf"[{_LATIN}\u0400-\u04ff!*';:=+,.$/%#\[\]\u2013_~@|&-]"
_IN_BRACKETS = rf"\((?:{_ON_A_PATH}++|{_ON_A_PATH}*+\({_ON_A_PATH}++\){_ON_A_PATH}*+)\)"
_PATH = (
    rf"/(?:(?:{_ON_A_PATH}|{_IN_BRACKETS})*"
    rf"(?:[{_LATIN}\u0400-\u04ff+=_#/-]|{_IN_BRACKETS}))?"
)
_PORT = r"(?::[0-9]+)?"
_QUERY = r"(?:\?[a-zA-Z0-9!?*'@();:&=+$/%#\[\]_.,~|-]*[a-zA-Z0-9_&=#/-])?"
_PORT_PATH_AND_QUERY = f"{_PORT}(?:{_PATH})?{_QUERY}"
_TAIL = re.compile(_PORT_PATH_AND_QUERY)
_TAIL_WITHOUT_SCHEME = re.compile(f"(?:{_PORT}{_PATH}{_QUERY})?")
_TAIL_OF_SHORT_LINK = re.compile(f"/[a-zA-Z0-9]++{_QUERY}|{_PORT_PATH_AND_QUERY}")
_HOST = (
    r"(?<![a-zA-Z0-9@\uff20$#\uff03\ufeff\ufffe\uffff])"
    rf"(?P<scheme>%s)(?P<host>{_LABEL}(?:\.{_LABEL})*+)"
)
_WITH_SCHEME, _WITHOUT_SCHEME = re.compile(_HOST % "(?i:https?)://"), re.compile(_HOST % "")
_LATIN_HOST = re.compile(rf"[{_LATIN}-]+(?:\.[{_LATIN}-]+)*+(?:\.(?:(?![\x00-\x7f]){_LETTER})+)?")
_TOP_LEVEL = re.compile(r"xn--[0-9a-z-]+|[a-z]+(?![0-9a-z@+-])", re.IGNORECASE)
_ROOMS = (80, 60, 40, 30, 20, 12, 8)
_LONGEST_PLACE, _LONGEST_PLACES = 40, 80  # characters, of one passage and of all of a work
_HASHTAG = re.compile(r"#\w+")
_WORD = re.compile(r"[^\W\d_]+")
_DETAILS = (  # what lines tell, from the best on, while they do not fit
    *((room, {"placed": True, "titled": True, "linked": True}) for room in _ROOMS[:3]),
    *((room, {"placed": False, "titled": True, "linked": True}) for room in _ROOMS[:3]),
    *((room, {"placed": False, "titled": False, "linked": True}) for room in _ROOMS),
    *((room, {"placed": False, "titled": True, "linked": False}) for room in _ROOMS),
)


def tweet_length(text: str) -> int:
    """Return the weighted length of a text, by the rules that X has published (version 3).

    A link counts 23, an emoji 2; of other characters most scripts count 1, and CJK letters 2.
    """
    text = _LINE_END.sub("\n", normalise_form("NFC", text))
    for possible in (_WITH_SCHEME, _WITHOUT_SCHEME):
        parts, at = [], 0
        while match := possible.search(text, at):
            counted, end = _count_link(match)
            parts += [text[at : match.start()], counted]
            at = end
        text = "".join([*parts, text[at:]])
    text = _EMOJI.sub(_HEAVY_LETTER, text)
    return len(text) + len(_HEAVY.findall(text))


def _count_link(match: re.Match[str]) -> tuple[str, int]:
    """Return what counts for a possible link, and its end: the text where X takes it for none."""
    text, scheme, start = match.string, match["scheme"], match.start("host")
    end = _find_domain_end(text, *match.span("host"))
    domain = text[start:end]
    inside = not scheme and text.endswith(("-", "_", ".", "/"), 0, start)
    counted = _LINK if scheme else _LATIN_HOST.sub(_count_latin_host, domain)
    if counted.endswith(_LINK):
        end = _find_tail_end(text, end, scheme, domain)
    if inside or not _can_exist(domain) or end - match.start() > _LONGEST_LINK:
        return match[0], match.end()
    return counted, end


def _find_tail_end(text: str, start: int, scheme: str, domain: str) -> int:
    """Return where the port, the path and the query end that may follow a domain."""
    if not scheme:
        tail = _TAIL_WITHOUT_SCHEME.match(text, start)
    elif domain.lower() == "t.co":
        tail = _TAIL_OF_SHORT_LINK.match(text, start)
    else:
        tail = _TAIL.match(text, start)
    return tail.end() if tail else start


def _count_latin_host(match: re.Match[str]) -> str:
    """Return what counts for Latin letters of a domain without a scheme, which may be a link."""
    end = _find_domain_end(match.string, *match.span()) - match.start()
    return _LINK + match[0][end:] if end > 0 else match[0]


def _find_domain_end(text: str, start: int, end: int) -> int:
    """Return where the domain ends that a host begins with; its start if it begins with none.

    Its last label is a domain of the top level, which letters of another script may follow.
    """
    domain_end, label_at, before = start, start, "_"
    for label in text[start:end].split("."):
        top = _TOP_LEVEL.match(text, label_at)
        name = top[0] if top and not _is_top_level(label) else label
        ended = not text.startswith(("@", "+", "-"), label_at + len(name))
        if ended and "_" not in before and _is_top_level(name):
            domain_end = label_at + len(name)
        label_at, before = label_at + len(label) + 1, label
    return domain_end


def _is_top_level(name: str) -> bool:
    return name.lower() in _top_level_domains() or name[:4].lower() == "xn--"


@cache
def _top_level_domains() -> frozenset[str]:
    """Return the domains of the top level that X knows."""
    names = resources.files(__package__).joinpath("top_level_domains.txt")
    return frozenset(names.read_text(encoding="utf-8").split())


def _can_exist(domain: str) -> bool:
    """Return whether there is a domain, and none of its labels is too long for the DNS."""
    labels = domain.split(".") if domain else []
    longest = max(map(len, labels), default=_LONGEST_LABEL + 1)
    return longest <= _LONGEST_LABEL and all(
        label.isascii() or len("xn--" + label.encode("punycode").decode()) <= _LONGEST_LABEL
        for label in labels
    )


def tweet_text(sentences: Sequence[DraftSentence], numbers: Mapping[int, int] | None = None) -> str:
    """Return sentences with their marks; `numbers` maps passages to the numbers shown."""
    text = ""
    for sentence in sentences:
        joint = "" if not text else "\n" if sentence.starts_line else " "
        cited = sentence.sources
        if numbers:
            cited = tuple(sorted(numbers[source] for source in cited))
        marks = "".join(f"[{number}]" for number in (*cited, *sentence.unknown))
        text += joint + sentence.text + (f" {marks}" if marks else "")
    return text


def over_long(sentences: Sequence[DraftSentence]) -> bool:
    """Return whether a tweet of these sentences is longer than X allows."""
    return tweet_length(tweet_text(sentences)) > LONGEST


def fit_sentences(sentences: Sequence[DraftSentence]) -> tuple[DraftSentence, ...]:
    """Return as many of the first sentences as fit; maybe none."""
    fitting = tuple(sentences)
    while fitting and over_long(fitting):
        fitting = fitting[:-1]
    return fitting


@dataclass(frozen=True, slots=True)
class _Work:
    """What one or several passages come from, and where in it each stands, by number."""

    title: str
    year: str
    url: str | None
    places: Mapping[int, str]

    def cite(self, room: int, *, placed: bool, titled: bool, linked: bool) -> str:
        """Return its line: its title has so much room."""
        url = self.url if linked else None
        marks = "".join(f"[{number}]" for number in self.places)
        if url and not (titled and not self.title.startswith("@")):
            return f"{marks} {url}"
        title = _shorten_text(self.title, room)
        if not placed or not 0 < sum(map(len, self.places.values())) <= _LONGEST_PLACES:
            cited = f"{marks} {title}"
        elif len(self.places) == 1:
            cited = f"{marks} {title}, {''.join(self.places.values())}"
        else:
            places = (f"[{number}] {place}".strip() for number, place in self.places.items())
            cited = f"{', '.join(places)}: {title}"
        return ", ".join(filter(None, (cited, self.year))) + (f" {url}" if url else "")


def sources_tweet(sources: Sequence[tuple[int, SourcePassage]]) -> Tweet:
    """Return the last tweet of a thread: the numbers with title, page or section, year and link.

    What has several passages is named once. Until all fit, titles are cut, then pages left out,
    then the titles of what has a link, at last links.
    """
    works = _group_by_work(sources)
    for room, details in _DETAILS:
        text = "\n".join([SOURCES, *(work.cite(room, **details) for work in works)])
        if tweet_length(text) <= LONGEST:
            return Tweet(text=text, length=tweet_length(text))
    text = f"{SOURCES} {' '.join(f'[{number}]' for number, _ in sources)}"
    return Tweet(text=text, length=tweet_length(text))


def _group_by_work(sources: Sequence[tuple[int, SourcePassage]]) -> list[_Work]:
    grouped: dict[tuple[str, str, str | None], dict[int, str]] = {}
    for number, passage in sources:
        date = None if passage.dated_by else passage.date
        title = one_line(passage.title, len(passage.title))
        url = passage.url if (passage.url or "").startswith(("https://", "http://")) else None
        key = title, str(date.year) if date else "", url
        grouped.setdefault(key, {})[number] = _shorten_text(cited_place(passage), _LONGEST_PLACE)
    return [_Work(*key, places) for key, places in grouped.items()]


def _shorten_text(text: str, room: int) -> str:
    line = one_line(text, room)
    return f"{line}{_CUT}" if len(line) < len(text) else line


def says_something(tweet: Sequence[DraftSentence]) -> bool:
    """Return whether a tweet without a source is more than an announcement and hashtags."""
    text = _HASHTAG.sub(" ", tweet_text(tweet))
    return len(_WORD.findall(text)) > 1


def has_citations(draft: Draft) -> bool:
    return any(sentence.sources for tweet in draft for sentence in tweet)


def number_passages(drafts: Sequence[Draft]) -> dict[int, int]:
    """Return the numbers shown for passages, in the order of their use."""
    numbers: dict[int, int] = {}
    for draft in drafts:
        for sentence in (cited for tweet in draft for cited in tweet):
            for passage in sentence.sources:
                numbers.setdefault(passage, len(numbers) + 1)
    return numbers
