"""/access, /usage and /glossary: whom the owner lets in, what the bot was used for this week, and
words with the same meaning, which operators edit for all chats."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import timedelta

from bot.app import App
from bot.commands.registry import Command, too_old
from bot.commands.rights import LOOKS, Act, Effect, Ownership, decision_button
from bot.glossary_service import GlossaryService
from bot.i18n.words import Words, marked
from bot.replies.limits import cut
from bot.reply import Action, Button, Reply, reply_aside
from bot.request import Person, Place, Request, Trigger, traits_of
from db.chat.chats import Access, UsageCount
from engine.budget import BudgetSource
from engine.chat import Admission, AdmissionState
from engine.errors import UsageError
from engine.glossary.groups import AliasGroup, GroupStatus
from engine.text.clean import fold_case_and_accents
from engine.values import Corpus

_EXAMPLE = "/access allow @ana"
_WEEK = timedelta(days=7)
_MAX_SHOWN = 12  # chats with a button each
_LONGEST_ECHO = 40
_VERB_STATES = {
    **dict.fromkeys(
        ("allow", "let", "admit", "accept", "permitir", "permite", "deja", "dejar", "acepta"),
        AdmissionState.ALLOWED,
    ),
    **dict.fromkeys(
        ("refuse", "block", "ban", "deny", "reject", "rechazar", "rechaza", "bloquear", "bloquea"),
        AdmissionState.REFUSED,
    ),
}
# Around a name: "deja entrar a Lucía", "let Ana in".
_AROUND_NAMES = frozenset(["in", "to", "a", "entrar"])
_STATES = {
    AdmissionState.ASKED: marked("waits"),
    AdmissionState.ALLOWED: marked("let in"),
    AdmissionState.REFUSED: marked("refused"),
}
_GROUP_EXAMPLE = "/glossary add Fed = Federal Reserve"
_SHOWN_PENDING, _SHOWN_GROUPS = 5, 40
_LONGEST_GROUP = 120
_Verb = Callable[[Request, App, Corpus, str], Awaitable[Reply]]


async def _handle_access(request: Request, app: App) -> Reply:
    if request.text:
        return await _answer_about_name(request, app)
    words = request.words
    admissions = await Access(app.database).admissions(request.place.platform)
    if not admissions:
        text = words.say(
            "Nobody has asked yet. To let somebody in: {example}", example=_write_example(request)
        )
        return reply_aside(request, text)
    waiting = sum(admission.state is AdmissionState.ASKED for admission in admissions)
    lines = [words.count("{number} waits.", "{number} wait.", waiting)] if waiting > 1 else []
    lines.append(words.say("Who asked to use this bot:"))
    lines += [
        f"{_name_admission(admission)}: {words.say(_STATES[admission.state])}"
        for admission in admissions
    ]
    rows = (_build_access_buttons(admission, words) for admission in admissions[:_MAX_SHOWN])
    return Reply(
        words=words, text="\n".join(lines), buttons=tuple(filter(None, rows)), ephemeral=True
    )


def _name_admission(admission: Admission) -> str:
    return f"{admission.title} ({admission.name})" if admission.title else admission.name


def _build_access_buttons(admission: Admission, words: Words) -> tuple[Button, ...]:
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


def _write_example(request: Request) -> str:
    """Return how somebody is let in who never asked."""
    platform = request.place.platform
    return request.words.write_commands(
        f"/access allow {platform}:{traits_of(platform).example_id}"
    )


async def _answer_about_name(request: Request, app: App) -> Reply:
    """Decide about whom the owner names; without a verb, ask what to decide. Raises UsageError."""
    words = request.words
    state, name = _read_decision(request.text)
    if not name:
        raise UsageError(
            words.say("For example: {example}", example=words.write_commands(_EXAMPLE))
        )
    if state:
        return await _decide_by_name(request, state, name, app)
    access = Access(app.database)
    admission = _find_admission(await access.admissions(request.place.platform), name, request)
    return Reply(
        words=words,
        text=f"{_name_admission(admission)}: {words.say(_STATES[admission.state])}",
        buttons=(_build_access_buttons(admission, words),),
        ephemeral=True,
    )


def _read_decision(text: str) -> tuple[AdmissionState | None, str]:
    """Return what "allow Ana" or "deja entrar a Ana" decides, or None, and the name."""
    verb, _, rest = text.partition(" ")
    state = _VERB_STATES.get(verb.lower())
    if state is None:
        return None, text
    names = [word for word in rest.split() if word.lower() not in _AROUND_NAMES]
    return state, " ".join(names) or rest.strip()


async def _decide_by_name(request: Request, state: AdmissionState, name: str, app: App) -> Reply:
    """Decide about a chat that is named, or about one that never asked by its id. Raises
    UsageError."""
    platform = request.place.platform
    access = Access(app.database)
    chat = _read_id(name, platform)
    if chat is None:
        chat = _find_admission(await access.admissions(platform), name, request).external_id
    admission = await access.decide(platform, chat, state, now=request.now)
    if admission is None:
        await access.record(
            platform, chat, state, title=None, language=request.person.language, now=request.now
        )
    return await _announce_admission(request, admission, f"{platform}:{chat}", state, app)


def _read_id(name: str, platform: str) -> str | None:
    """Return the id in "telegram:42" or "42", or None for the name of somebody."""
    prefix, _, chat = name.rpartition(":")
    is_id = prefix == platform or (not prefix and chat.removeprefix("-").isdigit())
    return chat if is_id and chat and len(chat.split()) == 1 else None


def _find_admission(admissions: Sequence[Admission], name: str, request: Request) -> Admission:
    """Return the only admission that a name fits. Raises UsageError if none or several do."""
    words = request.words
    fitting = _match_admissions(admissions, name)
    if len(fitting) == 1:
        return fitting[0]
    title, example = cut(name, _LONGEST_ECHO), _write_example(request)
    if not fitting:
        raise UsageError(
            words.say(
                "Nobody called {name} has asked, so nothing was changed. {command} lists who has;"
                " anybody else is named by id: {example}",
                name=title,
                command=words.write_commands("/access"),
                example=example,
            )
        )
    raise UsageError(
        words.say(
            "Several are called {name}, so nothing was changed: {names}. Name one by id: {example}",
            name=title,
            names=", ".join(map(_name_admission, fitting[:_MAX_SHOWN])),
            example=example,
        )
    )


def _match_admissions(admissions: Sequence[Admission], name: str) -> Sequence[Admission]:
    """Return whom a name fits: as their id, else as their whole name, else as words of it."""
    wanted = _fold_name(name)
    fits: Sequence[Callable[[Admission], bool]] = (
        lambda admission: admission.external_id == name,
        lambda admission: _fold_name(admission.title or "") == wanted,
        lambda admission: {*wanted.split()} <= {*_fold_name(admission.title or "").split()},
    )
    matches = (list(filter(fit, admissions)) for fit in fits)
    return next(filter(None, matches), []) if wanted else []


def _fold_name(name: str) -> str:
    return fold_case_and_accents(name).replace("@", "")


async def _decide_admission(request: Request, action: Action, app: App) -> Reply:
    value, _, name = action.value.partition("=")
    platform, _, chat = name.partition(":")
    if value not in set(_VERB_STATES.values()) or platform != request.place.platform:
        return too_old(request)
    state = AdmissionState(value)
    admission = await Access(app.database).decide(platform, chat, state, now=request.now)
    if admission is None:
        return too_old(request)
    reply = await _announce_admission(request, admission, name, state, app)
    return replace(reply, replaces=True, toast=request.words.say("Noted."))


async def _announce_admission(
    request: Request, admission: Admission | None, name: str, state: AdmissionState, app: App
) -> Reply:
    """Announce an admission in its chat, and return the reply to the owner."""
    words, title = request.words, _name_admission(admission) if admission else name
    waited: tuple[Request, ...] = ()
    if admission and (admission.changed or state is AdmissionState.ALLOWED):
        await Ownership(app).announce(admission)
    if state is AdmissionState.ALLOWED:
        if admission:
            message = await _read_waiting_message(request, admission, app)
            waited = (message,) if message else ()
        sentence = words.say("{who} may use me now. /access changes that.", who=title)
    else:
        sentence = words.say("{who} may not use me. /access changes that.", who=title)
    return Reply(words=words, text=sentence, ephemeral=True, follow_ups=waited)


async def _read_waiting_message(request: Request, admission: Admission, app: App) -> Request | None:
    """Return what was written in a chat before it was let in, as a request made there, or None."""
    chat = await app.chats.find_chat(admission.platform, admission.external_id)
    if chat is None or admission.message is None:
        return None
    return Request(
        event_id=f"admitted:{admission.external_id}:{request.event_id}",
        place=Place(
            platform=admission.platform,
            chat_id=admission.external_id,
            private=chat.private,
            thread=admission.thread,
            title=chat.title,
        ),
        person=Person(
            id=admission.external_id, language=admission.language, as_chat=not chat.private
        ),
        trigger=Trigger.COMMAND,  # other messages followed it: the answer repeats the headline
        text=admission.message,
        now=request.now,
        written_at=admission.message_at,
    )


async def _show_usage(request: Request, app: App) -> Reply:
    words, since = request.words, request.now - _WEEK
    access = Access(app.database)
    used, paid = await access.count_use(since), await access.paid(since)
    lines = [words.say("The last seven days:")]
    lines += _format_counts(words.say("People:"), [quota for quota in used if quota.person], words)
    lines += _format_counts(
        words.say("Chats:"), [quota for quota in used if not quota.person], words
    )
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


def _format_counts(title: str, used: Sequence[UsageCount], words: Words) -> list[str]:
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
    handler=_handle_access,
    act=Act(Effect.OWNS),
    actions={"access": _decide_admission},
)
USAGE = Command(
    name="usage",
    summary=marked("who asked me this week, how often, and what it cost"),
    usage="/usage",
    example="/usage",
    handler=_show_usage,
    act=Act(Effect.OWNS),
)


async def _handle_glossary(request: Request, app: App) -> Reply:
    verb, rest = (*request.text.split(maxsplit=1), "", "")[:2]
    handler = _VERBS.get((verb or "pending").lower())
    if handler is None:
        raise UsageError(
            request.words.say(
                "/glossary knows: {known}. For example: {example}",
                known=", ".join(_VERBS),
                example=request.words.write_commands(_GROUP_EXAMPLE),
            )
        )
    return await handler(request, app, await _resolve_corpus(request, app), rest.strip())


async def _press_button(request: Request, action: Action, app: App) -> Reply:
    corpus, verb = await _resolve_corpus(request, app), action.value.partition("=")[0]
    handler = _approve_groups if verb == "yes" else _reject_groups
    done = await handler(request, app, corpus, action.value.partition("=")[2])
    left = await _list_pending(request, app, corpus)
    return replace(left, replaces=True, toast=done.text)


async def _resolve_corpus(request: Request, app: App) -> Corpus:
    return await app.corpus(app.archive_of(request.known_chat))


async def _list_pending(request: Request, app: App, corpus: Corpus, _: str = "") -> Reply:
    words = request.words
    groups = await GlossaryService(app).list_groups(corpus.name)
    waiting = [group for group in groups if group.status is GroupStatus.PENDING]
    first = waiting[:_SHOWN_PENDING]
    lines = [
        words.count(
            "{number} group holds in {corpus}.",
            "{number} groups hold in {corpus}.",
            len(groups) - len(waiting),
            corpus=corpus.name,
        ),
        words.count("{number} waits.", "{number} wait.", len(waiting)) if waiting else "",
        *(_format_group(group) for group in first),
        ""
        if waiting
        else words.say("For example: {example}", example=words.write_commands(_GROUP_EXAMPLE)),
    ]
    approve, reject = marked("Approve {number}"), marked("Reject {number}")
    buttons = tuple(
        tuple(
            Button(
                label=words.say(label, number=group.id),
                action=Action(name="alias", value=f"{value}={group.id}"),
            )
            for value, label in (("yes", approve), ("no", reject))
        )
        for group in first
    )
    text = "\n".join(filter(None, lines))
    return Reply(words=words, text=text, buttons=buttons, ephemeral=True)


async def _list_approved(request: Request, app: App, corpus: Corpus, _: str) -> Reply:
    groups = await GlossaryService(app).list_groups(corpus.name, GroupStatus.APPROVED)
    lines = [_format_group(group) for group in groups[:_SHOWN_GROUPS]]
    if len(groups) > len(lines):
        lines.append("…")
    text = "\n".join(lines) or request.words.say("There are no groups yet.")
    return Reply(words=request.words, text=text, ephemeral=True)


def _format_group(group: AliasGroup) -> str:
    return f"{group.id}. {cut(' = '.join(group.terms), _LONGEST_GROUP)}"


async def _add_group(request: Request, app: App, corpus: Corpus, rest: str) -> Reply:
    terms, new = await GlossaryService(app).add(corpus.name, rest.split("="), now=request.now)
    equation = " = ".join(terms)
    if new:
        return _confirm_group(
            request, request.words.say("Added for {corpus}.", corpus=corpus.name), equation
        )
    return _confirm_group(request, request.words.say("Known already."), equation)


async def _approve_groups(request: Request, app: App, corpus: Corpus, rest: str) -> Reply:
    groups = await GlossaryService(app).approve(corpus.name, _parse_group_ids(request, rest))
    equations = "; ".join(" = ".join(group.terms) for group in groups)
    return _confirm_group(request, request.words.say("Approved."), equations)


async def _reject_groups(request: Request, app: App, corpus: Corpus, rest: str) -> Reply:
    ids = _parse_group_ids(request, rest)
    gone = await GlossaryService(app).reject(corpus.name, ids, now=request.now)
    equations = "; ".join(" = ".join(terms) for terms in gone)
    return _confirm_group(request, request.words.say("Gone, and never suggested again."), equations)


def _confirm_group(request: Request, sentence: str, title: str) -> Reply:
    text = f"{sentence} {cut(title, _LONGEST_GROUP)}"
    return Reply(words=request.words, text=text, ephemeral=True)


def _parse_group_ids(request: Request, rest: str) -> Sequence[int]:
    """Parse the numbers of groups. Raises UsageError."""
    numbers = rest.replace(",", " ").split()
    if not numbers or not all(n.isascii() and n.isdigit() and len(n) < 10 for n in numbers):
        raise UsageError(request.words.say("Give the numbers of groups, as listed."))
    return [int(number) for number in numbers]


_VERBS: dict[str, _Verb] = {
    "pending": _list_pending,
    "list": _list_approved,
    "add": _add_group,
    "approve": _approve_groups,
    "reject": _reject_groups,
    "remove": _reject_groups,
}
GLOSSARY = Command(
    name="glossary",
    summary=marked("words that mean the same: what waits, approve, reject, add"),
    usage=marked("/glossary [add TERM = TERM]"),
    example=_GROUP_EXAMPLE,
    handler=_handle_glossary,
    # A corpus has one glossary for all chats. Pending pairs may come from searches in any chat.
    act=Act(Effect.STEERS_ALL),
    acts={"list": LOOKS},
    actions={"alias": _press_button},
)
