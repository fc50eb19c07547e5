"""Tells headlines from talk, remarks and commands, by their form, in English and Spanish."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import Enum, auto

from engine.page.article import find_links, first_link
from engine.prophecy.headline import first_paragraph, read_headline

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
_DRAWL = re.compile(r"([^\W\d_])\1{2,}")
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
    # Cries: "2015!! So late", "what??". People end news with "!!" as well.
    re.compile(r"[!?]{2}(?=\W{0,8}\w)|\?[!?]|!\?"),
)
# Points for talk, and for news.
_TALK_POINTS, _SOFT_POINTS, _FAINT_POINTS = 6, 2, 1  # of a word
_FEWEST_OF_NEWS = 6  # words; each one more or less is worth
_WORD_POINTS = 0.5
_NAME_POINTS, _LOWER_POINTS, _SPEECH_POINTS = 3, -3, 2
_FEWEST_OF_LOWER = 6  # words of a headline that does not begin with a capital
_THANKS = frozenset(("thanks", "thank", "thx", "ty", "cheers", "gracias"))
# A message of pleasantries has one of these, and nothing but these and the words around them.
_PLEASANT_WORDS = """
    hi hello hey hiya howdy morning evening afternoon bye goodbye please welcome test testing ping
    sup hola holi buenas buenos chau chao adiós adios prueba probando bienvenido
"""
_AROUND_WORDS = """
    good day night one bot not totally exactly really you u very so much a lot that is it's this was
    for there how are going what what's up
    see later all everyone everybody bot and the to me i am fine
    buen día dia días dias tardes noches muchas muchísimas muchisimas mil de nada hasta luego mañana
    qué que tal cómo como estás estas va todo bien por favor muy a todos y vos el la
"""
_AROUND = frozenset(_AROUND_WORDS.split())
_MAX_PLEASANTRIES = 7  # words
# Pleasantries that have none of those words.
_PHRASES = """
    how are you, how is it going, what's up, are you there, good day, good night, see you,
    see you later, de nada, qué tal, que tal, cómo estás, como estas, hasta luego, estás ahí,
    buen día
"""
_TIMES = r"(?:daily|instant|off|best|threshold|at|\d{1,2}(?::\d\d)?(?:\s?[ap]m)?)\b.*"
_SETTING = (
    r"(?:language|listening|mentions|replies|headlines|threshold|timezone|quiet|picture|corpus|"
    r"answers)\b.*"
)
_LOWER_CASE_ONLY = frozenset({"find", "ask", "prophecy", "corpus", "help"})
_FEWEST_BESIDE_REMARKS = 3  # words that make a headline
FEWEST_WITHOUT_PAGE = 2  # if the page beside them cannot be read
_BESIDE_LINKS = """
    look at check out read watch see can believe guy guys article link news story someone sent
    from by on in of about what an must interesting funny crazy unbelievable
    miren mira mirá lean lee leé leer vean ve fíjate fijate nota noticia artículo enlace link
    increíble que un una los las en me lo mandaron pasaron vi
"""
MAX_HEADLINES = 3  # of a message
_NUMBER = re.compile(r"(?:\d{1,2}[.):]|[-*•–])\s+(?=\S)")
_REMARK_WORDS = """
    ok okay yes yeah yep yup no nope nah sure great nice cool awesome perfect wow lol lmao rofl xd
    sorry amazing congrats wrong true false fake funny hilarious correct nonsense genius legend
    spooky creepy love damn omg bad good best
    sí si vale dale bueno genial perfecto perdón perdon felicitaciones listo mal mentira falso
    cierto verdad genio crack ídolo idolo groso increíble increible tremendo brillante
    buenísimo buenisimo espeluznante gracioso
