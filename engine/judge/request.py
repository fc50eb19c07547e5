"""The judge's request: the archive, the headline, then one candidate per line."""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256

from engine.search import Candidate, Headline
from engine.text.clean import drop_links
from engine.text.snippet import window, words
from engine.values import Corpus

HEADLINE_LENGTH = 500
DESCRIPTION_LENGTH = 500  # of an archive
AUTHOR_LENGTH = 80
TEXT_LENGTH = 280  # characters, as in a tweet; longer texts are cut around the headline's words
_BEGINNING = 5  # letters that forms of a word share, precise enough to choose a window
_LARGEST_BLOCK = 50  # candidates that models count right
_LONGEST_MATCH = 20  # characters that a window reserves for the word in its middle

# Control characters, line separators, bidirectional overrides, lone surrogates, byte order marks,
# invisible tag characters and variation selectors of that plane: they break lines, break UTF-8 or
# hide text from people.
_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff"
    "\U000e0000-\U000e0fff]"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeRequest:
    """One question to the model about candidates, which it knows by their numbers from 1."""

    subject: str  # the first two lines: whose archive it is, and the headline
    said: Mapping[int, str]  # by the id of a candidate, what its line says after the number

    @property
    def ids(self) -> tuple[int, ...]:
        """The id of each candidate; that of number i is `ids[i - 1]`."""
        return tuple(self.said)

    @property
    def content(self) -> str:
        """The user message."""
        lines = (f"{number}\t{said}" for number, said in enumerate(self.said.values(), start=1))
        return "\n".join([self.subject, *lines])

    def key(self, *, model: str, version: str) -> str:
        """Return the cache key: SHA-256 of everything that may change the judgments.

        `version` is the version of the prompt.
        """
        asked = [version, model, self.subject, sorted(self.said.items())]
        return sha256(json.dumps(asked).encode()).hexdigest()

    def in_blocks(self, ids: Collection[int]) -> list["JudgeRequest"]:
        """Return the same question about some of its candidates, in blocks of 25 to 50 of them.

        Fewer than 25 are one block.
        """
        wanted = [candidate_id for candidate_id in self.said if candidate_id in ids]
        number = -(-len(wanted) // _LARGEST_BLOCK)
        blocks = (wanted[first::number] for first in range(number))
        return [
            replace(self, said={candidate_id: self.said[candidate_id] for candidate_id in block})
            for block in blocks
        ]


def build_judge_request(
    corpus: Corpus, headline: Headline, candidates: Sequence[Candidate]
) -> JudgeRequest:
    """Build the request, which does not depend on the order of the candidates."""
    title = one_line(headline.text, HEADLINE_LENGTH)
    ordered = sorted(candidates, key=lambda candidate: _place(title, candidate))
    name_author = len({candidate.author for candidate in candidates}) > 1
    return JudgeRequest(
        subject=f"{_describe_archive(corpus, headline)}\n{title}",
        said={
            candidate.id: _describe_candidate(candidate, title, name_author)
            for candidate in ordered
        },
    )


def _short_day(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y%m%d")


def _describe_archive(corpus: Corpus, headline: Headline) -> str:
    """Return whose archive it is and, if the headline has a date, of what day the news is."""
    told = ", ".join(filter(None, (corpus.voice, corpus.description)))
    line = f"archive: {one_line(told, DESCRIPTION_LENGTH)}"
    return f"{line}; news of {_short_day(headline.date)}" if headline.date else line


def around(text: str, title: str, limit: int) -> str:
    """Return visible text on one line, at most `limit` characters around the words of `title`.

    Words with equal beginnings count as the same; if there are none, the text's start is used.
    """
    line = one_line(text, len(text))
    if len(line) <= limit:
        return line
    sought = {_word_beginning(spot.word): len(spot.word) for spot in words(title)}
    matches = [
        (spot, float(sought[beginning]))
        for spot in words(line)
        if (beginning := _word_beginning(spot.word)) in sought and len(beginning) == _BEGINNING
    ]
    if not matches:
        return one_line(line, limit)
    return one_line(window(line, matches, max(1, limit // 2 - _LONGEST_MATCH)).text, limit)


def _word_beginning(word: str) -> str:
    return word.casefold()[:_BEGINNING]


def one_line(text: str, limit: int) -> str:
    """Return visible text on one line, at most `limit` characters, cut between words.

    A word longer than half the limit may itself be cut.
    """
    return _cut(_visible(text), limit)


def visible_lines(text: str, limit: int) -> str:
    """Return visible text of at most `limit` characters without empty lines.

    Headings, rows and paragraphs stay apart, which `one_line` would join.
    """
    return _cut("\n".join(filter(None, map(_visible, text.splitlines()))), limit)


def _visible(text: str) -> str:
    return " ".join(_UNSEEN.sub(" ", text).split())


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    end = max(text.rfind(gap, 0, limit + 1) for gap in " \n")
    return text[: end if end > limit // 2 else limit].rstrip()


def _place(title: str, candidate: Candidate) -> tuple[bytes, int]:
    """Return a sort key for a deterministic shuffle, so that position carries no meaning."""
    seed = f"{title}\n{candidate.external_id}"
    return sha256(seed.encode("utf-8", "replace")).digest(), candidate.id


def _describe_candidate(candidate: Candidate, title: str, name_author: bool) -> str:
    """Return the day, what it tells if not when the text was written, and the text without links.

    Tabs cost fewer tokens than JSON, and days without hyphens half of those with them. No text
    holds a tab or the end of a line.
    """
    day = _short_day(candidate.created_at) if candidate.created_at else "undated"
    told = f"{candidate.dated_by} {day}" if candidate.dated_by else day
    text = around(drop_links(candidate.text), title, TEXT_LENGTH)
    author = one_line(candidate.author or "", AUTHOR_LENGTH) if name_author else ""
    return f"{told}\t{author}: {text}" if author else f"{told}\t{text}"
