"""Reads what a message to the bot asks of it: a command in other words, a question that follows
another one, or else a plain message, and decides how that is answered: by a search, a hint, the
sources of an answer, a reaction, or not at all."""

import re
from collections.abc import Collection, Mapping
from dataclasses import replace

from bot.commands.dialogue_acts import (
    Interpretation,
    apply_intent,
    follows_up,
    interpret_text,
    is_unclear,
)
from bot.commands.headline_detection import (
    MAX_HEADLINES,
    TALK,
    ClassifiedMessage,
    MessageKind,
    classify_message,
    classify_talk,
    drop_remarks,
    fold_words,
    is_plain_news,
    is_remark,
    is_said_to_me,
    is_talk,
    looks_like_headline,
    opens_with_thanks,
    split_headlines,
    talks_to_somebody,
)
from bot.commands.intents import DialogueAct, Intent
from bot.i18n.words import Words
from bot.replies.limits import cut
from bot.request import Hint, PlainAnswer, Request, Trigger
from db.chat.answers import Questions
from engine.page.article import first_link

# Commands that are written without a slash, in English or Spanish.
_BARE_COMMANDS: Mapping[str, str] = {
    "picture": "picture", "imagen": "picture", "help": "help", "ayuda": "help", "more": "more",
    "más": "more", "mas": "more",
}  # fmt: skip
_BARE_COMMAND = re.compile(
    rf"[¿¡]?({'|'.join(_BARE_COMMANDS)})(?: (\d{{1,3}}))?(?:,? (?:please|por favor))?\s?[?!.]?",
    re.IGNORECASE,
)
# What stands before the bot's name if a headline follows it: "what about this one @bot ...".
_POINTS_AHEAD = re.compile(
    r"\b(?:this|these|here|est[aeo]s?|ést[aeo]s?|ac[aá]|aqu[ií])"
    r"(?: (?:one|headline|news|story|article|titular|noticia|nota))?\s?[:,]?\Z",
    re.IGNORECASE,
)
# What follows the name of somebody who is spoken about: "Luz, @bot is the one I meant".
_SPOKEN_ABOUT = re.compile(
    r"(?:is|isn['’]t|was|says|said|has|found|finds|knows|es|era|fue|dijo|dice|sabe|encontró)\b"
)
_WELCOME = "👍"
_LONGEST_HINT = 300
# Questions that a command answers which may change something, or takes long: it is only named.
_SHOWN_BY = frozenset((Intent.NO_POSTS, Intent.SETTINGS, Intent.FEEDS))
_MARGIN_BY_NAME = -4  # points of talk that a headline by the bot's name may have beyond others
# The same in private, where nobody else is spoken to: a search costs less than a second message.
_MARGIN_IN_PRIVATE = -8
_HINTS: Mapping[MessageKind, Hint] = {
    MessageKind.THANKS: Hint.WELCOME,
    MessageKind.SMALL_TALK: Hint.GREETING,
    MessageKind.REMARK: Hint.ANOTHER,
    MessageKind.COMMAND: Hint.SLASH,
}


def interpret_message(
    request: Request, commands: Collection[str], *, has_judge: bool = False
) -> Request:
    """Return a request whose text is what is said to the bot: a question or "picture 2" as the
    command that it means, "anything?" as the message that it replies to. If that is no command, the
    request says how it is answered. `commands` are the names of all commands.

    A name amid other words divides what is said to the bot from what is said to others. Where none
    of it is said to the bot, `around_name` stays. If a model can be asked, what its words do not
    tell stays `unclear`.
    """
    if has_judge and _is_unclear_request(request):
        return replace(request, unclear=True)
    if request.around_name and not request.place.private:
        request = _read_around_name(request, *request.around_name)
    if request.trigger in (Trigger.OVERHEARD, Trigger.BUTTON) or request.command_call:
        return request
    if request.around_name and not request.place.private:
        return replace(request, plain_answer=_decide_plain_answer(request, commands, None))
    if bare := _BARE_COMMAND.fullmatch(request.text):
        command = f"/{_BARE_COMMANDS[bare[1].lower()]} {bare[2] or ''}"
        return replace(request, text=command.rstrip())
    said = None  # talk and what others wrote ask nothing of the bot
    if request.written_at is None and not classify_talk(fold_words(request.text)):
        said = interpret_text(request.text, in_reply=request.trigger is Trigger.REPLY)
    return _carry_out(said, request, commands)


