"""Detects the language of a text by its script and its function words (stop words). Pure.

Function words are the most frequent words of a language, so a sentence of a dozen words is enough.
A shorter one, or one that several languages share, gets no answer rather than a guess.
"""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from functools import cache

from engine.text.terms import FUNCTION_WORDS, folded_words

_FUNCTION_WORDS: Mapping[str, str] = {
    "en": "the of and to in is that was for it with as on be at by this had not are but from or "
    "have an they which you were her all would there their been has when who will more if "
    "out so said what up its about into than them can only other some could these two may "
    "then do first after over such our no how his he she we my your because did does i'm "
    "it's",
    "es": "de la que el en y los se del las un por con no una su para es al lo como más pero sus "
    "le ya este sí porque esta entre cuando muy sin sobre también me hasta hay donde quien "
    "desde todo nos durante todos uno les ni contra otros ese eso ante ellos esto antes "
    "algunos qué unos él otra fue ha han son está están era según tras tiene hoy a va ser mi",
    "pt": "de a o que e do da em um para é com não uma os no se na por mais as dos como mas foi "
    "ao ele das tem à seu sua ou ser quando muito há nos já está eu também só pelo pela até "
    "isso ela entre era depois sem mesmo aos ter seus quem nas me esse eles estão você "
    "tinha foram essa num nem suas meu às minha têm numa pelos elas são",
    "fr": "de la le et les des en un du une que est pour qui dans a par plus pas au sur ne se ce "
    "il sont la avec ils cette aux son mais comme ou si leur y dont elle deux ces même été "
    "nous sa ses fait c'est être sans entre après depuis d'un d'une qu'il l'on ont était "
    "très aussi tout selon n'est où",
    "it": "di che e la il un a per è in una non sono da del si le della con i dei al più ha come "
    "lo nel anche ma dal alla gli ai delle se su loro ed o questo stato nella sua suo fra "
    "tra essere dalla hanno due così tutti era quando prima dopo degli sulla sul ci molto "
    "ne chi cui c'è secondo dell' all' nell' l'",
    "de": "der die und in den von zu das mit sich des auf für ist im dem nicht ein eine als auch "
    "es an werden aus er hat dass sie nach wird bei einer um am sind noch wie einem über "
    "einen so zum war haben nur oder aber vor zur bis mehr durch man sein wurde sei prozent "
    "hatte kann gegen vom können schon wenn habe seine ihre dann unter wir soll ich eines "
    "jahr zwei jahren diese",
    "nl": "de van het een en in is dat op te zijn met voor niet aan er om ook als dan maar bij ze "
    "uit nog door over hij naar heeft hebben werd wordt tot wat deze dit had meer kan onder "
    "na zich worden die ik je haar hun jaar waren zou toen omdat volgens geen",
    "ca": "de la i que el a en els per un les amb una del és no al es més se ho són va però com "
    "aquest aquesta dels ha seva també molt perquè hi seu quan sense fins entre han tot li "
    "ser des ja sobre això",
    "pl": "w i na z się do nie że jest to o jak po co za od tym przez ale dla są jego oraz był "
    "które tak przy może już który czy tylko było być ma ich jej będzie też ze roku także "
    "pod gdy",
    "sv": "och att det i en på är av för som med den till inte har de ett om var men från vid så "
    "han hon kan när eller ut mot skulle efter också sin sitt där nu vi jag detta under "
    "blev",
    "da": "og i at det er en til på af for som med de den der ikke har et om var men fra ved han "
    "så kan når eller efter også sin vil blev hun efter være havde mere nu jeg hvad kun",
    "fi": "ja on ei että se oli hän ovat mutta kun myös joka tai niin kuin sen ole mukaan vuonna "
    "jo tämä voi olla he hänen jos mitä sekä ollut",
    "ro": "de și în a la cu pe că din nu este un o pentru mai care se sunt al au fost prin sau ca "
    "după dar lui are cum când până fi ce acest această",
    "tr": "ve bir bu için de da ile olarak daha çok en olan ne kadar gibi ama sonra var ise değil "
    "göre her mi o olduğu tarafından yıl",
    "cs": "a v se na je že o z do s to i ve pro za k by jsem které po jako ale byl od jsou podle "
    "který už jen když při roku také bude není má nebo aby byla",
    "id": "yang dan di dari untuk dengan ini itu pada tidak dalam akan adalah ke oleh juga "
    "sebagai telah bisa ada atau lebih tahun mereka karena dapat",
}
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]*)?")
_SCRIPTS: Mapping[str, str] = {
    "HIRAGANA": "ja",
    "KATAKANA": "ja",
    "CJK": "zh",
    "HANGUL": "ko",
    "CYRILLIC": "ru",
    "ARABIC": "ar",
    "HEBREW": "he",
    "GREEK": "el",
    "DEVANAGARI": "hi",
    "THAI": "th",
}
NAMES: Mapping[str, str] = {
    "en": "english",
    "es": "spanish",
    "pt": "portuguese",
    "fr": "french",
    "it": "italian",
    "de": "german",
    "nl": "dutch",
    "ca": "catalan",
    "pl": "polish",
    "sv": "swedish",
    "da": "danish",
    "fi": "finnish",
    "ro": "romanian",
    "tr": "turkish",
    "cs": "czech",
    "id": "indonesian",
    "ja": "japanese",
    "zh": "chinese",
    "ko": "korean",
    "ru": "russian",
    "ar": "arabic",
    "he": "hebrew",
    "el": "greek",
    "hi": "hindi",
    "th": "thai",
}
_NO_WORDS = re.compile(r"https?:\S+|www\.\S+|[@#]\w+|(?<![\w-])[\w-]++(?:\.[\w-]++)++\S*")
_READ = 4000  # characters
_FEWEST_WORDS = 3  # function words that are needed for an answer
_MARGIN = 1.3  # times as much as the next language
_KANA_SHARE = 0.1  # of the letters of a Japanese text; Chinese has none
_MIN_SCRIPT = 0.4  # of the letters, beside names in Latin ones
_NAMED = frozenset(NAMES.values())


