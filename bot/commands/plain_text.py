"""Tells what a plain message to the bot is, before anything is searched: a headline, small talk, a
question, or a command without its slash."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto

from bot.commands.dialogue_acts import Interpretation, apply_intent, interpret_text, is_unclear
from bot.commands.headline_detection import (
    SOFT,
    TALK,
    fold_words,
    has_smiley,
    is_laughter,
    is_plain_news,
    is_said_to_me,
    is_talk,
    looks_like_headline,
    talks_to_somebody,
)
from bot.commands.intents import DialogueAct, Intent
from bot.replies.limits import cut
from bot.request import Request, Trigger
from engine.feeds.decide import is_near_duplicate, words_of
from engine.page.article import find_links, first_link
from engine.posting.choose import check_judgment, judgment_of
from engine.posting.schedule import is_quiet
from engine.prophecy.headline import read_headline
from engine.search import HitKind, Prophecy

_FEWEST_IN_COMMON = 4  # words; three are a name, or "tonight", "game" and "watching"
_THANKS_WORDS = "thanks thank thx ty cheers gracias"
_THANKS = frozenset(_THANKS_WORDS.split())
WELCOME = "👍"
# A message of pleasantries has one of these, and nothing but these and the words around them.
_PLEASANT_WORDS = """
    hi hello hey hiya howdy morning evening afternoon bye goodbye please welcome test testing ping
    sup hola holi buenas buenos chau chao adiós adios prueba probando bienvenido
"""
_AROUND_WORDS = """
    good day night one bot not totally exactly really you u very so much a lot that is it's this was
    for there how are going what's up
    see later all everyone everybody bot and the to me i am fine
    buen día dia días dias tardes noches muchas muchísimas muchisimas mil de nada hasta luego mañana
    qué que tal cómo como estás estas va todo bien por favor muy a todos y vos el la
"""
_AROUND = frozenset(_AROUND_WORDS.split())
_MAX_PLEASANTRIES = 7  # words
_LONGEST_HINT = 300
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
_FEWEST_TELLING = 3  # words that make a headline
_FEWEST_WITHOUT_PAGE = 2  # if the page beside them cannot be read
_BESIDE_LINKS = """
    look at check out read watch see can believe guy guys article link news story someone sent
    from by on in of about what an must interesting funny crazy unbelievable
    miren mira mirá lean lee leé leer vean ve fíjate fijate nota noticia artículo enlace link
    increíble que un una los las en me lo mandaron pasaron vi
"""
MAX_HEADLINES = 3  # of a message
# Questions that a command answers which may change something, or takes long: it is only named.
SHOWN_BY = frozenset((Intent.NO_POSTS, Intent.SETTINGS, Intent.FEEDS))
_MARGIN_BY_NAME = -4  # points of talk that a headline by the bot's name may have beyond others
# The same in private, where nobody else is spoken to: a search costs less than a second message.
_MARGIN_IN_PRIVATE = -8
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


def may_be_answered(request: Request) -> bool:
    """Return whether the chat's settings allow an answer to this event, before any other work."""
    chat, listening = request.known_chat, request.known_chat.listening
    if request.place.private:
        return True
    match request.trigger:
        case Trigger.COMMAND | Trigger.BUTTON:
            return True
        case Trigger.ADDRESSED:
            return listening.mentions or request.command_call is not None
        case Trigger.REPLY:
            return listening.replies
        case Trigger.OVERHEARD:
            return listening.headlines and not is_quiet(chat, request.now)


def worth_saying(prophecy: Prophecy, threshold: HitKind, unjudged_coverage: float) -> bool:
    """Return whether the best hit is good enough to be posted unasked.

    It must be good enough for a post, and of no later kind than `threshold`. If it was not judged,
    it must share four words with the headline, and cover `unjudged_coverage` of it.
    """
    if not prophecy.hits:
        return False
    best = prophecy.hits[0]
    if judgment_of(best) is None:
        in_common = len(set(best.matched))
        covered = best.parts.get("lexical") or 0.0
        return in_common >= _FEWEST_IN_COMMON and covered >= unjudged_coverage
    return check_judgment(best, threshold) is None


def repeats_headline(text: str, headline: str) -> bool:
    """Return whether a text tells a headline again: in almost the same words, or with more around
    them, such as a quotation."""
    words, told = words_of(text), words_of(headline)
    quoted = len(told) >= _FEWEST_IN_COMMON and {*told} <= {*words}
    return quoted or is_near_duplicate(words, told)


class Plain(Enum):
    """The kinds of plain messages. Only headlines are searched for."""

    HEADLINE = auto()
    SMALL_TALK = auto()
    REMARK = auto()  # on what the bot said: laughter, praise, doubt
    THANKS = auto()
    HELP = auto()  # asks for it
    COMMAND = auto()  # without its slash


@dataclass(frozen=True, slots=True)
class PlainText:
    """What a message is. `meant` is the command line that the person may have meant."""

    kind: Plain
    meant: str = ""


