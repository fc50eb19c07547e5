"""Decides what counts as an ordinary word, with the word lists of pyspellchecker."""

from collections.abc import Iterable
from functools import cache

from engine.errors import ExtraMissing
from engine.messages import Message

# The names of the lists, and the text-search languages that they serve.
_LISTS = {
    "basque": "eu", "dutch": "nl", "english": "en", "french": "fr", "german": "de",
    "italian": "it", "portuguese": "pt", "russian": "ru", "spanish": "es",
}  # fmt: skip


class WordLists:
    """The words of English, Spanish and some other languages; read on first use."""

    def __init__(self, languages: Iterable[str] = ()) -> None:
        named = {_LISTS[name] for name in languages if name in _LISTS}
        self._lists = tuple(sorted({"en", "es", *named}))

    def __call__(self, word: str) -> bool:
        """Tell whether a word in lower case is in one of the lists. Raises ExtraMissing."""
        return any(word in _words(name) for name in self._lists)


@cache
def _words(name: str) -> frozenset[str]:
    try:
        from spellchecker import SpellChecker  # noqa: PLC0415 - it takes a tenth of a second
    except ImportError as error:
        said = Message("The word lists of the glossary are not installed.")
        raise ExtraMissing(said, extra="glossary") from error

    return frozenset(SpellChecker(language=name).word_frequency.words())
