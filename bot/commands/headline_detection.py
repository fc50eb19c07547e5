"""Tells headlines from talk: by their form, in English and Spanish."""

import re

from engine.page.article import first_link
from engine.prophecy.headline import first_paragraph

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

# Those of people who speak about themselves or to somebody.
_PERSONAL_WORDS = """
    i i'm i'd i'll i've me my mine myself we we're we'll we've us our ours you you're you'll your
    yours u ur im
    me te nos mi tu yo mí conmigo vos quiero creo tengo voy estoy soy sé puedo llego espero prefiero
    pienso podés querés sabés tenés estás estamos tenemos podemos
"""
_PERSONAL = frozenset(_PERSONAL_WORDS.split())

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

_FEWEST_WORDS, _MAX_WORDS = 4, 40
_FEWEST_OF_REPLY = 5
_LONGEST = 300
_LONG = 10  # words; small talk is shorter
_TITLE_CASE = 0.6  # share of longer words that begin with a capital

_WORD = re.compile(r"\w+(?:['’]\w+)*")
_QUOTED = re.compile(r"[\"“«‘].{1,300}?[\"”»’](?!\w)|(?<!\w)'.{1,300}?'(?!\w)")
_SMILEYS = re.compile("[\U0001f000-\U0001faff\u2600-\u27bf]|[:;=]-?[()DPp](?!\\w)|<3")
_SAYS_I = re.compile(r"I(?:['’]\w+)?")
_LAUGHTER = re.compile(
    r"a?(?:j++[aeiou]++){2,}+j*|(?:b?[aw]*+h++[aeiu]++){2,}+h*|lo+l+|lmf?ao+|rofl|xd+"
)

# What people say to the bot among others, and expect no search for.
_TO_ME = re.compile(
    r"(?:you(?:['’]re| are| were)|that(?:['’]s| is| was)|i (?:love|hate) (?:you|this)|shut up|"
    r"(?:please )?(?:be quiet|mute|go away)|silencio|basta|stop|sos|eres|est[aá]s|"
    r"te (?:equivoc|amo|odio|quier)\w*|es[eo] (?:es|era|fue)|c[aá]llate)"
    r"\b.{0,40}",
    re.IGNORECASE,
)
_MAX_LAUGHED = 7  # words

# A reply that begins with one of these is about what it replies to.
_OPENS_WORDS = """
    that that's thats this it it's he he's she she's they but and so because which wow lol omg oh
    yes yeah yep no nope nah ok okay true wrong false i'm i you your you're thanks great nice
    not really maybe what why how who when where hey hi
    eso esa ese esto pero y o porque sí si no ni ay uy che vos tú tu que como quien cuándo cuando
    gracias buen buenísimo genial bueno dale ja él ella son está era
"""
_OPENS_REMARK = frozenset(_OPENS_WORDS.split())

_DISPUTE_WORDS = """
    lol lmao omg bullshit bs nonsense bot wtf idk imo imho tbh
    jaja jajaja jajajaja mentira mentiroso bolazo verso posta xd
"""
_DISPUTES = frozenset(_DISPUTE_WORDS.split())


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
    if not _FEWEST_WORDS <= len(words) <= _MAX_WORDS:
        return False
    if "\n" in text or words[0][0].islower() or text.endswith("!") or has_smiley(text):
        return False
    return _in_title_case(words) or _tells_news(text)


def is_said_to_me(text: str) -> bool:
    """Return whether a text speaks to the bot or laughs: "you are so dumb", "haha nailed it"."""
    if first_link(text):
        return False
    words = fold_words(text)
    laughs = len(words) <= _MAX_LAUGHED and any(map(is_laughter, words))
    return laughs or _TO_ME.fullmatch(text.strip()) is not None


def talks_to_somebody(text: str) -> bool:
    """Return whether a short text that is no headline says "I" or "you": not "US"."""
    words = _WORD.findall(text)
    folded = {_fold_word(word) for word in words if _is_plain(word)}
    return len(words) < _LONG and bool(folded & _PERSONAL) and not looks_like_headline(text)


def is_news_reply(text: str) -> bool:
    """Return whether a reply to the bot is a headline or a link rather than a remark on what the
    bot said: "That's wrong, he wrote it in 2019" has a number, too."""
    if first_link(text):
        return True
    words = _WORD.findall(first_paragraph(text.strip()))
    folded = [_fold_word(word) for word in words]
    if len(folded) < _FEWEST_OF_REPLY or _DISPUTES & {*folded}:
        return False
    named = _in_title_case([word for word in words if not word[0].isdigit()])
    remarks = folded[0] in _OPENS_REMARK and not named
    return not (remarks or is_laughter(folded[0])) and looks_like_headline(text)


def fold_words(text: str) -> list[str]:
    """Return the words of a text in lower case, with plain apostrophes."""
    return [_fold_word(word) for word in _WORD.findall(text)]


def _fold_word(word: str) -> str:
    return word.lower().replace("’", "'")


def is_laughter(word: str) -> bool:
    """Return whether a word in lower case is laughter: "jajaja", "lol"."""
    return _LAUGHTER.fullmatch(word) is not None


def has_smiley(text: str) -> bool:
    """Return whether an emoji or a smiley is in a text."""
    return _SMILEYS.search(text) is not None


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
    folded = {_fold_word(word) for word in (first, *plain)}
    if folded & TALK:
        return False
    named = len(plain) < len(others)
    if named or len(others) >= _LONG:
        return True
    return not folded & SOFT and not any(map(SPOKEN_VERB.fullmatch, folded))


def _is_plain(word: str) -> bool:
    """Return whether a word is neither a name nor a number."""
    return word[0].islower() or _SAYS_I.fullmatch(word) is not None or word.lower() in WEEKDAYS
