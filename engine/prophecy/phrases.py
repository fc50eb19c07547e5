"""Reading the phrases that a model names in its answer."""

import re
from collections.abc import Iterable, Iterator

from engine.judge.request import one_line
from engine.llm.ask_and_repair import objects
from engine.text.clean import searchable

MOST_PHRASES = 8
LONGEST_PHRASE = 80  # characters
# Eight phrases are a tenth of this; the rest bounds the work.
_MOST_READ = 16_000
# Phrases are shown in receipts, where nothing in them may become a link, a mention or markup.
_NOT_SAID = re.compile(r"[^\w\s'’$€£%#&.,+-]|_|(?<=\w)\.(?=[^\W\d]{2})")
_WORD = re.compile(r"[^\W_]")


def read_phrases(content: str, *, headline: str = "") -> tuple[str, ...] | None:
    """Return the phrases in an answer, or None if it holds no list of them.

    Phrases are reduced to words, shortened and deduplicated; the headline's own words are left
    out. If there are several lists, the last one is used.
    """
    text = content[:_MOST_READ].rpartition("</think>")[2]
    lists = [one["phrases"] for one in objects(text) if isinstance(one.get("phrases"), list)]
    if not lists:
        return None
    read = lists[-1]
    assert isinstance(read, list)  # noqa: S101 - only lists were taken
    return tuple(_distinct(_cleaned(read), headline))


def _cleaned(read: Iterable[object]) -> Iterator[str]:
    for one in read:
        if isinstance(one, str):
            words = [word for word in one.split() if "//" not in word and "www." not in word]
            yield one_line(_NOT_SAID.sub(" ", " ".join(words)), LONGEST_PHRASE).strip(" .,-+")


def _distinct(phrases: Iterable[str], headline: str) -> list[str]:
    seen = {"", searchable(headline).casefold()}
    kept: list[str] = []
    for phrase in phrases:
        key = searchable(phrase).casefold()
        if key not in seen and _WORD.search(key):
            seen.add(key)
            kept.append(phrase)
    return kept[:MOST_PHRASES]
