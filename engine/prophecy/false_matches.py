"""Words that a candidate shares with a headline by coincidence: in a handle, or as a foreign stem.

A handle is searched in parts, so that "@BetteMidler" is found by her name; but "@Lord_Sugar" says
nothing of sugar. And where texts are in several languages, the stem of a word in one of them may be
another word in another: "hallan" and "hall".
"""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from engine.ranking import idf
from engine.search import Candidate, Term
from engine.text.clean import camel_parts
from engine.text.language import NAMES
from engine.text.terms import folded_words
from engine.values import Corpus

_HANDLE = re.compile(r"@(\w+)")
_SHORTEST_STEM = 3  # letters that begin words by more than chance


def discount_false_matches(
    candidates: Iterable[Candidate], terms: Sequence[Term], corpus: Corpus
) -> list[Candidate]:
    """Return the candidates without their false matches, and with their BM25 lowered by as much."""
    return [_discount_candidate(candidate, terms, corpus) for candidate in candidates]


def _discount_candidate(candidate: Candidate, terms: Sequence[Term], corpus: Corpus) -> Candidate:
    is_multilingual = len(corpus.query_languages) > 1
    if not candidate.matched or not (is_multilingual or "@" in candidate.text):
        return candidate
    lexemes = [lexeme for place in candidate.matched for lexeme in terms[place].lexemes]
    words, handle_parts = _split_handles(candidate, lexemes)
    # The language in which the words of the text are stored.
    language = NAMES.get(candidate.lang or "", "")
    language = language if language in corpus.query_languages else corpus.language

    def is_false(term: Term) -> bool:
        only_in_handle = _occurs(term.lexemes, handle_parts) and not _occurs(term.lexemes, words)
        return only_in_handle or _is_foreign_stem(term, language, words)

    def weigh(places: Iterable[int]) -> float:
        return sum(
            terms[place].weight * idf(corpus.searchable_documents, terms[place].document_frequency)
            for place in places
        )

    matched = {
        place: frequency
        for place, frequency in candidate.matched.items()
        if not is_false(terms[place])
    }
    if len(matched) == len(candidate.matched):
        return candidate
    share = weigh(matched) / (weigh(candidate.matched) or 1.0)
    return replace(candidate, matched=matched, bm25=candidate.bm25 * share)


def _split_handles(candidate: Candidate, lexemes: Collection[str]) -> tuple[list[str], list[str]]:
    """Return the words of a text, and apart from them the parts of its handles.

    A handle of which every part is among `lexemes`, those shared with the headline, counts as
    ordinary words.
    """
    handle_parts: list[str] = []

    def take_parts(handle: re.Match[str]) -> str:
        parts = folded_words(" ".join(camel_parts(handle[1])))
        if all(_occurs(lexemes, [part]) for part in parts if len(part) > 1 and part.isalpha()):
            return f" {' '.join(parts)} "
        handle_parts.extend(parts)
        return " "

    text = _HANDLE.sub(take_parts, f"{candidate.text} {candidate.context or ''}")
    return folded_words(text), handle_parts


def _occurs(stems: Iterable[str], words: Sequence[str]) -> bool:
    """Return whether one of the words is, or begins with, one of the stems."""
    return any(
        word == stem or (len(stem) >= _SHORTEST_STEM and word.startswith(stem))
        for stem in stems
        for word in words
    )


def _is_foreign_stem(term: Term, language: str, words: Sequence[str]) -> bool:
    """Return whether a text in `language` matches a term only by a stem of another language."""
    if not term.read_in:
        return False
    own = [stem for stem, languages in term.read_in.items() if language in languages]
    # The last letter of a stem may not be in the word: "countri".
    beginnings = [stem[:-1] if len(stem) > _SHORTEST_STEM else stem for stem in own]
    return len(own) < len(term.lexemes) and not _occurs(beginnings, words)
