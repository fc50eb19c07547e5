"""Chooses terms worth asking about: frequent words of a corpus, and names of two or three words."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence

from engine.glossary.groups import signatures
from engine.glossary.terms import Dictionary, protected
from engine.text.terms import Reading

_LEAST = 3  # occurrences; an alias of a rarer term is not worth a question
_SHORTEST = 3  # letters
_LINK = re.compile(r"https?://\S+|[@#]\w+")
_TOKEN = re.compile(r"\S+")
_HOST = re.compile(r"\.\w+/")  # in a token that is an address: pic.twitter.com/x
_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_NAME = re.compile(r"(?<![\w-])[A-Z][\w-]++(?: [A-Z][\w-]++)++")
_NAME_LENGTHS = (2, 3)  # words
_SENTENCE = re.compile(r"[.!?:;\n]+")


def frequent_terms(
    texts: Iterable[str],
    is_word: Dictionary,
    *,
    least: int = _LEAST,
    names: Collection[str] = (),
) -> list[str]:
    """Return the terms of texts in their commonest spelling, the most frequent first.

    Protected terms are left out, and so are terms with fewer than `least` occurrences.
    """
    spellings: dict[str, Counter[str]] = {}
    for text in texts:
        for term in _terms(text):
            spellings.setdefault(term.casefold(), Counter())[term] += 1
    often = [c for c in spellings.values() if c.total() >= least]
    often.sort(key=lambda c: (-c.total(), min(c)))
    shown = (min(c, key=lambda spelling: (-c[spelling], spelling)) for c in often)
    return [term for term in shown if protected(term, is_word, names) is None]


def _terms(text: str) -> Iterator[str]:
    for sentence in _SENTENCE.split(_without_links(text)):
        if sentence.isupper():
            continue  # capitals are no evidence here
        for word in _WORD.findall(sentence):
            if len(word) >= _SHORTEST:
                yield word
        for name in _NAME.findall(sentence):
            yield from _parts(name.split())


def _without_links(text: str) -> str:
    words = _TOKEN.sub(lambda token: " " if _HOST.search(token[0]) else token[0], text)
    return _LINK.sub(" ", words)


def _parts(words: Sequence[str]) -> Iterator[str]:
    """Yield every two or three neighbouring words: frequency will show which are names."""
    for length in _NAME_LENGTHS:
        for start in range(len(words) - length + 1):
            yield " ".join(words[start : start + length])


def telling_terms(terms: Sequence[str], readings: Iterable[Reading], limit: int) -> list[str]:
    """Return the first `limit` terms that carry meaning, one of each set with equal lexemes.

    `readings` are those of `terms`; stop words have none.
    """
    read = signatures(readings)
    first: dict[tuple[tuple[str, tuple[str, ...]], ...], str] = {}
    for place, term in enumerate(terms):
        if place in read:
            first.setdefault(tuple(sorted(read[place].items())), term)
    return list(first.values())[:limit]
