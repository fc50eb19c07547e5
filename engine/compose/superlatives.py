"""Superlatives: "the largest", "el peor", and what each is about. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from engine.compose.figures import stem_words
from engine.text.chunks import split_sentences

_WAYS: Mapping[str, str] = {
    "best": r"best|(?:el|la|los|las|lo) mejor(?:es)?|beste[nrsm]?|meilleure?s?|melhor(?:es)?"
    r"|miglior[ei]?",
    "worst": r"worst|(?:el|la|los|las|lo) peor(?:es)?|schlimmste\w*|schlechteste\w*|pires?"
    r"|pior(?:es)?|peggior[ei]?|最悪",
    "largest": r"largest|biggest|greatest|(?:el|la|los|las|su) mayor(?:es)?|más grandes?"
    r"|maximum|máxim[oa]s?|massivest|hugest|größte\w*|plus grande?s?(?! que)"
    r"|maior(?:es)?(?! (?:que|do que))|più grand[ei](?! di)|maggior[ei]|最大",
    "smallest": r"smallest|least|fewest|tiniest|(?:el|la|los|las|su) menor(?:es)?|más pequeñ[oa]s?"
    r"|minimum|mínim[oa]s?|kleinste\w*|plus petite?s?(?! que)|menor(?:es)? d[oae]|più piccol[oaie]"
    r"|最小",
    "highest": r"highest|all[- ]time high|peak|más alt[oa]s?|máxim[oa]s? históric[oa]s?|tallest"
    r"|höchste\w*|plus (?:haut|élevé)e?s?|mais alt[oa]s?|più alt[oaie]|最高",
    "lowest": r"lowest|all[- ]time low|más baj[oa]s?|mínim[oa]s? históric[oa]s?|niedrigste\w*"
    r"|tiefste\w*|plus bas(?:se)?s?|mais baix[oa]s?|più bass[oaie]|最低",
    "record": r"record(?:[- ](?:high|low|breaking|setting|year|profits?|losses|number|level|sales))"
    r"|(?:a|new|all[- ]time|set (?:a )?) ?records?|r[eé]cord|históric[oa]s?|rekord\w*|recordes?"
    r"|史上最",
    "first": r"first[- ]ever|first (?:[\w'’-]+ ){1,6}?ever|(?:for )?the first time"
    r"|(?:the|its|his|her|their) first \w+"
    r"|por primera vez|(?:el|la|los|las|su|sus) primer[oa]?s? \w+|primera vez"
    r"|erstmals|zum ersten mal"
    r"|(?:der|die|das) erste[nr]?|pour la première fois|l[ea] premi(?:er|ère)|pela primeira vez"
    r"|[oa] primeir[oa]|per la prima volta|il primo|la prima|初めて|初の|最初",
    "last": r"last[- ]ever|the last time|por última vez|zum letzten mal|最後",
    "only": r"the only|(?:el|la|los|las) únic[oa]s?|unique|únic[oa]s? en|einzige\w*|l[ea] seule?"
    r"|[oa] únic[oa]|l['’]unic[oa]|唯一",
    "most": r"(?:the|its|his|her|their|world's|ever's) most"
    r"|(?:el|la|los|las|lo)(?: [\wáéíóúñ]+)?(?: que)? más|die meisten|am meisten"
    r"|(?:le|la|les) plus|[oa]s? mais|(?:il|la|i|le) più|最も|最多",
    "fastest": r"fastest|quickest|más rápid[oa]s?|schnellste\w*|plus rapides?|mais rápid[oa]s?"
    r"|più veloc[ei]|最速",
    "oldest": r"oldest|earliest|más antigu[oa]s?|más viej[oa]s?|älteste\w*|plus anciens?"
    r"|plus anciennes?|plus vieux|mais antig[oa]s?|più antic\w+|più vecchi\w*|最古",
    "youngest": r"youngest|newest|más joven(?:es)?|más nuev[oa]s?|jüngste\w*|neueste\w*|最新",
    "strongest": r"strongest|más fuertes?|más potentes?|stärkste\w*|最強",
    "cheapest": r"cheapest|más barat[oa]s?|billigste\w*|最安",
    "richest": r"richest|wealthiest|más ric[oa]s?|reichste\w*",
    "deadliest": r"deadliest|más mortífer[oa]s?|más letal(?:es)?|tödlichste\w*|plus meurtri\w+",
    "unprecedented": r"unprecedented|sin precedentes?|inédit[oa]s?|never before|nunca antes"
    r"|unmatched|unrivall?ed|unparallell?ed|beispiellos\w*|sans précédent|sem precedentes"
    r"|senza precedenti|空前|前例のない",
    "world": r"in the world|world's|of all time|in history|del mundo|de la historia|de todos los"
    r" tiempos|de siempre|der welt|aller zeiten|du monde|de l'histoire|do mundo|da história"
    r"|del mondo|della storia|世界一|世界で",
}
# Any other word in -est with an article: "the calmest". Nouns and verbs in -est stay out of it.
_OTHER = re.compile(
    r"\bthe (?!(?:west|rest|test|guest|forest|interest|request|protest|harvest|arrest|quest|nest"
    r"|chest|contest|conquest|invest|latest|first|priest|tempest|digest|manifest|midwest"
    r"|northwest|southwest|unrest|vest|zest|crest|pest)\b)(?P<word>[a-z]{2,12}est)\b",
    re.IGNORECASE,
)
_UNSPACED = re.compile("[\u3041-\u30ff\u4e00-\u9fff]")
_ABOUT = 4  # words before and after a superlative that it may be about
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


def compile_alternatives(way: str) -> re.Pattern[str]:
    """Return the pattern of any of some words; words without spaces between them have no edges."""
    parts = way.split("|")
    spaced = "|".join(part for part in parts if not _UNSPACED.search(part))
    unspaced = "|".join(part for part in parts if _UNSPACED.search(part))
    return re.compile(rf"\b(?:{spaced})\b" + (f"|{unspaced}" if unspaced else ""), re.IGNORECASE)


_PATTERNS = {name: compile_alternatives(way) for name, way in _WAYS.items()}


@dataclass(frozen=True, slots=True)
class Superlative:
    """A superlative as written, what it claims, and the stems of the words around it."""

    name: str
    shown: str
    about: frozenset[str]


def find_superlatives(text: str) -> list[Superlative]:
    """Return the superlatives in a text."""
    found = []
    for sentence in split_sentences(text):
        hits = [(name, hit) for name, way in _PATTERNS.items() for hit in way.finditer(sentence)]
        shown = " ".join(hit[0].casefold() for _, hit in hits)
        hits += [
            (other["word"].casefold(), other)
            for other in _OTHER.finditer(sentence)
            if other["word"].casefold() not in shown
        ]
        found += [Superlative(name, hit[0], _stems_around(sentence, hit)) for name, hit in hits]
    return found


def _stems_around(sentence: str, hit: re.Match[str]) -> frozenset[str]:
    before, after = stem_words(sentence[: hit.start()]), stem_words(sentence[hit.end() :])
    # "the first bridge" matches with what it is about
    return frozenset((*before[-_ABOUT:], *stem_words(hit[0])[1:], *after[:_ABOUT]))
