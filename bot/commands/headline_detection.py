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
SPOKEN_VERB = re.compile(r"\w{2,}(?:é|í|aba|amos|emos|imos|aste|iste|ame|eme|alo|elo|ela)")

_WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday"
WEEKDAYS = frozenset(_WEEKDAYS.split())

_FEWEST_WORDS, _MAX_WORDS = 4, 40
_FEWEST_OF_REPLY = 5
_LONGEST = 300
_LONG = 10  # words; small talk is shorter
_TITLE_CASE = 0.6  # share of longer words that begin with a capital

_WORD = re.compile(r"\w+(?:['’]\w+)*")
_QUOTED = re.compile(r"[\"“«‘].{1,300}?[\"”»’](?!\w)|(?<!\w)'.{1,300}?'(?!\w)")
_EMOJI = re.compile(  # and the arrows and joiners beside them
    "[\U0001f000-\U0001faff\u2600-\u27bf\u200d\ufe0f\u20e3\u2190-\u21ff\u2300-\u23ff\u2b00-\u2bff]+"
)
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

# Of talk in a statement that answers one, beside TALK and SOFT.
_ABOUT_ANSWERS = """
    bot bots tweet tweets tuit tuits still even also always already though actually literally
    ever exactly basically too ones es son fue mismo lo igual tampoco encima jamás aquel aquellos
"""
_SPOKEN = SOFT | frozenset(_ABOUT_ANSWERS.split())
_FORMS_OF_TALK = (
    # What points at a text of an answer: "number 2", "el segundo es", "la de Perón".
    re.compile(
        r"\b(?:n[uú]mero|number|the|el|la) (?:\d\b|\d{4} one\b|one\b|two\b|three\b|uno\b|"
        r"(?:primero|tercero|de|que)\b|(?:first|second|third|last|primera|segund[oa]|tercera|"
        r"[uú]ltim[oa])(?=[,.!]|\Z| (?:one|tweet|is|was|has|got|es|era|fue|me|se|no|lo|habla|tiene"
        r"|est[aá])\b))",
        re.IGNORECASE,
    ),
    # Pronouns beside a verb: "se lo va a tatuar", "preguntale".
    re.compile(
        r"\b(?:se|me|te|nos) l[aeo]s?\b|\b\w{2,}(?:\w[aei]le|n[ls]elo|nl[aeo])\b", re.IGNORECASE
    ),
    # How a sentence begins that leaves out whom or what it is about.
    re.compile(
        r"^\W*(?:going to|lo|le|les|que|est[aeo]|va|vale|era|o sea|s[ií]|pero|y) ", re.IGNORECASE
    ),
    # At somebody's: "en lo de Eva".
    re.compile(r"\blo de [^\W\d_]|\bat [^\W\d_]{2,20}['’]s\b"),
    # An aside: ", increíble", ", por cierto".
    re.compile(
        r", (?:(?:por|no|sin|como|muy|tan|so|as|always|siempre) )?[a-záéíóúñ]{1,20}[.!…]*\Z"
    ),
)
_WORTH = 3  # words that news have, too
_NEWS_OVER, _NEWS_FOR_ONE = 4, 5  # words; of every five more, one may be of both
_FEWEST_OF_LOWER = 6  # words of a headline that does not begin with a capital


def looks_like_headline(text: str) -> bool:
    """Return whether an overheard message may be news: a link, or a statement in news style.

    Headlines are one line, begin with a capital, contain a name or a number, and seldom say "I"
    or "you". What is in lower case, or has an emoji or an exclamation mark, must be news without
    any talk. Works for English and Spanish.
    """
    text = text.strip()
    if first_link(text):
        return True
    text = first_paragraph(text).strip()  # channels post the article below its headline
    bare = _strip_emoji(text)
    words = _WORD.findall(bare)
    if not _has_form_of_headline(bare, words) or has_smiley(bare):
        return False
    if bare != text or bare.endswith("!") or words[0][0].islower():
        return is_plain_news(bare)
    return _in_title_case(words) or _tells_news(bare)


def is_plain_news(text: str) -> bool:
    """Return whether a text has the form of news and nothing of talk. What is said in reply to the
    bot must have it to be searched for: "That's wrong, he wrote it in 2019" has a number, too."""
    text = _strip_emoji(first_paragraph(text.strip()))
    words = _WORD.findall(text)
    if not _has_form_of_headline(text, words) or len(words) < _FEWEST_OF_REPLY:
        return False
    if words[0][0].islower() and len(words) < _FEWEST_OF_LOWER:
        return False
    if text.endswith("?") and "¿" not in text and not _in_title_case(words):
        return False
    return not is_talk(text)


def is_talk(text: str) -> bool:
    """Return whether a statement is talk: a longer one may have a word of it and be news."""
    over = max(len(_WORD.findall(text)) - _NEWS_OVER, 0)
    return _count_talk(text) > over // _NEWS_FOR_ONE


def _has_form_of_headline(text: str, words: list[str]) -> bool:
    one_line = len(text) <= _LONGEST and "\n" not in text
    return one_line and _FEWEST_WORDS <= len(words) <= _MAX_WORDS


def _strip_emoji(text: str) -> str:
    """Return a text without emoji and flags."""
    return _EMOJI.sub(" ", text).strip()


def _count_talk(text: str) -> int:
    """Return how many words of a statement are talk, outside of quotations, names and title case;
    what is never news counts as three."""
    text = _QUOTED.sub(" ", text)
    words = _WORD.findall(text)
    titled = _in_title_case(words, fewest=3)
    first = () if titled else (word for word in words[:1] if not word.isupper())
    plain = {_fold_word(word) for word in (*first, *filter(_is_plain, words))}
    talk = {word for word in plain if word in TALK or is_laughter(word)}
    soft = {word for word in plain if word in _SPOKEN or SPOKEN_VERB.fullmatch(word)}
    forms = 0 if titled else sum(form.search(text) is not None for form in _FORMS_OF_TALK)
    return _WORTH * (len(talk) + forms) + len(soft - talk)


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


def _in_title_case(words: list[str], *, fewest: int = 2) -> bool:
    """Return whether the words are in the title case of English headlines, at least `fewest` longer
    ones."""
    longer = [word for word in words[1:] if len(word) > 3]
    capitals = sum(word[0].isupper() or word[0].isdigit() for word in longer)
    return len(longer) >= fewest and capitals >= _TITLE_CASE * len(longer)


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
