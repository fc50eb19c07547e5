"""Decides which terms a glossary may hold: protected ones match exactly and are never grouped."""

import re
import unicodedata
from collections.abc import Callable, Collection, Sequence
from itertools import pairwise

from engine.errors import InputError
from engine.messages import Message
from engine.text.clean import searchable

# Tells whether a word in lower case is an ordinary one.
Dictionary = Callable[[str], bool]

LONGEST = 100  # characters of a term
FEWEST, MOST = 2, 20  # terms of a group
_EDGES = re.compile(r"^\W+|\W+$")
_POSSESSIVE = re.compile(r"['’]s$")
# Characters that have a meaning in the dialect, in receipts and in tables of groups.
_SIGNS = re.compile(r'["|=\n\r\t]|^-')
_STOP = re.compile(r"(?<=[^\W\d_])\.(?=[^\W\d_])")  # as in "U.S"
_SNAKE = re.compile(r"(?<=\w)_(?=\w)")


def key(term: str) -> str:
    """Return what spellings of a term share: no case, accents or signs, single spaces."""
    folded = unicodedata.normalize("NFD", _STOP.sub("", searchable(term)).casefold())
    plain = "".join(c for c in folded if not unicodedata.combining(c))
    return unicodedata.normalize("NFC", " ".join(re.findall(r"\w+", plain)))


def is_exact(text: str, names: Collection[str] = ()) -> bool:
    """Tell whether a word of `text` is an acronym in capitals or an identifier, or whether the text
    or a word of it is one of `names`, which are keys."""
    return any(map(_reason, text.split())) or _is_named(text, names)


def protected(term: str, is_word: Dictionary, names: Collection[str] = ()) -> Message | None:
    """Return why a term is protected, as a sentence, or None.

    A name is a capitalised word that the dictionary does not have in lower case, or one whose key
    is in `names`.
    """
    if _is_named(term, names):
        return Message("A name in glossary.protected matches exactly and has no alias.")
    for written in term.split():
        if reason := _reason(written):
            return reason
        word = _bare(written)
        if word[:1].isupper() and len(word) > 1 and not _is_word(word, is_word):
            return Message("A proper name that no dictionary has matches exactly and has no alias.")
    return None


def checked(
    terms: Sequence[str], is_word: Dictionary, names: Collection[str] = ()
) -> tuple[str, ...]:
    """Return terms that may form a group, stripped of extra spaces. Raises InputError."""
    by_key: dict[str, str] = {}
    for term in terms:
        by_key.setdefault(key(term), " ".join(term.split()))
    clean = tuple(by_key.values())
    for term in clean:
        if not any(map(str.isalnum, term)):
            raise InputError(
                Message('"{term}" is no term: it holds no letter and no digit.', term=term)
            )
        if len(term) > LONGEST:
            raise InputError(Message("A term has at most {number} characters.", number=LONGEST))
        if _SIGNS.search(term):
            raise InputError(
                Message(
                    '"{term}" is no term: it holds a sign with a meaning of its own.', term=term
                )
            )
        if reason := protected(term, is_word, names):
            raise InputError(Message('"{term}" is protected.', term=term), fix=reason)
    if not FEWEST <= len(clean) <= MOST:
        raise InputError(
            Message("A group has {least} to {most} different terms.", least=FEWEST, most=MOST)
        )
    return clean


def _is_named(text: str, names: Collection[str]) -> bool:
    return bool(names) and (key(text) in names or any(key(word) in names for word in text.split()))


def _is_word(word: str, is_word: Dictionary) -> bool:
    return all(is_word(part.casefold()) for part in re.split(r"\W+", word) if part)


def _bare(written: str) -> str:
    return _POSSESSIVE.sub("", _EDGES.sub("", written))


def _reason(written: str) -> Message | None:
    """Return why a single word is protected, if its spelling alone shows it."""
    word = _bare(written)
    letters = "".join(filter(str.isalpha, word))
    if len(word) > 1 and letters.removesuffix("s").isupper():  # "CEOs" too
        return Message("An acronym in capitals matches exactly and has no alias.")
    if _SNAKE.search(word) or _is_camel(letters):
        return Message("An identifier matches exactly and has no alias.")
    return None


def _is_camel(letters: str) -> bool:
    """Tell whether a capital follows a small letter, or small letters a run of capitals."""
    rises = any(a.islower() and b.isupper() for a, b in pairwise(letters))
    return rises or (letters[:2].isupper() and not letters.isupper())
