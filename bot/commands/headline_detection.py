"""Decides when the bot may answer unasked, by telling news from small talk."""

import re

from bot.face.request import Request, Trigger
from engine.chat import Listening
from engine.page.links import first_link
from engine.posting.times import is_quiet
from engine.prophecy.headline import first_paragraph
from engine.search import HIGHEST_JUDGMENT, Prophecy

# Words of people who speak about themselves, to somebody, or about now; rare in news outside of
# quotations.
_TALK = """
    i i'm i'd i'll i've me my mine myself we we're we'll we've us our ours you you're you'll your
    yours u ur im hi hello hey thanks thank please pls sorry ok okay lol haha omg btw yes yeah yep
    nope nah let's lets anyone anybody somebody someone guys everyone tomorrow yesterday tonight
    gonna wanna gotta well wow cool congrats honestly brb mum mom luck yay oh hmm
    yo mí conmigo vos che hola perdona disculpa dale jaja jajaja porfa porfi
    felicitaciones chicos chicas quiero creo tengo voy estoy soy sé puedo llego espero prefiero
    pienso podés querés sabés tenés estás querías vamos estamos tenemos podemos hacemos nosotros
    ustedes alguien anoche ayer acá recién obvio posta avisen avisame pasame decime mandame
    mandó pasó vieron bueno uh ah ay
"""
TALK = frozenset(_TALK.split())

# Words of both news and talk. A sentence with one of them but no name or number is talk.
_SOFT = """
    here there again just new really pretty very so then wait stop been done that this it's it he
    she they them same today don't can't won't doesn't didn't isn't later maybe sure nice great good
    never nobody could would should does did has are is was who what where why how mind remember
    forget know think hope idea one
    me te nos gracias perdón mi tu tus le les muy hoy mañana eso esto esa ese así entonces
    también siempre nunca qué quién dónde cuándo cómo ya ni era está están hay había bien mal igual
    verdad donde
    cuando nadie nada todo todos ir hacer tarde después pronto listo linda lindo otra vez
    final lunes martes miércoles jueves viernes sábado domingo
"""
SOFT = frozenset(_SOFT.split())

# "terminé", "salí", "pensaba", "tendríamos", "viste": a Spanish verb that says "I", "we" or "you".
SPOKEN_VERB = re.compile(r"\w{2,}(?:é|í|aba|amos|emos|imos|aste|iste|ame|eme|alo|elo|ela|anos)")

_WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday"
WEEKDAYS = frozenset(_WEEKDAYS.split())


_FEWEST_WORDS, _MOST_WORDS = 4, 40
_LONGEST = 300
_LONG = 10  # words; small talk is shorter
_TITLE_CASE = 0.6  # share of longer words that begin with a capital
_FEWEST_IN_COMMON = 4  # words; three are a name, or "tonight", "game" and "watching"

_WORD = re.compile(r"\w+(?:['’]\w+)*")
_QUOTED = re.compile(r"[\"“«‘].+?[\"”»’](?!\w)|(?<!\w)'.+?'(?!\w)")
_FACES = re.compile("[\U0001f000-\U0001faff\u2600-\u27bf]|[:;=]-?[()DPp](?!\\w)|<3")
_SAYS_I = re.compile(r"I(?:['’]\w+)?")


def listens(request: Request) -> bool:
    """Return whether the chat's settings allow an answer to this event, before any other work."""
    chat = request.known_chat
    if request.preview or request.place.private:
        return True
    if request.trigger in (Trigger.COMMAND, Trigger.BUTTON):
        return True
    if request.trigger is Trigger.ADDRESSED:
        return chat.listening is not Listening.COMMANDS or request.called is not None
    return chat.listening is Listening.ALL and not is_quiet(chat, request.now)


def looks_like_headline(text: str) -> bool:
    """Return whether an overheard message may be news: a link, or a statement in news style.

    Headlines are one line, begin with a capital, contain a name or a number, and seldom say "I"
    or "you". Works for English and Spanish.
    """
    text = text.strip()
    if first_link(text):
        return True
    text = first_paragraph(text).strip()  # channels post the article below its headline
    if len(text) > _LONGEST:
        return False
    words = _WORD.findall(text)
    if not _FEWEST_WORDS <= len(words) <= _MOST_WORDS:
        return False
    if "\n" in text or words[0][0].islower() or text.endswith("!") or _FACES.search(text):
        return False
    return _in_title_case(words) or _tells_news(text)


def _in_title_case(words: list[str]) -> bool:
    """Return whether the words are in the title case of English headlines."""
    longer = [word for word in words[1:] if len(word) > 3]
    capitals = sum(word[0].isupper() or word[0].isdigit() for word in longer)
    return len(longer) >= 2 and capitals >= _TITLE_CASE * len(longer)


def _tells_news(text: str) -> bool:
    """Return whether a sentence in ordinary case is news, ignoring quotations."""
    if text.endswith("?") and "¿" not in text:
        return False
    first, *others = _WORD.findall(_QUOTED.sub(" ", text)) or [""]
    plain = [word for word in others if _is_plain(word)]
    said = {word.lower().replace("’", "'") for word in (first, *plain)}
    if said & TALK:
        return False
    named = len(plain) < len(others)
    if named or len(others) >= _LONG:
        return True
    return not said & SOFT and not any(map(SPOKEN_VERB.fullmatch, said))


def _is_plain(word: str) -> bool:
    """Return whether a word is neither a name nor a number."""
    return word[0].islower() or _SAYS_I.fullmatch(word) is not None or word.lower() in WEEKDAYS


def worth_saying(prophecy: Prophecy, threshold: int, unjudged_coverage: float) -> bool:
    """Return whether the best hit is good enough to be posted unasked.

    Its judgment (0..6) must reach `threshold`. If it was not judged, it must share four words with
    the headline, and the share of the headline that it covers must reach `unjudged_coverage`.
    """
    if not prophecy.hits:
        return False
    best = prophecy.hits[0]
    judgment = best.parts.get("judgment")
    if judgment is None:
        in_common = len(set(best.matched))
        covered = best.parts.get("lexical") or 0.0
        return in_common >= _FEWEST_IN_COMMON and covered >= unjudged_coverage
    return round(judgment * HIGHEST_JUDGMENT) >= threshold
