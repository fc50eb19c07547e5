"""Excerpts: a window of the text around its best match, cut between words, never rewritten.

Also voice terms: what the text says much more often than its corpus does; and visible text on one
line.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from engine.text.terms import has_unspaced
from engine.values import Kind

# Characters on either side of the best match; None: the whole text.
RADIUS: Mapping[Kind, int | None] = {
    Kind.PERSONAL: 240,
    Kind.PUBLISHED: 600,
    Kind.LIBRARY: 600,
    Kind.SOCIAL: None,
    Kind.TWEETS: None,
}
MAX_VOICE_TERMS = 5
_LONGEST_READ = 20_000  # characters in which a match is looked for
_SHARED_START = 2  # first letters that a word and its lexeme share in every language
_WORD = re.compile(r"(?:\b[^\W\d_]\.){2,}|\w+(?:['’]\w+)*")  # "U.S." is one word
_LINK = re.compile(r"https?:\S+|www\.\S+", re.IGNORECASE)
_ADDRESS = re.compile(rf"{_LINK.pattern}|[@#]\w+", re.IGNORECASE)
_SIGNED_WORD = re.compile(rf"[@#]\w+|{_WORD.pattern}")
# Control characters, line separators, bidirectional overrides, lone surrogates, byte order marks,
# invisible tag characters and variation selectors of that plane: they break lines, break UTF-8 or
# hide text from people.
_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff"
    "\U000e0000-\U000e0fff]"
)
_BESIDE = frozenset({" ", "-", "\u00a0"})


@dataclass(frozen=True, slots=True)
class Spot:
    """A word of a text: text[start:end]."""

    start: int
    end: int
    word: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """text[start:end] of a document, and whether there is more text around it."""

    text: str
    start: int
    end: int
    before: bool  # there is more before it
    after: bool
    match: Spot | None = None  # the best one, if searched for


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """The corpus' figures for a word: its lexemes, and how many documents contain it.

    `telling` is false if it is a stop word ("the", "de") in one of the corpus' languages.
    """

    lexemes: tuple[str, ...]
    document_frequency: int
    telling: bool = True


def find_words(text: str) -> list[Spot]:
    """Return the words of a text as written, except addresses, #tags and @mentions."""
    return _find_spots(text, _ADDRESS, _WORD)


def searched_words(text: str) -> list[Spot]:
    """Return the words by which a text may be found: those of `find_words`, #tags and @mentions."""
    return _find_spots(text, _LINK, _SIGNED_WORD)


def _find_spots(text: str, left_out: re.Pattern[str], pattern: re.Pattern[str]) -> list[Spot]:
    plain = left_out.sub(lambda match: " " * len(match[0]), text[:_LONGEST_READ])
    return [Spot(match.start(), match.end(), match[0]) for match in pattern.finditer(plain)]


def may_match(word: str, lexemes: Collection[str], fold: Callable[[str], str]) -> bool:
    """Return whether a word could have one of the lexemes: their first letters are the same.

    `fold` removes case and accents. A tag or mention may contain any word, and so may a word of a
    language that is read by pairs of characters.
    """
    if word.startswith(("@", "#")):
        return True
    if has_unspaced(word):
        return any(lexeme in word for lexeme in lexemes)
    start = fold(word).replace(".", "")[:_SHARED_START]
    return any(lexeme.replace(".", "").startswith(start) for lexeme in lexemes)


def choose_window(
    text: str,
    matches: Sequence[tuple[Spot, float]],
    radius: int | None,
    *,
    after: int | None = None,
) -> Excerpt:
    """Return the whole text or, if it is longer, at most `radius` characters on either side of its
    best match, cut between words. With `after`, that many follow where it begins, and what one side
    lacks goes to the other.

    `matches` are words of the text with their weights, in order. The best is the one with the
    greatest sum of weights around it, each word counted once; the first of equals. Without any,
    the window is at the beginning. A match longer than the window is cut too.
    """
    before = len(text) if radius is None else radius
    behind = before if after is None else after
    best = _find_best_match(matches, before, behind)
    if len(text) <= before + behind:
        return Excerpt(text=text, start=0, end=len(text), before=False, after=False, match=best)
    if best and after is not None:
        behind = max(0, behind - len(best.word))
        missing = max(0, best.end + behind - len(text))
        spare = max(0, before - best.start)
        before, behind = before + missing, behind + spare
    return _cut_window(text, best, before, behind)


