"""Superlatives, English and Spanish: "the largest", "el peor", and what each is about. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from engine.compose.figures import stem_words
from engine.text.chunks import split_sentences

_WAYS: Mapping[str, str] = {
    "best": r"best|(?:el|la|los|las|lo) mejor(?:es)?",
    "worst": r"worst|(?:el|la|los|las|lo) peor(?:es)?",
    "largest": r"largest|biggest|greatest|(?:el|la|los|las|su) mayor(?:es)?|más grandes?"
    r"|maximum|máxim[oa]s?|massivest|hugest",
    "smallest": r"smallest|least|fewest|tiniest|(?:el|la|los|las|su) menor(?:es)?|más pequeñ[oa]s?"
    r"|minimum|mínim[oa]s?",
    "highest": r"highest|all[- ]time high|peak|más alt[oa]s?|máxim[oa]s? históric[oa]s?|tallest",
    "lowest": r"lowest|all[- ]time low|más baj[oa]s?|mínim[oa]s? históric[oa]s?",
    "record": r"record(?:[- ](?:high|low|breaking|setting|year|profits?|losses|number|level|sales))"
    r"|(?:a|new|all[- ]time|set (?:a )?) ?records?|r[eé]cord|históric[oa]s?",
    "first": r"first[- ]ever|first (?:[\w'’-]+ ){1,6}?ever|(?:for )?the first time"
    r"|(?:the|its|his|her|their) first \w+"
    r"|por primera vez|(?:el|la|los|las|su|sus) primer[oa]?s? \w+|primera vez",
    "last": r"last[- ]ever|the last time|por última vez",
    "only": r"the only|(?:el|la|los|las) únic[oa]s?|unique|únic[oa]s? en",
    "most": r"(?:the|its|his|her|their|world's|ever's) most"
    r"|(?:el|la|los|las|lo)(?: [\wáéíóúñ]+)?(?: que)? más",
    "fastest": r"fastest|quickest|más rápid[oa]s?",
    "oldest": r"oldest|earliest|más antigu[oa]s?|más viej[oa]s?",
    "youngest": r"youngest|newest|más joven(?:es)?|más nuev[oa]s?",
    "strongest": r"strongest|más fuertes?|más potentes?",
    "cheapest": r"cheapest|más barat[oa]s?",
    "richest": r"richest|wealthiest|más ric[oa]s?",
    "deadliest": r"deadliest|más mortífer[oa]s?|más letal(?:es)?",
    "unprecedented": r"unprecedented|sin precedentes?|inédit[oa]s?|never before|nunca antes"
    r"|unmatched|unrivall?ed|unparallell?ed",
    "world": r"in the world|world's|of all time|in history|del mundo|de la historia|de todos los"
    r" tiempos|de siempre",
}
# Any other word in -est with an article: "the calmest". Nouns and verbs in -est stay out of it.
_OTHER = re.compile(
    r"\bthe (?!(?:west|rest|test|guest|forest|interest|request|protest|harvest|arrest|quest|nest"
    r"|chest|contest|conquest|invest|latest|first|priest|tempest|digest|manifest|midwest"
    r"|northwest|southwest|unrest|vest|zest|crest|pest)\b)(?P<word>[a-z]{2,12}est)\b",
    re.IGNORECASE,
)
_ABOUT = 4  # words before and after a superlative that it may be about
_AROUND = 300  # characters that these are looked for in
# What another superlative of a source confirms as well.
ALSO_CONFIRMED_BY: Mapping[str, frozenset[str]] = {
    "largest": frozenset({"highest", "record", "most"}),
    "highest": frozenset({"largest", "record", "most"}),
    "lowest": frozenset({"smallest", "record"}),
    "smallest": frozenset({"lowest"}),
    "record": frozenset({"highest", "lowest", "largest", "unprecedented"}),
    "unprecedented": frozenset({"first", "record"}),
    "first": frozenset({"unprecedented", "oldest"}),
    "most": frozenset(_WAYS) - {"world", "only", "first", "last"},
}

_PATTERNS = {name: re.compile(rf"\b(?:{way})\b", re.IGNORECASE) for name, way in _WAYS.items()}


@dataclass(frozen=True, slots=True)
class Superlative:
    """A superlative as written, what it claims, and the stems of the words around it."""

    name: str
    shown: str
    about: frozenset[str]


def find_superlatives(text: str) -> list[Superlative]:
    """Return the superlatives in a text."""
    superlatives = []
    for sentence in split_sentences(text):
        hits = [(name, hit) for name, way in _PATTERNS.items() for hit in way.finditer(sentence)]
        phrase = " ".join(hit[0].casefold() for _, hit in hits)
        hits += [
            (other["word"].casefold(), other)
            for other in _OTHER.finditer(sentence)
            if other["word"].casefold() not in phrase
        ]
        superlatives += [
            Superlative(name, hit[0], _stems_around(sentence, hit)) for name, hit in hits
        ]
    return superlatives


def _stems_around(sentence: str, hit: re.Match[str]) -> frozenset[str]:
    before = stem_words(sentence[max(0, hit.start() - _AROUND) : hit.start()])
    after = stem_words(sentence[hit.end() : hit.end() + _AROUND])
    # "the first bridge" matches with what it is about
    return frozenset((*before[-_ABOUT:], *stem_words(hit[0])[1:], *after[:_ABOUT]))