def apply_judgment(request: Request, commands: Collection[str], intent: Intent | None) -> Request:
    """Return an unclear message as `interpret_message` does, by the intent that a model has found
    in it; if it found none, the words decide."""
    request = replace(request, unclear=False)
    if intent is None:
        return interpret_message(request, commands)
    request = replace(request, around_name=None)
    if intent.act is DialogueAct.HEADLINE:
        return replace(request, plain_answer=PlainAnswer(searches=True))
    if intent.act is DialogueAct.REMARK:
        remark = ClassifiedMessage(MessageKind.REMARK)
        return replace(request, plain_answer=_decide_without_act(remark, request))
    return _carry_out(apply_intent(intent, request.text), request, commands)


def _carry_out(
    interpretation: Interpretation | None, request: Request, commands: Collection[str]
) -> Request:
    """Return a request for what a message asks or tells the bot, or with how it is answered."""
    if interpretation and (meant := _find_meant(interpretation, request)):
        request, interpretation = meant, None
    if request.command_call:
        return request
    answer = _decide_plain_answer(request, commands, interpretation)
    return replace(request, plain_answer=answer)


def _find_meant(interpretation: Interpretation, request: Request) -> Request | None:
    """Return a request for what a question wants, if a command or a search finds it."""
    quoted = request.quoted
    if interpretation.intent is Intent.QUOTED and quoted.text and not quoted.mine:
        return replace(request, text=quoted.text, written_at=quoted.written_at)
    is_question = interpretation.intent.act is DialogueAct.QUESTION
    if interpretation.command.startswith("/picture") and request.place.kept:
        return replace(request, text=interpretation.command)  # which changes nothing
    if not is_question or interpretation.intent in _SHOWN_BY | {Intent.PRIVACY}:
        return None
    inline = not request.place.kept  # where only texts are asked for
    if inline and interpretation.intent is Intent.ARCHIVE:
        return None
    command = interpretation.command
    return replace(request, text=command) if command else None


def _read_around_name(request: Request, before: str, after: str) -> Request:
    """Return a request for the part that is a headline for the bot: what follows the name, or what
    stands before it and a question to the bot; or for all of it, if that plainly instructs the bot,
    asks for texts, or follows a greeting."""
    meant_for_me = _asks_or_instructs(before, after)
    if meant_for_me and first_link(after):  # a feed to follow
        return replace(request, around_name=None)
    follows = is_remark(before) and _POINTS_AHEAD.search(before) is not None
    tells = not is_remark(after) and not after.endswith("?")
    if looks_like_headline(after) or (follows and tells):
        return replace(request, text=after, around_name=None)
    if looks_like_headline(before) and talks_to_somebody(after):
        return replace(request, text=before, around_name=None)
    if meant_for_me:
        return replace(request, around_name=None)
    called = fold_words(before)
    greets = TALK.issuperset(called)
    if len(called) > 1 or (_SPOKEN_ABOUT.match(after) and not greets):
        return request
    return replace(request, text=after if greets else request.text, around_name=None)


def _asks_or_instructs(before: str, after: str) -> bool:
    """Return whether the words around the bot's name instruct it, ask it for texts, or ask for
    anything with a comma before the name: "and tea, @bot, what was said of it?"."""
    said = interpret_text(f"{before} {after}", in_reply=True)
    if said is None:
        return False
    if said.intent is Intent.TEXTS:
        return after.endswith("?") and bool(said.command)
    return before.endswith(",") or said.intent.act is DialogueAct.INSTRUCTION


async def name_question(request: Request, questions: Questions) -> Request:
    """Return a request in which a question in reply to the answer to another is that command.

    Raises StorageError.
    """
    to_me = request.trigger in (Trigger.ADDRESSED, Trigger.REPLY) and request.place.kept
    quoted, event = request.quoted.message, request.quoted_event
    if not (to_me and quoted and event) or request.command_call or not _goes_on_asking(request):
        return request
    place = request.place
    follows = await questions.is_about_question(
        place.platform, place.chat_id, quoted, event, now=request.now
    )
    return replace(request, text=f"/ask {request.text}", unclear=False) if follows else request


def _goes_on_asking(request: Request) -> bool:
    """Return whether a message may follow the question that it replies to: "and tea?"

    Without the bot's name beside it, only if it is plainly a question, as people talk to others
    about an answer too.
    """
    text = request.text.strip()
    if first_link(text) or not drop_remarks(text) or talks_to_somebody(text):
        return False
    if text.endswith("?") or (request.trigger is Trigger.ADDRESSED and follows_up(text)):
        return True
    answer = request.plain_answer if request.trigger is Trigger.ADDRESSED else None
    return answer is not None and answer.is_question


def count_headlines(request: Request) -> int:
    """Return how many headlines of a message are answered, if there are several."""
    headlines = split_headlines(request.text, forwarded=request.written_at is not None)
    return min(len(headlines), MAX_HEADLINES)