def detect_language(text: str) -> str | None:
    """Return the ISO 639 code of the language of a text, or None if it is not sure."""
    text = text[:_READ]
    return _language_of_script(text) or _language_of_words(text)


def is_function_word(word: str) -> bool:
    """Return whether a word in lower case, with accents or without, is one of some language."""
    return word in _languages_by_word() or word in _fold_function_words()


@cache
def _languages_by_word() -> Mapping[str, Collection[str]]:
    """Return the languages of each function word; made when first needed, as it takes a while."""
    by_word: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for name, words in _FUNCTION_WORDS.items():
        for word in words.split():
            by_word[word][name] = None
    return dict(by_word)


@cache
def _fold_function_words() -> frozenset[str]:
    return FUNCTION_WORDS.union(*(folded_words(word) for word in _languages_by_word()))


def language_code(name: str) -> str | None:
    """Return the code of a language that is named "es", "es-AR", "Spanish" or "español"."""
    said = name.strip().casefold()
    codes = {full: code for code, full in NAMES.items()} | _OWN_NAMES
    return codes.get(said) or (said[:2] if re.fullmatch(r"[a-z]{2}(?:[-_]\w+)?", said) else None)


def names_language(text: str) -> bool:
    """Return whether a text names a language: "in French", "en francés"."""
    words = _WORD.findall(text.casefold())
    return any(word in _OWN_NAMES or word in _NAMED for word in words)


_OWN_NAMES = {
    "español": "es",
    "castellano": "es",
    "português": "pt",
    "français": "fr",
    "italiano": "it",
    "deutsch": "de",
    "nederlands": "nl",
    "català": "ca",
    "polski": "pl",
    "日本語": "ja",
    "中文": "zh",
    "inglés": "en",
    "francés": "fr",
    "alemán": "de",
    "portugués": "pt",
    "catalán": "ca",
    "japonés": "ja",
    "englisch": "en",
    "spanisch": "es",
    "anglais": "en",
    "espagnol": "es",
}


def _language_of_script(text: str) -> str | None:
    counts: Counter[str] = Counter()
    for letter in filter(str.isalpha, text):
        counts["LATIN" if letter.isascii() else unicodedata.name(letter, "").split(" ")[0]] += 1
    letters = sum(counts.values())
    if not letters or letters == counts["LATIN"]:
        return None
    totals: Counter[str] = Counter()
    for script, count in counts.items():
        if language := _SCRIPTS.get(script):
            totals[language] += count
    if totals["ja"] > _KANA_SHARE * letters:
        return "ja"
    best = max(totals, key=lambda name: totals[name], default=None)
    return best if best and totals[best] >= _MIN_SCRIPT * letters else None


def _language_of_words(text: str) -> str | None:
    words = {word.replace("’", "'") for word in _WORD.findall(_NO_WORDS.sub(" ", text.casefold()))}
    by_word = _languages_by_word()
    counts: Counter[str] = Counter()
    scores: dict[str, float] = {}
    for word in words:
        languages = by_word.get(word) or by_word.get(word.partition("'")[0] + "'", ())
        for name in languages:
            counts[name] += len(word) > 1
            scores[name] = scores.get(name, 0.0) + 1 / len(
                languages
            )  # a word of many languages tells little
    ranked = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))
    if not ranked or counts[ranked[0][0]] < _FEWEST_WORDS:
        return None
    next_best = ranked[1][1] if len(ranked) > 1 else 0.0
    return ranked[0][0] if ranked[0][1] >= _MARGIN * next_best else None