def read_plain(text: str, commands: frozenset[str]) -> PlainText:
    """Return what a message to the bot is. `commands` are the names of all commands."""
    if meant := _read_command_line(text.strip(), commands):
        return PlainText(Plain.COMMAND, meant)
    words = fold_words(text)
    if kind := _read_talk(words):
        return PlainText(kind)
    if not words and has_smiley(text):
        return PlainText(Plain.REMARK)
    return PlainText(Plain.HEADLINE)


def may_wait(text: str) -> bool:
    """Return whether a message is worth an answer that comes later: not a greeting."""
    return bool(text) and read_plain(text, frozenset()).kind is Plain.HEADLINE


def is_remark(text: str) -> bool:
    """Return whether the text beside a link is only a remark about it: "look at this! lol"."""
    return len(find_telling_words(text)) < _FEWEST_TELLING


def tells_something(text: str) -> bool:
    """Return whether a text beside a link has two words to search for: "lol Musk fined again"."""
    return len(find_telling_words(text)) >= _FEWEST_WITHOUT_PAGE


def find_telling_words(text: str) -> list[str]:
    """Return the words of a text that are not only a remark."""
    words = fold_words(text)
    return [word for word in words if word not in _REMARKS]


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
    pieces = [_NUMBER.sub("", line, count=1) for line in lines] if numbered else _join_links(lines)
    fits = _is_listed_headline if numbered else _is_headline_line
    return tuple(pieces) if len(pieces) > 1 and all(map(fits, pieces)) else ()


def count_headlines(request: Request) -> int:
    """Return how many headlines of a message are answered, if there are several."""
    headlines = split_headlines(request.text, forwarded=request.written_at is not None)
    return min(len(headlines), MAX_HEADLINES)


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


def _is_listed_headline(line: str) -> bool:
    return first_link(line) is not None or len(fold_words(line)) >= _FEWEST_TELLING


def _is_headline_line(line: str) -> bool:
    return not line.endswith(".") and looks_like_headline(line)


def _read_talk(words: list[str]) -> Plain | None:
    """Return the kind of talk, or None if it may be something else."""
    if " ".join(words) in _ABOUT_ME:
        return Plain.SMALL_TALK
    if len("".join(words)) == 1:
        return Plain.REMARK  # "k"
    telling = [word for word in words if word not in _AROUND and not is_laughter(word)]
    if len(words) > _MAX_PLEASANTRIES or any(word not in _PLEASANTRIES for word in telling):
        return None
    if _THANKS & {*telling}:
        return Plain.THANKS
    if _REMARKING & {*(telling or words)} or any(map(is_laughter, words)):
        return Plain.REMARK  # "good bot" has nothing else to tell
    return Plain.SMALL_TALK if telling else None


def _read_command_line(text: str, commands: frozenset[str]) -> str:
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


@dataclass(frozen=True, slots=True)
class PlainAnswer:
    """How a plain message is answered: by a search, with the sources of an answer, with a hint, or
    with no more than a reaction, which may be none."""

    searches: bool = False
    sources: Interpretation | None = None
    hint: str = ""
    reaction: str = ""


def decide_plain_answer(request: Request, commands: frozenset[str]) -> PlainAnswer:
    """Return how a plain message to the bot is answered.

    Among others, remarks and replies that are no headlines get no words: they are rarely meant to
    be answered. In private somebody waits for an answer.
    """
    plain = read_plain(request.text, commands)
    if request.judged_as == Intent.REMARK:
        return _decide_without_act(PlainText(Plain.REMARK), request)
    if request.judged_as in (Intent.HEADLINE, Intent.TOPIC):
        return PlainAnswer(searches=True)
    if request.around_name and not request.place.private:
        return _decide_without_act(plain, request)
    if plain.kind is not Plain.COMMAND and (interpretation := interpret_request(request)):
        return _answer_interpreted(interpretation, request)
    return _decide_without_act(plain, request)


def interpret_request(request: Request) -> Interpretation | None:
    """Return what a message to the bot asks or tells it, or None if it is talk or a headline."""
    if request.judged_as:
        return apply_intent(Intent(request.judged_as), request.text)
    if _read_talk(fold_words(request.text)) or request.written_at is not None:
        return None
    return interpret_text(request.text, in_reply=request.trigger is Trigger.REPLY)


def is_unclear_request(request: Request) -> bool:
    """Return whether a message may want something of the bot, but its words do not tell what."""
    to_me = request.trigger in (Trigger.ADDRESSED, Trigger.REPLY) and request.place.kept
    if not to_me or request.command_call or request.revision or request.written_at is not None:
        return False
    text, around = request.text, request.around_name or ()
    if "\n" in text.strip() or any(map(looks_like_headline, around)):
        return False
    in_reply = request.trigger is Trigger.REPLY
    return _read_talk(fold_words(text)) is None and is_unclear(text, in_reply=in_reply)


