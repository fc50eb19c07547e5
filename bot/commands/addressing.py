"""What a message to the bot asks of it: a command in other words, the words around its name, or a
question that goes on with another one."""

import re
from collections.abc import Mapping
from dataclasses import replace

from bot.commands.dialogue_acts import Interpretation, follows_up, interpret_text
from bot.commands.headline_detection import (
    TALK,
    fold_words,
    looks_like_headline,
    talks_to_somebody,
)
from bot.commands.intents import DialogueAct, Intent
from bot.commands.plain_text import SHOWN_BY, find_telling_words, interpret_request, is_remark
from bot.request import Request, Trigger
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


def read_address(request: Request) -> Request:
    """Return a request whose text is what is said to the bot: a question or "picture 2" as the
    command that it means, "anything?" as the message that it replies to.

    A name amid other words divides what is said to the bot from what is said to others. Where none
    of it is said to the bot, `around_name` stays.
    """
    if request.around_name and not request.place.private:
        request = _read_around_name(request, *request.around_name)
        if request.around_name:
            return request
    if request.trigger in (Trigger.OVERHEARD, Trigger.BUTTON) or request.command_call:
        return request
    if bare := _BARE_COMMAND.fullmatch(request.text):
        command = f"/{_BARE_COMMANDS[bare[1].lower()]} {bare[2] or ''}"
        return replace(request, text=command.rstrip())
    interpretation = interpret_request(request)
    return _carry_out(interpretation, request) if interpretation else request


def _carry_out(interpretation: Interpretation, request: Request) -> Request:
    """Return a request for what a question wants, if a command or a search finds it."""
    quoted = request.quoted
    if interpretation.intent is Intent.QUOTED and quoted.text and not quoted.mine:
        return replace(request, text=quoted.text, written_at=quoted.written_at)
    is_question = interpretation.intent.act is DialogueAct.QUESTION
    if not is_question or interpretation.intent in SHOWN_BY | {Intent.PRIVACY}:
        return request
    inline = not request.place.kept  # where only texts are asked for
    if inline and interpretation.intent is Intent.ARCHIVE:
        return request
    return replace(request, text=interpretation.command or request.text)


def _read_around_name(request: Request, before: str, after: str) -> Request:
    """Return a request for the part that is a headline for the bot: what follows the name, or what
    stands before it and a question to the bot, or what texts are asked for about; or for all of it,
    after a greeting."""
    follows = is_remark(before) and _POINTS_AHEAD.search(before) is not None
    tells = not is_remark(after) and not after.endswith("?")
    if looks_like_headline(after) or (follows and tells):
        return replace(request, text=after, around_name=None)
    if looks_like_headline(before) and talks_to_somebody(after):
        return replace(request, text=before, around_name=None)
    question = interpret_text(f"{before} {after}") if after.endswith("?") else None
    if question and question.intent is Intent.TEXTS and question.command:
        return replace(request, text=question.command, around_name=None)
    called = fold_words(before)
    if len(called) > 1:
        return request
    if TALK.issuperset(called):
        return replace(request, text=after, around_name=None)
    return request if _SPOKEN_ABOUT.match(after) else replace(request, around_name=None)


def goes_on_asking(request: Request) -> bool:
    """Return whether a message may follow the question that it replies to: "and tea?"

    Without the bot's name beside it, only if it is plainly a question, as people talk to others
    about an answer too.
    """
    text = request.text.strip()
    if first_link(text) or not find_telling_words(text) or talks_to_somebody(text):
        return False
    if text.endswith("?") or (request.trigger is Trigger.ADDRESSED and follows_up(text)):
        return True
    interpretation = interpret_text(text) if request.trigger is Trigger.ADDRESSED else None
    return interpretation is not None and interpretation.intent.act is DialogueAct.QUESTION
