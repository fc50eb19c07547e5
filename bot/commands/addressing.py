"""Reads what a message to the bot asks of it: a command in other words, a question that follows
another one, or else a plain message, which is classified once."""

import re
from collections.abc import Collection, Mapping
from dataclasses import replace

from bot.commands.dialogue_acts import (
    Interpretation,
    apply_intent,
    follows_up,
    interpret_text,
)
from bot.commands.headline_detection import (
    TALK,
    fold_words,
    looks_like_headline,
    talks_to_somebody,
)
from bot.commands.intents import DialogueAct, Intent
from bot.commands.plain_messages import (
    SHOWN_BY,
    answer_judged,
    decide_plain_answer,
    find_telling_words,
    interpret_request,
    is_remark,
    is_unclear_request,
)
from bot.request import Request, Trigger
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
    if has_judge and is_unclear_request(request):
        return replace(request, unclear=True)
    if request.around_name and not request.place.private:
        request = _read_around_name(request, *request.around_name)
    if request.trigger in (Trigger.OVERHEARD, Trigger.BUTTON) or request.command_call:
        return request
    if request.around_name and not request.place.private:
        return replace(request, plain_answer=decide_plain_answer(request, commands, None))
    if bare := _BARE_COMMAND.fullmatch(request.text):
        command = f"/{_BARE_COMMANDS[bare[1].lower()]} {bare[2] or ''}"
        return replace(request, text=command.rstrip())
    return _carry_out(interpret_request(request), request, commands)


def apply_judgment(request: Request, commands: Collection[str], intent: Intent | None) -> Request:
    """Return an unclear message as `interpret_message` does, by the intent that a model has found
    in it; if it found none, the words decide."""
    request = replace(request, unclear=False)
    if intent is None:
        return interpret_message(request, commands)
    request = replace(request, around_name=None)
    if intent.act in (DialogueAct.REMARK, DialogueAct.HEADLINE):
        return replace(request, plain_answer=answer_judged(request, intent.act))
    return _carry_out(apply_intent(intent, request.text), request, commands)


def _carry_out(
    interpretation: Interpretation | None, request: Request, commands: Collection[str]
) -> Request:
    """Return a request for what a message asks or tells the bot, or with how it is answered."""
    if interpretation and (meant := _find_meant(interpretation, request)):
        request, interpretation = meant, None
    if request.command_call:
        return request
    answer = decide_plain_answer(request, commands, interpretation)
    return replace(request, plain_answer=answer)


def _find_meant(interpretation: Interpretation, request: Request) -> Request | None:
    """Return a request for what a question wants, if a command or a search finds it."""
    quoted = request.quoted
    if interpretation.intent is Intent.QUOTED and quoted.text and not quoted.mine:
        return replace(request, text=quoted.text, written_at=quoted.written_at)
    is_question = interpretation.intent.act is DialogueAct.QUESTION
    if not is_question or interpretation.intent in SHOWN_BY | {Intent.PRIVACY}:
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
    if first_link(text) or not find_telling_words(text) or talks_to_somebody(text):
        return False
    if text.endswith("?") or (request.trigger is Trigger.ADDRESSED and follows_up(text)):
        return True
    answer = request.plain_answer if request.trigger is Trigger.ADDRESSED else None
    return answer is not None and answer.is_question