"""
_REMARKING = frozenset(_REMARK_WORDS.split())
_PLEASANTRIES = _THANKS | _REMARKING | frozenset(_PLEASANT_WORDS.split())
_ABOUT_ME = frozenset(" ".join(phrase.split()) for phrase in _PHRASES.split(","))
# The arguments with which the name of a command, as a first word, is no headline.
_ARGUMENTS: Mapping[str, str] = {
    "why": r"\d{1,3}",
    "picture": r"\d{1,3}",
    "help": r"[a-z]+",
    "subscribe": _TIMES,
    "settings": _SETTING,
    "feeds": r"(?:list|add|remove|test|import|export)\b.*",
    "glossary": r"(?:list|add|approve|reject)\b.*",
    "corpus": r"[\w-]+",
    # In lower case only, see below.
    "find": r".+",
    "ask": r".+",
    "prophecy": r".+",
}
_REMARKS = TALK | SOFT | _PLEASANTRIES | _AROUND | frozenset(_BESIDE_LINKS.split())


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
    text = _LEAD_IN.sub("", _strip_emoji(first_paragraph(text.strip())))
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
    # A word within that is in upper case is a name, as a rule.
    has_name = any(word[0].isupper() and not _is_plain(word) for word in words[1:])
    reports = ": " in text or _QUOTED.search(text) is not None
    points = _WORD_POINTS * (len(words) - _FEWEST_OF_NEWS)
    points += _NAME_POINTS * has_name + _SPEECH_POINTS * reports
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
    return _shorten_drawl(word.lower().replace("’", "'"))


def _shorten_drawl(word: str) -> str:
    """Return a word without letters that are drawn out: "holaaa", "nooo"."""
    return _DRAWL.sub(r"\1", word)


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


def _is_plain(word: str) -> bool:
    """Return whether a word is neither a name nor a number."""
    return word[0].islower() or _SAYS_I.fullmatch(word) is not None or word.lower() in WEEKDAYS


class MessageKind(Enum):
    """The kinds of plain messages. Only headlines are searched for."""

    HEADLINE = auto()
    SMALL_TALK = auto()
    REMARK = auto()  # on what the bot said: laughter, praise, doubt
    THANKS = auto()
    COMMAND = auto()  # without its slash


@dataclass(frozen=True, slots=True)
class ClassifiedMessage:
    """What a message is. `command` is the command line that the person may have meant."""

    kind: MessageKind
    command: str = ""


def classify_message(text: str, commands: Collection[str]) -> ClassifiedMessage:
    """Return what a message to the bot is. `commands` are the names of all commands."""
    if command := _read_command_line(text.strip(), commands):
        return ClassifiedMessage(MessageKind.COMMAND, command)
    words = fold_words(text)
    if kind := classify_talk(words):
        return ClassifiedMessage(kind)
    if not words and has_smiley(text):
        return ClassifiedMessage(MessageKind.REMARK)
    return ClassifiedMessage(MessageKind.HEADLINE)


def may_wait(text: str) -> bool:
    """Return whether a message is worth an answer that comes later: not a greeting."""
    return bool(text) and classify_message(text, ()).kind is MessageKind.HEADLINE


def is_remark(text: str) -> bool:
    """Return whether the text beside a link is only a remark about it: "look at this! lol"."""
    return len(drop_remarks(text)) < _FEWEST_BESIDE_REMARKS


def drop_remarks(text: str) -> list[str]:
    """Return the words of a text without those of mere remarks: "look at this! lol"."""
    return [word for word in fold_words(text) if word not in _REMARKS]


def split_headlines(text: str, *, forwarded: bool = False) -> tuple[str, ...]:
    """Return the headlines or links of a message that has several: one a line, or numbered, or
    links with no more than a remark. Else nothing.

    A headline and its link on the next line are one; so is a `forwarded` headline with what stands
    below it, unless the lines are numbered.
    """
    links = tuple(dict.fromkeys(find_links(text)))
    if len(links) > 1 and is_remark(read_headline(text).text):
        return links
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) > 2 and lines[0].endswith(":"):
        del lines[0]
    numbered = len(lines) > 1 and all(map(_NUMBER.match, lines))
    if forwarded and not numbered:
        return ()
    if numbered:
        pieces = [_NUMBER.sub("", line, count=1) for line in lines]
        fit = (
            first_link(line) or len(fold_words(line)) >= _FEWEST_BESIDE_REMARKS for line in pieces
        )
    else:
        pieces = _join_links(lines)
        fit = (not line.endswith(".") and looks_like_headline(line) for line in pieces)
    return tuple(pieces) if len(pieces) > 1 and all(fit) else ()


def _join_links(lines: list[str]) -> list[str]:
    """Return the lines, each link below the headline that it belongs to beside it."""
    joined: list[str] = []
    for line in lines:
        bare = first_link(line) is not None and not read_headline(line).text
        if bare and joined and first_link(joined[-1]) is None:
            joined[-1] += f" {line}"
        else:
            joined.append(line)
    return joined


def classify_talk(words: list[str]) -> MessageKind | None:
    """Return the kind of talk, or None if it may be something else."""
    if " ".join(words) in _ABOUT_ME:
        return MessageKind.SMALL_TALK
    if len("".join(words)) == 1:
        return MessageKind.REMARK  # "k"
    telling = [word for word in words if word not in _AROUND and not is_laughter(word)]
    if len(words) > _MAX_PLEASANTRIES or any(word not in _PLEASANTRIES for word in telling):
        return None
    if _THANKS & {*telling}:
        return MessageKind.THANKS
    if _REMARKING & {*(telling or words)} or any(map(is_laughter, words)):
        return MessageKind.REMARK  # "good bot" has nothing else to tell
    return MessageKind.SMALL_TALK if telling else None


def _read_command_line(text: str, commands: Collection[str]) -> str:
    """Return the command line that a text without a slash stands for, or ""."""
    name, _, argument = text.partition(" ")
    lowered, argument = name.lower().rstrip("!.?"), argument.strip()
    if lowered not in commands:
        return ""
    if not argument:
        return f"/{lowered}"
    pattern = _ARGUMENTS.get(lowered)
    fits = pattern and re.fullmatch(pattern, argument, re.IGNORECASE | re.DOTALL)
    if not fits or (lowered in _LOWER_CASE_ONLY and not name.islower()):
        return ""
    return f"/{lowered} {argument}"


def opens_with_thanks(text: str) -> bool:
    """Return whether talk begins with thanks: "thank you so much, made my morning"."""
    return not _THANKS.isdisjoint(fold_words(text)[:1]) and "?" not in text and is_talk(text)
