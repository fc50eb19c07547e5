"""Superlatives in English and Spanish, by what they claim, so that sources may be asked. Pure."""

import re
from collections.abc import Mapping

_WAYS: Mapping[str, str] = {
    "best": r"best|(?:el|la|los|las|lo) mejor(?:es)?",
    "worst": r"worst|(?:el|la|los|las|lo) peor(?:es)?",
    "largest": r"largest|biggest|greatest|(?:el|la|los|las|su) mayor(?:es)?|más grandes?"
    r"|maximum|máxim[oa]s?|massivest|hugest",
    "smallest": r"smallest|least|tiniest|(?:el|la|los|las|su) menor(?:es)?|más pequeñ[oa]s?"
    r"|minimum|mínim[oa]s?",
    "highest": r"highest|all[- ]time high|peak|más alt[oa]s?|máxim[oa]s? históric[oa]s?|tallest",
    "lowest": r"lowest|all[- ]time low|más baj[oa]s?|mínim[oa]s? históric[oa]s?",
    "record": r"record(?:[- ](?:high|low|breaking|setting|year|profits?|losses|number|level|sales))"
    r"|(?:a|new|all[- ]time|set (?:a )?) ?records?|r[eé]cord|históric[oa]s?",
    "first": r"first[- ]ever|(?:for )?the first time|the first (?:to|person|country|company|in)"
    r"|por primera vez|(?:el|la) primer[oa]? en|primera vez",
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
_PATTERNS = {name: re.compile(rf"\b(?:{way})\b", re.IGNORECASE) for name, way in _WAYS.items()}
# What another superlative of a source confirms as well.
_ALSO: Mapping[str, frozenset[str]] = {
    "largest": frozenset({"highest", "record", "most"}),
    "highest": frozenset({"largest", "record", "most"}),
    "lowest": frozenset({"smallest", "record"}),
    "smallest": frozenset({"lowest"}),
    "record": frozenset({"highest", "lowest", "largest", "unprecedented"}),
    "unprecedented": frozenset({"first", "record"}),
    "first": frozenset({"unprecedented"}),
    "most": frozenset(_WAYS) - {"world", "only", "first", "last"},
}


def superlatives(text: str) -> dict[str, str]:
    """Return the superlatives in a text: what each claims, and how it is written."""
    found = {name: hit[0] for name, way in _PATTERNS.items() if (hit := way.search(text))}
    for other in _OTHER.finditer(text):
        word = other["word"].casefold()
        if not any(word in hit.casefold() for hit in found.values()):
            found[word] = other[0]
    return found


def unsupported(text: str, sources: Mapping[str, str]) -> list[str]:
    """Return the superlatives of a text, as written, that no superlative of sources supports."""
    return [
        shown
        for name, shown in superlatives(text).items()
        if name not in sources and not _ALSO.get(name, frozenset()) & sources.keys()
    ]