def narrow_excerpt(text: str, excerpt: Excerpt, longest: int) -> Excerpt:
    """Return an excerpt of `text` narrowed to at most `longest` characters."""
    if len(excerpt.text) <= longest:
        return excerpt
    taken = min(longest, len(excerpt.match.word)) if excerpt.match else 0
    radius = (longest - taken) // 2
    return _cut_window(text, excerpt.match, radius, radius)


def _cut_window(text: str, match: Spot | None, before: int, after: int) -> Excerpt:
    best = match or Spot(before, before, "")
    best = Spot(best.start, min(best.end, best.start + after), best.word)
    start, end = max(0, best.start - before), min(len(text), best.end + after)
    while 0 < start < best.start and not (text[start - 1].isspace() and not text[start].isspace()):
        start += 1
    while best.end < end < len(text) and not (text[end].isspace() and not text[end - 1].isspace()):
        end -= 1
    return Excerpt(
        text=text[start:end],
        start=start,
        end=end,
        before=bool(text[:start].strip()),
        after=bool(text[end:].strip()),
        match=match,
    )


def _find_best_match(matches: Sequence[tuple[Spot, float]], before: int, after: int) -> Spot | None:
    """Return the match with the greatest sum of weights around it, in linear time."""
    best, highest = None, 0.0
    keys = [(spot.word.casefold(), weight) for spot, weight in matches]
    near: Counter[tuple[str, float]] = Counter()
    first = last = 0
    for centre, _ in matches:
        while last < len(matches) and matches[last][0].end <= centre.end + after:
            near[keys[last]] += 1
            last += 1
        while matches[first][0].start < centre.start - before:
            near[keys[first]] -= 1
            first += 1
        worth = round(sum(weight for (_, weight), times in near.items() if times > 0), 9)
        if worth > highest:
            best, highest = centre, worth
    return best


def voice_terms(
    text: str, statistics: Mapping[str, Known], documents: int, *, maximum: int = MAX_VOICE_TERMS
) -> tuple[str, ...]:
    """Return the top collocations of a text against its corpus, best first, as they are written.

    A collocation is a pair of adjacent words, neither a stop word. Let n be the number of such
    pairs in the text, k the number of those that are this pair, and p1 and p2 the shares of the
    documents that contain its words; the score of the pair is

        k/n * ln((k/n) / (p1 * p2))

    the pointwise Kullback-Leibler divergence of the text from a corpus in which words were
    independent (Tomokiyo and Hurst, "A language model approach to keyphrase extraction", 2003,
    with documents for the background model). It is high for pairs repeated in the text and rare in
    the corpus.
    """
    spots = [(spot, statistics.get(spot.word)) for spot in find_words(text)]
    written: dict[tuple[str, ...], str] = {}
    counted: Counter[tuple[str, ...]] = Counter()
    rarity: dict[tuple[str, ...], float] = {}
    for (earlier, first), (other, second) in pairwise(spots):
        if not (first and second and text[earlier.end : other.start] in _BESIDE):
            continue
        if not (_is_telling(earlier, first) and _is_telling(other, second)):
            continue
        pair = (*first.lexemes, *second.lexemes)
        written.setdefault(pair, text[earlier.start : other.end])
        counted[pair] += 1
        rarity[pair] = _measure_rarity(first, documents) + _measure_rarity(second, documents)
    n = counted.total()
    scored = {pair: k / n * (math.log(k / n) + rarity[pair]) for pair, k in counted.items()}
    best = sorted(scored, key=lambda pair: -round(scored[pair], 9))  # stable: ties keep the order
    return tuple(written[pair] for pair in best[:maximum])


def _is_telling(spot: Spot, statistics: Known) -> bool:
    return statistics.telling and len(spot.word) > 1 and any(map(str.isalpha, spot.word))


def _measure_rarity(word: Known, documents: int) -> float:
    """Return -ln of the share of documents that contain a word, never of 0."""
    return -math.log((word.document_frequency + 0.5) / (documents + 1))


def one_line(text: str, limit: int) -> str:
    """Return visible text on one line, at most `limit` characters, cut between words.

    A word longer than half the limit may itself be cut.
    """
    return _cut_text(_drop_unseen_characters(text), limit)


def visible_lines(text: str, limit: int) -> str:
    """Return visible text of at most `limit` characters without empty lines.

    Headings, rows and paragraphs stay apart, which `one_line` would join.
    """
    return _cut_text(
        "\n".join(filter(None, map(_drop_unseen_characters, text.splitlines()))), limit
    )


def _drop_unseen_characters(text: str) -> str:
    return " ".join(_UNSEEN.sub(" ", text).split())


def _cut_text(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    end = max(text.rfind(gap, 0, limit + 1) for gap in " \n")
    return text[: end if end > limit // 2 else limit].rstrip()
