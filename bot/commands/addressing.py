"""What a message to the bot asks of it: a command in other words, the words around its name, or a
question that goes on with another one."""

import re
from collections.abc import Mapping
from dataclasses import replace

from bot.commands.headline_detection import (
    TALK,
    fold_words,
    looks_like_headline,
    talks_to_somebody,
)
from bot.commands.plain_text import find_telling_words, is_remark
from bot.request import Request, Trigger
from engine.page.article import first_link

# What is said to the bot about its answers in place of a command, in English or Spanish.
_BARE_COMMANDS: Mapping[str, str] = {
    "why": "why", "por qué": "why", "por que": "why", "porqué": "why", "porque": "why",
    "more": "more", "más": "more", "mas": "more",
    "another one": "more", "one more": "more", "otra": "more", "otro": "more", "una más": "more",
    "picture": "picture", "imagen": "picture",
    "help": "help", "ayuda": "help",
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
# How texts about something are asked for, with or without the bot's name between: "any tweets",
# "about the wall?".
_WANTS_TEXTS = re.compile(
    r"(?:(?:are|were) there |is there |do you (?:have|know) |have you (?:got )?|got |what |"
    r"(?:show|find|give) me |(?:search|look) for |hay |ten[eé]s |tienes |d[aá]me |"
    r"mostr[aá]me |mu[eé]strame |b[uú]sc[aá](?:me)? )?"
    r"(?:(?:any|some|an?|the|his|her|all|alg[uú]n(?:os)?|un|unos|los|sus|qu[eé]) )?(?:old )?"
    r"(?:tweets?|posts?|tuits?)\s?,?",
    re.IGNORECASE,
)
_ABOUT = re.compile(r"(?:about|on|regarding|sobre|acerca de|de|del)\s+(\S.*)", re.IGNORECASE)
_ASKS_FOR_TEXTS = re.compile(rf"¿?({_WANTS_TEXTS.pattern})\s({_ABOUT.pattern})", re.IGNORECASE)
_LONGEST_SUBJECT = 6  # words: a headline may begin like this, too
# How a message begins that goes on with a question.
_ASKING = re.compile(
    r"(?:(?:and|but|y|pero)\b[\s,]*)?¿?(?:what|who|whom|whose|which|when|where|why|how|did|does|has"
    r"|and|in|before|after|since|about|qué|que|quién|quien|cuándo|cuando|dónde|donde|cómo|como|cuál"
    r"|y|en|antes|después|desde|sobre)\b",
    re.IGNORECASE,
)


def read_address(request: Request) -> Request:
    """Return a request whose text is what is said to the bot, "why 2" as the command that it means.

    A name amid other words divides what is said to the bot from what is said to others. Where none
    of it is said to the bot, `around_name` stays.
    """
    if request.around_name and not request.place.private:
        request = _read_around_name(request, *request.around_name)
    elif subject := _read_wanted_subject(request):
        return replace(request, text=subject)
    found = _BARE_COMMAND.fullmatch(request.text)
    if found is None or request.trigger not in (Trigger.ADDRESSED, Trigger.REPLY):
        return request
    written = f"/{_BARE_COMMANDS[found[1].lower()]} {found[2] or ''}".rstrip()
    return replace(request, text=written)


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
    if after.endswith("?") and (subject := _find_wanted_subject(before, after)):
        return replace(request, text=subject, around_name=None)
    called = fold_words(before)
    if len(called) > 1:
        return request
    if TALK.issuperset(called):
        return replace(request, text=after, around_name=None)
    return request if _SPOKEN_ABOUT.match(after) else replace(request, around_name=None)


def _read_wanted_subject(request: Request) -> str:
    """Return what somebody asks the bot for texts about, in lower case or with a question mark."""
    text = request.text
    asks = text[:1].islower() or text.endswith("?")
    found = _ASKS_FOR_TEXTS.fullmatch(text) if asks else None
    if found is None or (request.trigger is Trigger.OVERHEARD and not request.place.private):
        return ""
    subject = _find_wanted_subject(found[1], found[2])
    return subject if len(subject.split()) <= _LONGEST_SUBJECT else ""


def _find_wanted_subject(before: str, after: str) -> str:
    """Return what texts are asked for about, if that tells anything; else ""."""
    about = _ABOUT.fullmatch(after) if _WANTS_TEXTS.fullmatch(before.lstrip("¿ ")) else None
    subject = about[1].rstrip("?.! ") if about else ""
    return subject if find_telling_words(subject) else ""


def goes_on_asking(request: Request) -> bool:
    """Return whether a message may follow the question that it replies to: "and tea?"

    Without the bot's name beside it, only if it is plainly a question, as people talk to others
    about an answer too.
    """
    text = request.text.strip()
    if first_link(text) or not find_telling_words(text):
        return False
    if text.endswith("?"):
        return True
    named = request.trigger is Trigger.ADDRESSED
    return named and _ASKING.match(text) is not None and not looks_like_headline(text)
