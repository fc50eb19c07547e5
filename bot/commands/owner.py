"""/access and /usage: whom the owner lets in, and what the bot was used for this week."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from bot.commands.registry import Command, too_old
from bot.commands.rights import Act, Effect, decision_button
from bot.commands.services import Services
from bot.i18n.words import Words, marked
from bot.replies.limits import cut
from bot.reply import Action, Button, Reply, aside
from bot.request import Person, Place, Request, Trigger
from db.chat.chats import Used
from engine.budget import BudgetSource
from engine.chat import Admission, AdmissionState
from engine.errors import UsageError

_EXAMPLE = "/access allow telegram:42"
_WEEK = timedelta(days=7)
_MOST_SHOWN = 12  # chats with a button each
_LONGEST_ECHO = 40
_WORDS = {"allow": AdmissionState.ALLOWED, "refuse": AdmissionState.REFUSED}
_STATES = {
    AdmissionState.ASKED: marked("waits"),
    AdmissionState.ALLOWED: marked("let in"),
    AdmissionState.REFUSED: marked("refused"),
}


async def _access(request: Request, services: Services) -> Reply:
    verb, _, name = request.text.partition(" ")
    if verb:
        return await _decided_by_name(request, verb.lower(), name.strip(), services)
    words = request.words
    known = await services.access.ownership.access.admissions(request.place.platform)
    if not known:
        text = words.say("Nobody has asked yet. To let somebody in: {example}", example=_EXAMPLE)
        return aside(request, text)
    lines = [words.say("Who asked to use this bot:")]
    lines += [
        f"{_name_admission(admission)}: {words.say(_STATES[admission.state])}"
        for admission in known
    ]
    return Reply(
        words=words,
        text="\n".join(lines),
        buttons=tuple(
            filter(None, (_change(admission, words) for admission in known[:_MOST_SHOWN]))
        ),
        ephemeral=True,
    )


def _name_admission(admission: Admission) -> str:
    return f"{admission.title} ({admission.name})" if admission.title else admission.name


def _change(admission: Admission, words: Words) -> tuple[Button, ...]:
    """Return the buttons that change what was decided about a chat."""
    title = cut(admission.title or admission.name, _LONGEST_ECHO)
    allow = decision_button(
        words.say("Allow {title}", title=title), AdmissionState.ALLOWED, admission.name
    )
    refuse = decision_button(
        words.say("Refuse {title}", title=title), AdmissionState.REFUSED, admission.name
    )
    return {
        AdmissionState.ASKED: (*allow, *refuse),
        AdmissionState.ALLOWED: refuse,
        AdmissionState.REFUSED: allow,
    }[admission.state]


async def _decided_by_name(request: Request, verb: str, name: str, services: Services) -> Reply:
    """Decide about a chat that is named, which need not have asked. Raises UsageError."""
    words, platform = request.words, request.place.platform
    state, chat = _WORDS.get(verb), name.removeprefix(f"{platform}:")
    if state is None or not chat or len(chat.split()) > 1:
        raise UsageError(words.say("For example: {example}", example=_EXAMPLE))
    known = await services.access.ownership.access.decide(platform, chat, state, now=request.now)
    if known is None and state is AdmissionState.ALLOWED:
        language = request.person.language
        await services.access.ownership.access.allow(
            platform, chat, title=None, language=language, now=request.now
        )
    return await _announce_admission(request, known, f"{platform}:{chat}", state, services)


async def _decide_admission(request: Request, action: Action, services: Services) -> Reply:
    value, _, name = action.value.partition("=")
    platform, _, chat = name.partition(":")
    if value not in set(_WORDS.values()) or platform != request.place.platform:
        return too_old(request)
    state = AdmissionState(value)
    known = await services.access.ownership.access.decide(platform, chat, state, now=request.now)
    if known is None:
        return too_old(request)
    reply = await _announce_admission(request, known, name, state, services)
    return replace(reply, replaces=True, toast=request.words.say("Noted."))


async def _announce_admission(
    request: Request,
    known: Admission | None,
    name: str,
    state: AdmissionState,
    services: Services,
) -> Reply:
    """Announce an admission in its chat, and return the reply to the owner."""
    words, shown = request.words, _name_admission(known) if known else name
    waited = None
    if state is AdmissionState.ALLOWED:
        if known:
            await services.access.ownership.announce(known)
            waited = await _read_waiting_message(request, known, services)
        said = words.say("{who} may use me now. /access changes that.", who=shown)
    else:
        said = words.say("{who} may not use me. /access changes that.", who=shown)
    return Reply(words=words, text=said, ephemeral=True, follow_up=waited)


async def _read_waiting_message(
    request: Request, known: Admission, services: Services
) -> Request | None:
    """Return what was written in a chat before it was let in, as a request made there, or None."""
    chat = await services.stores.chats.find_chat(known.platform, known.external_id)
    if chat is None or known.message is None:
        return None
    return Request(
        event_id=f"admitted:{known.external_id}:{request.event_id}",
        place=Place(
            platform=known.platform,
            chat_id=known.external_id,
            private=chat.private,
            thread=known.thread,
            title=chat.title,
        ),
        person=Person(id=known.external_id, language=known.language, as_chat=not chat.private),
        trigger=Trigger.COMMAND,  # other messages followed it: the answer repeats the headline
        text=known.message,
        now=request.now,
        written_at=known.message_at,
    )


async def _usage(request: Request, services: Services) -> Reply:
    words, since = request.words, request.now - _WEEK
    access = services.access.ownership.access
    used, paid = await access.count_use(since), await access.paid(since)
    lines = [words.say("The last seven days:")]
    lines += _counts(words.say("People:"), [quota for quota in used if quota.person], words)
    lines += _counts(words.say("Chats:"), [quota for quota in used if not quota.person], words)
    if not used:
        lines.append(words.say("Nobody has asked anything."))
    chats = paid.get(BudgetSource.CHATS.value, 0.0)
    lines.append(
        words.say(
            "Models cost ${chats} for chats and ${all} in all.",
            chats=f"{chats:.2f}",
            all=f"{sum(paid.values()):.2f}",
        )
    )
    return Reply(words=words, text="\n".join(lines), ephemeral=True)


def _counts(title: str, used: Sequence[Used], words: Words) -> list[str]:
    if not used:
        return []
    lines = [
        words.count(
            "{who}: {number} search",
            "{who}: {number} searches",
            quota.times,
            who=f"{quota.title} ({quota.name})" if quota.title else quota.name,
        )
        for quota in used
    ]
    return [title, *lines]


ACCESS = Command(
    name="access",
    summary=marked("who may use me"),
    usage=marked("/access [allow or refuse NAME]"),
    example=_EXAMPLE,
    handler=_access,
    act=Act(Effect.OWNS),
    actions={"access": _decide_admission},
)
USAGE = Command(
    name="usage",
    summary=marked("who asked me this week, how often, and what it cost"),
    usage="/usage",
    example="/usage",
    handler=_usage,
    act=Act(Effect.OWNS),
)
