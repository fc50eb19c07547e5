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
    gonna wanna gotta well wow cool congrats honestly brb mum mom luck yay oh hmm oof ugh ha
    yo mí conmigo vos che hola perdona disculpa dale jaja jajaja porfa porfi
    felicitaciones chicos chicas quiero creo tengo voy estoy soy sé puedo llego espero prefiero
    pienso podés querés sabés tenés estás querías vamos estamos tenemos podemos hacemos nosotros
    ustedes alguien anoche ayer acá recién obvio posta avisen avisame pasame decime mandame
    mandó pasó vieron bueno uh ah ay uf uff ja jeje venga pues anda oye
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

# Words of both news and talk. A statement may have some of them, the more the longer it is.
_SOFT = """
    here there just really pretty so wait stop been done this it's it they them don't can't won't
    doesn't didn't isn't later maybe sure nice great good nobody could would should did does
    why what who where how mind remember forget know think hope idea one
    me te nos gracias perdón mi le les eso esto esa ese así entonces qué quién cuándo ni
    están nadie bien mal igual verdad linda lindo listo tarde pronto ir hacer
    poor pobre vaya menudo menuda mía mío
"""
# Words of talk that are as frequent in news: they count half.
_FAINT = """
    again new then very that he she same today never has are is was
    tu tus muy hoy mañana esta también siempre nunca ya era está hay había donde cuando nada todo
    todos después otra vez final lunes martes miércoles jueves viernes sábado domingo
    still even ever also always too fue son lo aquí ahí abajo dónde cómo
"""
FAINT = frozenset(_FAINT.split())
SOFT = FAINT.union(_SOFT.split())

# "terminé", "salí", "pensaba", "tendríamos", "viste": a Spanish verb that says "I", "we" or "you".
# Names of peoples ("israelí") and nouns ("café", "últimos", "novela") end like one.
_SPOKEN_VERB = re.compile(
    r"(?!caf|prev|beb|comit|ciudadan|israel|iran|saud|marroqu|paquistan|as[ií]|all|aqu|ah)"
    r"(?:[^\W\d_]{2,}(?:é|í|[áé]is|aste|iste|ame|eme|alo|elo)|[a-zñ]{2,}[aei]mos"
    r"|\w+(?:ába|ía)mos)"
)

_WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday"
WEEKDAYS = frozenset(_WEEKDAYS.split())

_FEWEST_WORDS, _MAX_WORDS = 4, 40
_FEWEST_OF_REPLY, _MARGIN_OF_REPLY = 5, 1
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
    r"(?:ur|you(?:['’]re| are| were)|that(?:['’]s| is| was)|i (?:love|hate) (?:you|this)|shut up|"
    r"(?:please )?(?:be quiet|mute|go away)|silencio|basta|stop|sos|eres|est[aá]s|"
    r"te (?:equivoc|amo|odio|quier)\w*|es[eo] (?:es|era|fue)|c[aá]llate)"
    r"\b.{0,40}",
    re.IGNORECASE,
)
_MAX_LAUGHED = 7  # words

# Of talk in a statement that answers one, beside TALK and SOFT.
_ABOUT_ANSWERS = """
    bot bots tweet tweets tuit tuits already though actually literally exactly basically ones
    mismo igual tampoco encima jamás aquel aquellos
"""
_SPOKEN = SOFT | frozenset(_ABOUT_ANSWERS.split())
# Before a headline: "now this one: ", "y este? ", "guys!! ".
_LEAD_IN = re.compile(
    r"\A¿?(?:(?:and|now|ok|look(?: at)?|see|what about|y|ahora|mir[aá]|ojo|a ver|qu[eé] onda con)"
    r",? ){0,2}"
    r"(?:this|here|est[aeo]|ac[aá]|aqu[ií])(?: (?:one|headline|titular|noticia|nota))?[:?] (?=\S)"
    r"|\A(?:(?:omg|lol|wow|uh),? )?(?:look|mir[aáe]n?): |\Ajust in: (?-i:(?=[a-z]))"
    r"|\A(?:guys|folks|everyone|lol|omg|wow|gente|chic[oa]s|ojo|breaking)(?::|!{1,3}) "
    r"(?-i:(?=[^\Wa-z]))",
    re.IGNORECASE,
)
_FORMS_OF_TALK = (
    # What points at a text of an answer: "number 2", "el segundo es", "la de Perón".
    re.compile(
        r"\b(?:n[uú]mero|number|the|el|la) (?:\d\b|\d{4} one\b|one\b|two\b|three\b|uno\b|"
        r"(?:primero|tercero|de|que)\b|(?:first|second|third|last|primera|segund[oa]|tercera|"
        r"[uú]ltim[oa])(?=[,.!]|\Z| (?:one|tweet|is|was|has|got|es|era|fue|me|se|no|lo|habla|tiene"
        r"|est[aá])\b))",
        re.IGNORECASE,
    ),
    # Pronouns beside a verb: "se lo va a tatuar", "preguntale"; not English words that end so.
    re.compile(
        r"\b(?:se|me|te|nos) l[aeo]s?\b|\b(?!(?:miss|mob|automob|frag|host|text|juven|prof|rept|"
        r"volat|fut|versat|project|percent|crocod|domic|mercant|ster|infant|meanwh|worthwh)"
        r"ile\b|(?:fem|wholes|res|upsc|inh|exh)ale\b|clientele\b)"
        r"\w{2,}(?:\w[aei]le|n[ls]elo|nl[aeo])\b",
        re.IGNORECASE,
    ),
    # How a sentence begins that leaves out whom or what it is about.
    re.compile(
        r"^\W*(?:going to|and|but|no,|lo|le|les|que|est[aeo]|va|vale|era|o (?:sea|es)|s[ií]|pero|y"
        r"|a ver|hay que) ",
        re.IGNORECASE,
    ),
    # At somebody's: "en lo de Eva".
    re.compile(r"\blo de [^\W\d_]|\bat [^\W\d_]{2,20}['’]s\b"),
    # An aside: ", increíble", ", por cierto".
    re.compile(
        r", (?:(?:por|no|not|sin|como|muy|tan|so|as|always|siempre) )?[a-záéíóúñ]{1,20}[.!…]*\Z"
    ),
    # Contractions: "that's", "we'll". "Trump's" is none.
    re.compile(
        r"\b(?:it|s?he|that|there|here|what|who|where|how)['’]s\b|\w['’](?:re|ll|ve)\b"
        r"|\b(?:that|there|here|what|who|where|how)s\b",
        re.IGNORECASE,
    ),
    # Appointments: "a las 6 hay reunión", "lunch, 1pm".
    re.compile(
        r"\ba las? \d{1,2}(?![\d.])|\bat (?:1?\d|2[0-4])(?::\d\d)?(?= on\b|\W*\Z)"
        r"|\b\d{1,2} ?[ap]m\b",
        re.IGNORECASE,
    ),
    # Cries: "2015!! So late".
    re.compile(r"[!?]{2}"),
)
# Points for talk, and for news.
_TALK_POINTS, _SOFT_POINTS, _FAINT_POINTS = 6, 2, 1  # of a word
_FEWEST_OF_NEWS = 6  # words; each one more or less is worth
_WORD_POINTS = 0.5
_NAME_POINTS, _LOWER_POINTS, _SPEECH_POINTS = 3, -3, 2
_FEWEST_OF_LOWER = 6  # words of a headline that does not begin with a capital


