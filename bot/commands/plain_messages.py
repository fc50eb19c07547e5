"""Classifies a plain message to the bot, and decides how it is answered: by a search, a hint, the
sources of an answer, a reaction, or not at all."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import Enum, auto

from bot.commands.dialogue_acts import Interpretation, interpret_text, is_unclear
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
from bot.i18n.words import Words
from bot.replies.limits import cut
from bot.request import Hint, PlainAnswer, Request, Trigger
from engine.page.article import find_links, first_link
from engine.prophecy.headline import read_headline

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
    if kind := _classify_talk(words):
        return ClassifiedMessage(kind)
    if not words and has_smiley(text):
        return ClassifiedMessage(MessageKind.REMARK)
    return ClassifiedMessage(MessageKind.HEADLINE)


def may_wait(text: str) -> bool:
    """Return whether a message is worth an answer that comes later: not a greeting."""
    return bool(text) and classify_message(text, ()).kind is MessageKind.HEADLINE


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


def _classify_talk(words: list[str]) -> MessageKind | None:
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


def decide_plain_answer(
    request: Request, commands: Collection[str], interpretation: Interpretation | None
) -> PlainAnswer:
    """Return how a plain message to the bot is answered, by what it asks or tells the bot.

    Among others, remarks and replies that are no headlines get no words: they are rarely meant to
    be answered. In private somebody waits for an answer.
    """
    message = classify_message(request.text, commands)
    if interpretation and message.kind is not MessageKind.COMMAND:
        return _answer_interpreted(interpretation, request)
    return _decide_without_act(message, request)


def answer_judged(request: Request, act: DialogueAct) -> PlainAnswer:
    """Return how a message is answered that a model took for a headline or a remark."""
    if act is DialogueAct.HEADLINE:
        return PlainAnswer(searches=True)
    return _decide_without_act(ClassifiedMessage(MessageKind.REMARK), request)


def is_unclear_request(request: Request) -> bool:
    """Return whether a message may want something of the bot, but its words do not tell what."""
    to_me = request.trigger in (Trigger.ADDRESSED, Trigger.REPLY) and request.place.kept
    if not to_me or request.command_call or request.revision or request.written_at is not None:
        return False
    text, around = request.text, request.around_name or ()
    is_talk_alone = _classify_talk(fold_words(text)) is not None
    if is_talk_alone or "\n" in text.strip() or any(map(looks_like_headline, around)):
        return False
    # People speak about the bot as well as to it, and below its answers about anything.
    amid_words = around and not request.place.private
    in_reply = request.trigger is Trigger.REPLY
    would_search = in_reply and is_plain_news(text) and not first_link(text)
    return bool(amid_words or would_search) or is_unclear(text, in_reply=in_reply)


def interpret_request(request: Request) -> Interpretation | None:
    """Return what a message to the bot asks or tells it, or None if it is talk or a headline."""
    if _classify_talk(fold_words(request.text)) or request.written_at is not None:
        return None
    return interpret_text(request.text, in_reply=request.trigger is Trigger.REPLY)


def _answer_interpreted(interpretation: Interpretation, request: Request) -> PlainAnswer:
    """Return the answer to what a message asks or tells the bot, if that is no command that was
    carried out at once."""
    intent, command = interpretation.intent, interpretation.command
    is_question = intent.act is DialogueAct.QUESTION
    match intent:
        case Intent.SOURCE:
            return PlainAnswer(shows_sources=True, rank=interpretation.rank, is_question=True)
        case Intent.BOT:
            hint = Hint.HELP
        case Intent.PRIVACY:
            hint = Hint.PRIVACY
        case Intent.DELETE:
            hint = Hint.DELETION
        case _ if intent.act is DialogueAct.INSTRUCTION or intent in SHOWN_BY:
            hint = Hint.INSTRUCTION
        case _:  # about a message, but none is replied to
            hint = Hint.NONE if request.trigger is Trigger.REPLY else Hint.HELP
    return PlainAnswer(hint=hint, command=command, is_question=is_question)


def _decide_without_act(message: ClassifiedMessage, request: Request) -> PlainAnswer:
    """Return how a message is answered that neither instructs the bot nor asks for sources."""
    among_others, kind = not request.place.private, message.kind
    if among_others and kind is MessageKind.HEADLINE and _opens_with_thanks(request.text):
        kind = MessageKind.THANKS
    if among_others and kind is MessageKind.THANKS:
        return PlainAnswer(reaction=WELCOME)
    if among_others and _wants_no_words(kind, request):
        return PlainAnswer()
    if kind is not MessageKind.HEADLINE:
        return PlainAnswer(hint=_HINTS[kind], command=message.command)
    hint = _choose_hint(request)
    return PlainAnswer(searches=hint is Hint.NONE, hint=hint)


def _wants_no_words(kind: MessageKind, request: Request) -> bool:
    """Return whether a message among others is a remark, or is said about the bot, not to it."""
    if kind is MessageKind.REMARK or is_said_to_me(request.text):
        return True
    if request.around_name and not looks_like_headline(request.text):
        return True
    return kind is MessageKind.HEADLINE and _is_remark_on_message(request)


def _choose_hint(request: Request) -> Hint:
    """Return the hint for a message that may be a headline; none if it is searched for."""
    among_others = not request.place.private
    if _is_remark_on_message(request) or (among_others and _is_no_headline(request)):
        return Hint.HELP
    return Hint.SEARCH if _is_talk_by_name(request) else Hint.NONE


_HINTS: Mapping[MessageKind, Hint] = {
    MessageKind.THANKS: Hint.WELCOME,
    MessageKind.SMALL_TALK: Hint.GREETING,
    MessageKind.REMARK: Hint.GREETING,
    MessageKind.COMMAND: Hint.SLASH,
}


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


def say_hint(answer: PlainAnswer, words: Words) -> str:
    """Return in words what a plain message is answered with in place of a search."""
    headline = words.say("Send me a headline or a link; I look for old tweets that foretold it.")
    text, command = "", words.write_commands(answer.command)
    match answer.hint:
        case Hint.WELCOME:
            text = words.say("You are welcome. Send me another headline whenever you like.")
        case Hint.GREETING:
            greeting = words.say("Hello!")
            text = f"{greeting} {headline}"
        case Hint.HELP | Hint.SEARCH:
            more = words.say("/help lists what else I understand.")
            anyway = f" {_say_how_to_search(words)}" if answer.hint is Hint.SEARCH else ""
            text = f"{headline} {more}{anyway}"
        case Hint.SLASH:
            text = words.say("Commands begin with a slash: {command}", command=answer.command)
            text = cut(text, _LONGEST_HINT)
        case Hint.INSTRUCTION:
            text = words.say("This does it: {command}", command=command)
        case Hint.PRIVACY:
            text = words.say(
                "I keep what I was asked and what I answered; {command} deletes it.",
                command=command,
            )
        case Hint.DELETION:
            text = words.say("I cannot delete what I said; an admin of this chat can.")
    return text


def _say_how_to_search(words: Words) -> str:
    """Return how to search for what does not look like a headline."""
    return words.say(
        "{command} before it searches for it all the same.",
        command=words.write_commands("/prophecy"),
    )
