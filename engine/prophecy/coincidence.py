"""Words that a text shares with a headline by coincidence, and that are no evidence.

A handle is searched in parts, so that "@BetteMidler" is found by her name; but "@Lord_Sugar" says
nothing of sugar. And where texts are in several languages, the stem of a word in one of them may be
another word in another: "hallan" and "hall".
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from engine.ranking import idf
from engine.search import Candidate, Term
from engine.text.clean import camel_parts
from engine.text.language import NAMES, language_code
from engine.text.terms import folded_words
from engine.values import Corpus

_HANDLE = re.compile(r"@(\w+)")
_SHORTEST_STEM = 3  # letters that begin words by more than chance


@dataclass(frozen=True, slots=True, kw_only=True)
class Coincidences:
    """Finds what candidates share with the words of a headline by coincidence."""

    terms: Sequence[Term]
    corpus: Corpus

    def drop(self, candidates: Iterable[Candidate]) -> list[Candidate]:
        """Return the candidates without such words, those last that words alone have proposed and
        that share nothing else."""
        found = [self._drop_from(candidate) for candidate in candidates]
        return sorted(
            found, key=lambda candidate: not candidate.matched and _is_proposed_by_words(candidate)
        )

    def _drop_from(self, candidate: Candidate) -> Candidate:
        several = len(self.corpus.read_in) > 1
        if not candidate.matched or not (several or "@" in candidate.text):
            return candidate
        lexemes = [lexeme for at in candidate.matched for lexeme in self.terms[at].lexemes]
        words, parts = _split_names(candidate, lexemes)
        language = self._find_language(candidate) if several else ""
        kept = {
            at: frequency
            for at, frequency in candidate.matched.items()
            if not _is_part(self.terms[at], parts, words)
            and not _is_false_stem(self.terms[at], language, words)
        }
        if len(kept) == len(candidate.matched):
            return candidate
        share = self._weigh(kept) / (self._weigh(candidate.matched) or 1.0)
        return replace(candidate, matched=kept, bm25=candidate.bm25 * share)

    def _weigh(self, matched: Mapping[int, int]) -> float:
        terms = [self.terms[at] for at in matched]
        documents = self.corpus.documents
        return sum(term.weight * idf(documents, term.document_frequency) for term in terms)

    def _find_language(self, candidate: Candidate) -> str:
        """Return the language in which the words of a text are stored."""
        code = language_code(candidate.lang) if candidate.lang else None
        name = NAMES.get(code, "") if code else ""
        return name if name in self.corpus.read_in else self.corpus.language


def _is_proposed_by_words(candidate: Candidate) -> bool:
    return len(candidate.ranks) < 2 and not candidate.asked_for and candidate.similarity is None


def _split_names(candidate: Candidate, lexemes: Collection[str]) -> tuple[list[str], list[str]]:
    """Return the words of a text, and the parts of its handles of which some are not shared.

    The words of a handle that is shared as a whole count like any others.
    """
    parts: list[str] = []

    def take_parts(handle: re.Match[str]) -> str:
        own = folded_words(" ".join(camel_parts(handle[1])))
        if all(_stands_in(lexemes, [part]) for part in own if len(part) > 1 and part.isalpha()):
            return f" {' '.join(own)} "
        parts.extend(own)
        return " "

    said = _HANDLE.sub(take_parts, f"{candidate.text} {candidate.context or ''}")
    return folded_words(said), parts


def _stands_in(lexemes: Iterable[str], words: Sequence[str]) -> bool:
    return any(_is_form(word, lexeme) for lexeme in lexemes for word in words)


def _is_form(word: str, stem: str) -> bool:
    return word == stem or (len(stem) >= _SHORTEST_STEM and word.startswith(stem))


def _is_part(term: Term, parts: Sequence[str], words: Sequence[str]) -> bool:
    """Return whether a text has a word of the headline only as a part of a longer handle."""
    return _stands_in(term.lexemes, parts) and not _stands_in(term.lexemes, words)


def _is_false_stem(term: Term, language: str, words: Sequence[str]) -> bool:
    """Return whether a text has a word only as it is read in another language."""
    if not term.read_in:
        return False
    own = [name for name, languages in term.read_in.items() if language in languages]
    # The last letter of a stem may not be in the word: "countri".
    stems = [name[:-1] if len(name) > _SHORTEST_STEM else name for name in own]
    return len(own) < len(term.lexemes) and not _stands_in(stems, words)