def looks_like_headline(text: str) -> bool:
    """Return whether a message may be news: a link, or a statement in news style.

    Headlines are one line, most have a name within, and few say "I" or "you". Emoji decide nothing.
    """
    return first_link(text.strip()) is not None or _tells_news(text, fewest=_FEWEST_WORDS)


def is_plain_news(text: str) -> bool:
    """Return whether a text is plainly news. What is said in reply to the bot must be that to be
    searched for: "That's wrong, he wrote it in 2019" has a number, too."""
    return _tells_news(text, fewest=_FEWEST_OF_REPLY, margin=_MARGIN_OF_REPLY)


def _tells_news(text: str, *, fewest: int, margin: float = 0) -> bool:
    # Channels post the article below its headline.
    text = _LEAD_IN.sub("", _strip_emoji(first_paragraph(text.strip())), count=1)
    words = _WORD.findall(text)
    if "\n" in text or len(text) > _LONGEST or has_smiley(text):
        return False
    lower = text[:1].islower() or not words or words[0][0].islower()
    if not (_FEWEST_OF_LOWER if lower else fewest) <= len(words) <= _MAX_WORDS:
        return False
    if text.endswith("?") and "¿" not in text and not _in_title_case(words):
        return False
    return not is_talk(text, margin=margin)


def is_talk(text: str, *, margin: float = 0) -> bool:
    """Return whether a statement has more of talk than its length and form allow in news."""
    text = _strip_emoji(text)
    talk = _count_talk(text)
    return talk > 0 and talk + margin >= _count_news(text)


def _strip_emoji(text: str) -> str:
    """Return a text without emoji and flags."""
    return _EMOJI.sub(" ", text).strip()


def _count_news(text: str) -> float:
    """Return the points for news: for length, a name within, and speech told with a colon or in
    quotation marks. A beginning in lower case takes from them."""
    words = _WORD.findall(text)
    reports = ": " in text or _QUOTED.search(text) is not None
    points = _WORD_POINTS * (len(words) - _FEWEST_OF_NEWS)
    points += _NAME_POINTS * _has_name(words) + _SPEECH_POINTS * reports
    return points + _LOWER_POINTS * text[:1].islower()


def _count_talk(text: str) -> int:
    """Return the points for talk: for words outside of quotations, names and title case, and for
    what is never news."""
    text = _QUOTED.sub(" ", text)
    words = _WORD.findall(text)
    titled = _in_title_case(words, fewest=3)
    first = () if titled else (word for word in words[:1] if not word.isupper())
    plain = {_fold_word(word) for word in (*first, *filter(_is_plain, words))}
    talk = {word for word in plain if word in TALK or is_laughter(word)}
    soft = {word for word in plain if word in _SPOKEN or _SPOKEN_VERB.fullmatch(word)} - talk
    forms = 0 if titled else sum(form.search(text) is not None for form in _FORMS_OF_TALK)
    points = _TALK_POINTS * (len(talk) + forms) + _SOFT_POINTS * len(soft - FAINT)
    return points + _FAINT_POINTS * len(soft & FAINT)


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


def is_in_title_case(text: str) -> bool:
    """Return whether a text is in the title case of English headlines."""
    return _in_title_case(_WORD.findall(text), fewest=4)


def _in_title_case(words: list[str], *, fewest: int = 2) -> bool:
    """Return whether the words are in the title case of English headlines, at least `fewest` longer
    ones."""
    longer = [word for word in words[1:] if len(word) > 3 and not word[0].isdigit()]
    capitals = sum(word[0].isupper() for word in longer)
    return len(longer) >= fewest and capitals >= _TITLE_CASE * len(longer)


def _has_name(words: list[str]) -> bool:
    """Return whether a word within is in upper case: a name, as a rule."""
    return any(word[0].isupper() and not _is_plain(word) for word in words[1:])


def _is_plain(word: str) -> bool:
    """Return whether a word is neither a name nor a number."""
    return word[0].islower() or _SAYS_I.fullmatch(word) is not None or word.lower() in WEEKDAYS
