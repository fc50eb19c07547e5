"""/glossary: words with the same meaning, edited by operators for all chats."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace

from bot.commands.registry import Command
from bot.commands.rights import LOOKS, Act, Effect
from bot.commands.services import Services
from bot.i18n.words import marked
from bot.replies.limits import cut
from bot.reply import Action, Button, Reply
from bot.request import Request
from engine.errors import InputError, UsageError
from engine.glossary.groups import AliasGroup, GroupStatus
from engine.messages import Message
from engine.values import Corpus

_EXAMPLE = "/glossary add Fed = Federal Reserve"
_SHOWN_PENDING, _SHOWN_GROUPS = 5, 40
_LONGEST_GROUP = 120

_Verb = Callable[[Request, Services, Corpus, str], Awaitable[Reply]]


async def _glossary(request: Request, services: Services) -> Reply:
    verb, rest = (*request.text.split(maxsplit=1), "", "")[:2]
    handler = _VERBS.get((verb or "pending").lower())
    if handler is None:
        raise UsageError(
            request.words.say(
                "/glossary knows: {known}. For example: {example}",
                known=", ".join(_VERBS),
                example=_EXAMPLE,
            )
        )
    return await handler(request, services, await _corpus(request, services), rest.strip())


async def _press_button(request: Request, action: Action, services: Services) -> Reply:
    corpus, verb = await _corpus(request, services), action.value.partition("=")[0]
    handler = _approve if verb == "yes" else _reject
    done = await handler(request, services, corpus, action.value.partition("=")[2])
    left = await _list_pending(request, services, corpus)
    return replace(left, replaces=True, toast=done.text)


async def _corpus(request: Request, services: Services) -> Corpus:
    return await services.archives.glossary.resolve(services.archives.name_for(request.known_chat))


async def _list_pending(request: Request, services: Services, corpus: Corpus, _: str = "") -> Reply:
    words = request.words
    groups = await services.archives.glossary.list_groups(corpus.name)
    waiting = [group for group in groups if group.status is GroupStatus.PENDING]
    shown = waiting[:_SHOWN_PENDING]
    lines = [
        words.count(
            "{number} group holds in {corpus}.",
            "{number} groups hold in {corpus}.",
            len(groups) - len(waiting),
            corpus=corpus.name,
        ),
        words.count("{number} waits.", "{number} wait.", len(waiting)) if waiting else "",
        *(_line(group) for group in shown),
        "" if waiting else words.say("For example: {example}", example=_EXAMPLE),
    ]
    buttons = tuple(tuple(_buttons(group, request)) for group in shown)
    text = "\n".join(filter(None, lines))
    return Reply(words=words, text=text, buttons=buttons, ephemeral=True)


def _buttons(group: AliasGroup, request: Request) -> Iterator[Button]:
    for value, label in (
        ("yes", request.words.say("Approve {number}", number=group.id)),
        ("no", request.words.say("Reject {number}", number=group.id)),
    ):
        yield Button(label=label, action=Action(name="alias", value=f"{value}={group.id}"))


async def _list(request: Request, services: Services, corpus: Corpus, _: str) -> Reply:
    groups = await services.archives.glossary.list_groups(corpus.name, GroupStatus.APPROVED)
    lines = [_line(group) for group in groups[:_SHOWN_GROUPS]]
    if len(groups) > len(lines):
        lines.append("…")
    text = "\n".join(lines) or request.words.say("There are no groups yet.")
    return Reply(words=request.words, text=text, ephemeral=True)


def _line(group: AliasGroup) -> str:
    return f"{group.id}. {cut(' = '.join(group.terms), _LONGEST_GROUP)}"


async def _add(request: Request, services: Services, corpus: Corpus, rest: str) -> Reply:
    terms, new = await services.archives.glossary.add(corpus.name, rest.split("="), now=request.now)
    shown = " = ".join(terms)
    if new:
        return _said(request, request.words.say("Added for {corpus}.", corpus=corpus.name), shown)
    return _said(request, request.words.say("Known already."), shown)


async def _approve(request: Request, services: Services, corpus: Corpus, rest: str) -> Reply:
    ids = await _ids(request, services, corpus, rest)
    groups = await services.archives.glossary.groups.approve(ids)
    shown = "; ".join(" = ".join(group.terms) for group in groups)
    return _said(request, request.words.say("Approved."), shown)


async def _reject(request: Request, services: Services, corpus: Corpus, rest: str) -> Reply:
    ids = await _ids(request, services, corpus, rest)
    gone = await services.archives.glossary.groups.reject(ids, now=request.now)
    shown = "; ".join(" = ".join(terms) for terms in gone)
    return _said(request, request.words.say("Gone, and never suggested again."), shown)


def _said(request: Request, said: str, shown: str) -> Reply:
    text = f"{said} {cut(shown, _LONGEST_GROUP)}"
    return Reply(words=request.words, text=text, ephemeral=True)


async def _ids(request: Request, services: Services, corpus: Corpus, rest: str) -> Sequence[int]:
    """Parse the numbers of groups of the corpus. Raises UsageError, InputError."""
    numbers = rest.replace(",", " ").split()
    if not numbers or not all(n.isascii() and n.isdigit() and len(n) < 10 for n in numbers):
        raise UsageError(request.words.say("Give the numbers of groups, as listed."))
    known = {group.id for group in await services.archives.glossary.list_groups(corpus.name)}
    ids = [int(number) for number in numbers]
    for group_id in ids:
        if group_id not in known:
            raise InputError(Message("There is no group {number}.", number=group_id))
    return ids


_VERBS: dict[str, _Verb] = {
    "pending": _list_pending,
    "list": _list,
    "add": _add,
    "approve": _approve,
    "reject": _reject,
    "remove": _reject,
}
GLOSSARY = Command(
    name="glossary",
    summary=marked("words that mean the same: what waits, approve, reject, add"),
    usage=marked("/glossary [add TERM = TERM]"),
    example=_EXAMPLE,
    handler=_glossary,
    # A corpus has one glossary for all chats. Pending pairs may come from searches in any chat.
    act=Act(Effect.STEERS_ALL),
    acts={"list": LOOKS},
    actions={"alias": _press_button},
)