def _answer_interpreted(interpretation: Interpretation, request: Request) -> PlainAnswer:
    """Return the answer to what a message asks or tells the bot, if that is no command that was
    carried out at once."""
    words, intent = request.words, interpretation.intent
    match intent:
        case Intent.SOURCE:
            return PlainAnswer(sources=interpretation)
        case Intent.BOT:
            return PlainAnswer(hint=_hint_for(PlainText(Plain.HELP), request))
        case Intent.PRIVACY:
            hint = words.say(
                "I keep what I was asked and what I answered; {command} deletes it.",
                command=words.write_commands(interpretation.command),
            )
        case Intent.DELETE:
            hint = words.say("I cannot delete what I said; an admin of this chat can.")
        case _ if intent.act is DialogueAct.INSTRUCTION or intent in SHOWN_BY:
            written = words.write_commands(interpretation.command)
            hint = words.say("This does it: {command}", command=written)
        case _:  # about a message, but none is replied to
            replies = request.trigger is Trigger.REPLY
            hint = "" if replies else _hint_for(PlainText(Plain.HELP), request)
    return PlainAnswer(hint=hint)


def _decide_without_act(plain: PlainText, request: Request) -> PlainAnswer:
    """Return how a message is answered that neither instructs the bot nor asks for sources."""
    among_others = not request.place.private
    if plain.kind is Plain.HEADLINE and among_others and _opens_with_thanks(request.text):
        plain = PlainText(Plain.THANKS)
    if plain.kind is Plain.THANKS and among_others:
        return PlainAnswer(reaction=WELCOME)
    if among_others and (plain.kind is Plain.REMARK or is_said_to_me(request.text)):
        return PlainAnswer()
    if among_others and request.around_name and not looks_like_headline(request.text):
        return PlainAnswer()
    if plain.kind is Plain.HEADLINE:
        remarks = _is_remark_on_message(request)
        if remarks and among_others:
            return PlainAnswer()
        if remarks or (among_others and _is_no_headline(request)):
            plain = PlainText(Plain.HELP)
        elif _is_talk_by_name(request):
            return PlainAnswer(hint=_hint_at_search(request))
    hint = _hint_for(plain, request)
    return PlainAnswer(searches=not hint, hint=hint)


def _opens_with_thanks(text: str) -> bool:
    """Return whether talk begins with thanks: "thank you so much, made my morning"."""
    return not _THANKS.isdisjoint(fold_words(text)[:1]) and "?" not in text and is_talk(text)


def _is_remark_on_message(request: Request) -> bool:
    """Return whether a text is no headline but a remark on the message that it replies to. By the
    bot's name, a text is searched for unless it is talk."""
    text, forwarded = request.text, request.written_at is not None
    if forwarded or split_headlines(text):
        return False
    if request.trigger is Trigger.REPLY:
        return not (first_link(text) or is_plain_news(text))
    return request.quoted.message is not None and not first_link(text) and is_talk(text)


def _is_no_headline(request: Request) -> bool:
    """Return whether what is said to the bot by its name holds nothing to search for: "source?",
    "tell me a joke"."""
    text = request.text
    if request.trigger is not Trigger.ADDRESSED or not text or first_link(text):
        return False
    return not find_telling_words(text) or talks_to_somebody(text)


def _is_talk_by_name(request: Request) -> bool:
    """Return whether what is said to the bot by its name, or in private, is far more talk than
    news: "we missed you, read us the papers again"."""
    text = request.text
    if request.trigger is not Trigger.ADDRESSED or not request.place.kept or first_link(text):
        return False
    pasted = request.written_at is not None or "\n" in text.strip()
    private = request.place.private and not text.endswith("?")
    margin = _MARGIN_IN_PRIVATE if private else _MARGIN_BY_NAME
    return not pasted and is_talk(text, margin=margin)


def _hint_at_search(request: Request) -> str:
    """Return the hint for what may be a headline that does not look like one."""
    words = request.words
    anyway = words.say(
        "{command} before it searches for it all the same.",
        command=words.write_commands("/prophecy"),
    )
    return f"{_hint_for(PlainText(Plain.HELP), request)} {anyway}"


def _hint_for(plain: PlainText, request: Request) -> str:
    """Return what a plain message is answered with in place of a search, or ""."""
    words = request.words
    headline = words.say("Send me a headline or a link; I look for old tweets that foretold it.")
    match plain.kind:
        case Plain.THANKS:
            return words.say("You are welcome. Send me another headline whenever you like.")
        case Plain.SMALL_TALK | Plain.REMARK:
            greeting = words.say("Hello!")
            return f"{greeting} {headline}"
        case Plain.HELP:
            more = words.say("/help lists what else I understand.")
            return f"{headline} {more}"
        case Plain.COMMAND:
            sentence = words.say("Commands begin with a slash: {command}", command=plain.meant)
        case Plain.HEADLINE:
            return ""
    return cut(sentence, _LONGEST_HINT)
