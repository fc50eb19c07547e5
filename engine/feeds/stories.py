"""When two headlines are one story, and headlines joined to stories."""

import math
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import parse_qsl, urlencode, urlsplit

from engine.feeds.types import NewHeadline

_ALIKE = 0.75  # share of all their words that two headlines have in common, where one says more
_ALIKE_OTHERWISE = 0.8  # without numbers, where each says a word that the other does not
_FEWEST = 4  # words below which only the very same words are one story
_MOST_PARAMETERS = 50
_SHORTEST = 12  # letters of those: "Editorial" stands over something new every day

_WORD = re.compile(r"[^\W_]+(?:[.,]\d+)*")
_ACCENTS = re.compile("[\u0300-\u036f]")
_TRACKING = re.compile(
    r"utm_\w+|mtm_\w+|pk_\w+|at_(?:medium|campaign|custom\d|link\w*|ptr_name|bbc_team)|"
    r"(?:fb|g|y|ms|dc|tw)clid|gclsrc|igshid|mc_[ce]id|mkt_tok|ref|ref_?src|ref_?url|referrer|"
    r"cmp|cmpid|cid|ito|ncid|ocid|smid|smtyp|src|source|partner|feature|rss|output|spm|si|"
    r"xtor|wt_mc|_hsenc|_hsmi|s?cid|sr_share|guccounter|guce_\w+|partnerid|"
    r"(?:php)?sess(?:ion)?_?id|jsessionid|sid|traffic_source|taid|__twitter_impression|amp",
    re.IGNORECASE,
)
_SESSION = re.compile(r";jsessionid=[^/?]*", re.IGNORECASE)
_FUNCTION_WORDS = frozenset(
    _WORD.findall(
        """
        a about after all also am an and any are as at be because been before but by can could
        did do does for from had has have he her him his how i if in into is it its just may
        more most my of off on or our out over she so some than that the their them then there
        these they this those to up was we were what when where which who why will with would
        you your al ante asi cada como con contra cual cuando de del desde donde dos el ella
        ellos en entre era es esa ese eso esta estan este esto fue ha hace han hasta hay la las
        le les lo los mas me mi muy ni nos o para pero por porque que quien se segun ser si sin
        sobre son su sus tambien tras tu un una uno y ya s t
        """
    )
)


def link_key(url: str) -> str | None:
    """Return the address without what only tells readers apart; None for a bare home page.

    The scheme, "www.", parameters of trackers and sessions, the fragment and a last slash go.
    None, too, for a link with more parameters than a page has: to sort them all takes long.
    """
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").removeprefix("www.")
        port = f":{parts.port}" if parts.port not in (None, 80, 443) else ""
        asked = parse_qsl(parts.query, keep_blank_values=True, max_num_fields=_MOST_PARAMETERS)
    except ValueError:
        return None
    query = urlencode(sorted(one for one in asked if not _TRACKING.fullmatch(one[0])))
    path = _SESSION.sub("", parts.path).rstrip("/")
    if not host or not (path or query):
        return None
    return f"{host}{port}{path}{'?' if query else ''}{query}"


def words_of(text: str) -> tuple[str, ...]:
    """Return the distinct content words of a headline, sorted, without case and accents."""
    folded = _ACCENTS.sub("", unicodedata.normalize("NFKD", text.casefold()))
    words = set(_WORD.findall(folded))
    return tuple(sorted(words - _FUNCTION_WORDS or words))


def telling_words(words: Sequence[str]) -> tuple[str, ...]:
    """Return those of `words` of which every headline of the same story holds at least one.

    A story shares so many words that it cannot miss all of these (prefix filtering: Chaudhuri,
    Ganti, Kaushik 2006). They are the longest, which are the rarest, so that an index of words
    proposes few.
    """
    spared = len(words) - math.ceil(_ALIKE * len(words)) + 1
    return tuple(sorted(words, key=lambda word: (-len(word), word))[:spared])


def same_story(one: Sequence[str], other: Sequence[str]) -> bool:
    """Tell whether two headlines, as `words_of` gives them, are nearly identical. Symmetric.

    They name the same numbers ("5 dead" is not "7 dead") and share three quarters of their words
    (Jaccard). Where each puts a word of its own, four fifths of what is no number: lottery draws
    and weekly lists differ in one word and agree in their dates.
    """
    mine, theirs = set(one), set(other)
    if mine == theirs or min(len(mine), len(theirs)) < _FEWEST:
        return mine == theirs and sum(map(len, mine)) >= _SHORTEST
    if {word for word in mine ^ theirs if word[0].isdigit()}:
        return False
    shared, either = len(mine & theirs), len(mine | theirs)
    if mine <= theirs or mine >= theirs:
        return shared >= _ALIKE * either
    numbers = sum(word[0].isdigit() for word in mine & theirs)
    return shared - numbers >= _ALIKE_OTHERWISE * (either - numbers)


SAME_WORDS_WITHIN = timedelta(hours=48)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryWords:
    """What a story is recognised by. Ids of stories that are not stored yet are negative."""

    id: int
    link_key: str | None
    words: tuple[str, ...]
    published: datetime


def join(headlines: Sequence[NewHeadline], known: Iterable[StoryWords]) -> tuple[StoryWords, ...]:
    """Return the story of each headline: the same link, else near-identical words in 48 hours.

    `known` must hold every story with the link of a headline, or with one of its telling words
    within that time. Of several that fit, the first is taken. Headlines of one call join each
    other too: a new story has the id -1, -2, ... and what its first headline says.
    """
    stories = _Index(known)
    return tuple(
        stories.find(headline) or stories.add(headline, -number)
        for number, headline in enumerate(headlines, start=1)
    )


class _Index:
    def __init__(self, known: Iterable[StoryWords]) -> None:
        self._by_link: dict[str, StoryWords] = {}
        self._by_word: defaultdict[str, list[StoryWords]] = defaultdict(list)
        self._order: dict[int, int] = {}
        for story in known:
            self._enter(story)

    def find(self, headline: NewHeadline) -> StoryWords | None:
        if headline.link_key is not None and headline.link_key in self._by_link:
            return self._by_link[headline.link_key]
        words = words_of(headline.text)
        alike = {story.id: story for word in telling_words(words) for story in self._by_word[word]}
        fitting = (
            story
            for story in alike.values()
            if abs(story.published - headline.published) <= SAME_WORDS_WITHIN
            and same_story(words, story.words)
        )
        return min(fitting, key=lambda story: self._order[story.id], default=None)

    def add(self, headline: NewHeadline, number: int) -> StoryWords:
        story = StoryWords(
            id=number,
            link_key=headline.link_key,
            words=words_of(headline.text),
            published=headline.published,
        )
        self._enter(story)
        return story

    def _enter(self, story: StoryWords) -> None:
        self._order[story.id] = len(self._order)
        if story.link_key is not None:
            self._by_link.setdefault(story.link_key, story)
        for word in story.words:
            self._by_word[word].append(story)