def _decide_plain_answer(
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


def _is_unclear_request(request: Request) -> bool:
    """Return whether a message may want something of the bot, but its words do not tell what."""
    to_me = request.trigger in (Trigger.ADDRESSED, Trigger.REPLY) and request.place.kept
    if not to_me or request.command_call or request.revision or request.written_at is not None:
        return False
    text, around = request.text, request.around_name or ()
    is_talk_alone = classify_talk(fold_words(text)) is not None
    if is_talk_alone or "\n" in text.strip() or any(map(looks_like_headline, around)):
        return False
    # People speak about the bot as well as to it, and below its answers about anything.
    amid_words = around and not request.place.private
    in_reply = request.trigger is Trigger.REPLY
    would_search = in_reply and is_plain_news(text) and not first_link(text)
    return bool(amid_words or would_search) or is_unclear(text, in_reply=in_reply)


def _answer_interpreted(interpretation: Interpretation, request: Request) -> PlainAnswer:
    """Return the answer to what a message asks or tells the bot, if that is no command that was
    carried out at once."""
    intent, command = interpretation.intent, interpretation.command
    is_question = intent.act is DialogueAct.QUESTION
    match intent:
        case Intent.SOURCE:
            return PlainAnswer(shows_sources=True, rank=interpretation.rank, is_question=True)
        case Intent.BOT:
            hint = Hint.ABOUT
        case Intent.PRIVACY:
            hint = Hint.PRIVACY
        case Intent.DELETE:
            hint = Hint.DELETION
        case _ if interpretation.is_guess:  # people below an answer asked for no guesses
            hint = Hint.NONE if request.trigger is Trigger.REPLY else Hint.GUESS
        case _ if intent in _SHOWN_BY or (command and not is_question):
            hint = Hint.INSTRUCTION
        case _:  # about a message, but none is replied to; or what is wanted is not plain
            hint = Hint.NONE if request.trigger is Trigger.REPLY else Hint.HELP
    return PlainAnswer(hint=hint, command=command, is_question=is_question)


def _decide_without_act(message: ClassifiedMessage, request: Request) -> PlainAnswer:
    """Return how a message is answered that neither instructs the bot nor asks for sources."""
    among_others, kind = not request.place.private, message.kind
    if among_others and kind is MessageKind.HEADLINE and opens_with_thanks(request.text):
        kind = MessageKind.THANKS
    if among_others and kind is MessageKind.THANKS:
        return PlainAnswer(reaction=_WELCOME)
    if among_others and _wants_no_words(kind, request):
        return PlainAnswer()
    if kind is not MessageKind.HEADLINE:
        return PlainAnswer(hint=_HINTS[kind], command=message.command)
    if _is_remark_on_message(request) or (among_others and _is_no_headline(request)):
        return PlainAnswer(hint=Hint.HELP)
    if _is_talk_by_name(request):
        return PlainAnswer(hint=Hint.SEARCH)
    return PlainAnswer(searches=True)


def _wants_no_words(kind: MessageKind, request: Request) -> bool:
    """Return whether a message among others is a remark, or is said about the bot, not to it."""
    if kind is MessageKind.REMARK or is_said_to_me(request.text):
        return True
    if request.around_name and not looks_like_headline(request.text):
        return True
    return kind is MessageKind.HEADLINE and _is_remark_on_message(request)


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
    return not drop_remarks(text) or talks_to_somebody(text)


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
    more = words.say("/help lists what else I understand.")
    text, command = "", words.write_commands(answer.command)
    match answer.hint:
        case Hint.WELCOME:
            text = words.say("You are welcome. Send me another headline whenever you like.")
        case Hint.GREETING:
            greeting = words.say("Hello!")
            text = f"{greeting} {headline}"
        case Hint.ANOTHER:
            text = words.say("Send me another headline whenever you like.")
        case Hint.ABOUT:
            about = words.say(
                "I am a program that looks in old tweets for one that foretold the news. Send me a"
                " headline or a link, here or in a group that you add me to."
            )
            text = f"{about} {more}"
        case Hint.HELP | Hint.SEARCH:
            text = f"{headline} {more}"
            if answer.hint is Hint.SEARCH:
                anyway = words.say(
                    "{command} before it searches for it all the same.",
                    command=words.write_commands("/prophecy"),
                )
                text = f"{text} {anyway}"
        case Hint.SLASH:
            text = words.say("Commands begin with a slash: {command}", command=answer.command)
            text = cut(text, _LONGEST_HINT)
        case Hint.INSTRUCTION:
            text = words.say("This does it: {command}", command=command)
        case Hint.GUESS:
            guess = words.say("Perhaps this does it: {command}", command=command)
            text = f"{guess}\n{more}"
        case Hint.PRIVACY:
            text = words.say(
                "I keep what I was asked and what I answered; {command} deletes it.",
                command=command,
            )
        case Hint.DELETION:
            text = words.say("I cannot delete what I said; an admin of this chat can.")
    return text
