"""/corpus: the choice of an archive, asked for where several fit, and what its owner changes: its
name, its description, and whether it stays."""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

from bot.app import App
from bot.commands.offers import ADD, LEAVE, SEARCH_HERE, add_offered, leave_offered
from bot.commands.registry import Command, too_old
from bot.commands.rights import LOOKS, SEARCHES, Act, Effect, explain_refusal, say_no_archive
from bot.i18n.words import Words, marked
from bot.replies.limits import cut
from bot.reply import Action, Button, Reply, reply_aside
from bot.request import Request, Trigger
from db.chat.chats import Waiting
from db.corpus.corpora import Corpora
from db.posting.subscriptions import Subscriptions
from engine.chat import Chat
from engine.corpora import ALL, USUAL, choose_corpora, list_default_corpora
from engine.errors import CorpusNotFound, SeveralCorpora, UsageError
from engine.posting.delivery import PostingMode
from engine.values import Corpus, CorpusRole

_REMOVE = "unload"  # the button that does it
_LONGEST_DESCRIPTION = 200


async def _change_as_owner(request: Request, app: App) -> Reply | None:
    """Do what the first word of the text says with the archive that the second one names, or return
    None if it says nothing of the kind. Raises UsageError, CorpusNotFound."""
    verb, name, value = (*request.text.split(maxsplit=2), "", "", "")[:3]
    handler = _VERBS.get(verb.lower())
    if handler is None or app.loader is None:
        return None
    archives = Corpora(app.database)
    names = [corpus.name for corpus in await archives.list()]
    if not names:
        return reply_aside(request, say_no_archive(request, app))
    if not name:
        raise UsageError(_write_example(verb, names[0], request.words))
    if name not in names:
        raise _refuse_name(name, names, request)
    return await handler(request, archives, name, value)


async def _name_author(request: Request, archives: Corpora, name: str, called: str) -> Reply:
    """Set how people know the author; "@ana Ana Ruiz" sets the account too."""
    words = request.words
    account, _, rest = called.partition(" ")
    author = account.removeprefix("@") if account.startswith("@") else None
    if not called:
        raise UsageError(_write_example("name", name, words))
    corpus = await archives.change(name, author=author, display_name=rest if author else called)
    text = words.say("The texts of {name} are those of {voice}.", name=name, voice=corpus.voice)
    return reply_aside(request, text)


async def _describe(request: Request, archives: Corpora, name: str, description: str) -> Reply:
    words = request.words
    if not description:
        raise UsageError(_write_example("describe", name, words))
    await archives.change(name, description=description)
    text = words.say(
        "From now on models are told of {name}: {description}",
        name=name,
        description=cut(description, _LONGEST_DESCRIPTION),
    )
    return reply_aside(request, text)


def _write_example(verb: str, name: str, words: Words) -> str:
    value = words.say(_EXAMPLES.get(_VERBS[verb.lower()], ""))
    command = words.write_commands(f"/corpus {verb} {name} {value}".rstrip())
    return words.say("For example: {example}", example=command)


async def _offer_removal(request: Request, archives: Corpora, name: str, _: str) -> Reply:
    """Ask before an archive is removed."""
    words, corpus = request.words, await archives.get(name)
    text = words.count(
        "{name} holds {number} text. Removing it cannot be undone.",
        "{name} holds {number} texts. Removing them cannot be undone.",
        corpus.documents,
        name=name,
    )
    button = Button(
        label=words.say("Remove it for good"), action=Action(name=_REMOVE, value=str(corpus.id))
    )
    return Reply(words=words, text=text, buttons=((button,),), ephemeral=True)


async def _press_removal(request: Request, action: Action, app: App) -> Reply:
    """Remove an archive."""
    archives = Corpora(app.database)
    names = [corpus.name for corpus in await archives.list() if str(corpus.id) == action.value]
    if not names or app.loader is None:
        return too_old(request)
    name = names[0]
    await archives.drop(name)
    return Reply(
        words=request.words, text=request.words.say("{name} is removed.", name=name), replaces=True
    )


_Verb = Callable[[Request, Corpora, str, str], Awaitable[Reply]]
_VERBS: Mapping[str, _Verb] = {
    **dict.fromkeys(("name", "rename", "nombrar", "llamar"), _name_author),
    **dict.fromkeys(("describe", "describir"), _describe),
    **dict.fromkeys(("remove", "delete", "quitar", "borrar", "eliminar"), _offer_removal),
}
# What follows the name of an archive, for example.
_EXAMPLES: Mapping[_Verb, str] = {
    _name_author: "@ana Ana Ruiz",
    _describe: marked("Tweets of a senator"),
}


_ANSWER, _CHOOSE = "archive", SEARCH_HERE
_MAX_BUTTONS = 12
_LONGEST_LABEL = _LONGEST_ECHO = 40
_CHOICE_SPAN = timedelta(hours=1)  # in which a person who chose is not asked again
_ONE_QUESTION = timedelta(minutes=10)  # for so long, nothing else asks for an archive
_FOR_SEVERAL = (marked("all"), marked("default"))
_SPANISH = {"todos": ALL, "todo": ALL, "predeterminado": USUAL}
_NAMED = re.compile(r"([\w-]{1,63}):\s+(\S.*)", re.DOTALL)


async def ask_which(request: Request, app: App) -> Reply | Request:
    """Ask which archive a request is about, and keep the request until somebody chooses.

    A pressed button is not kept: it is pressed again. A person who chose here within the hour is
    not asked: the request is returned with that archive.
    """
    words, number = request.words, None
    if remembered := await _find_remembered(request, app):
        return replace(request, chat=replace(request.known_chat, corpus=remembered))
    if request.trigger is not Trigger.BUTTON:
        place, waiting = request.place, Waiting(app.database)
        asking = await waiting.is_asking(
            request.known_chat, place.thread, since=request.now - _ONE_QUESTION
        )
        number = await waiting.keep(
            request.known_chat,
            place.thread,
            request.text,
            written_at=request.written_at,
            now=request.now,
        )
        if asking:
            return reply_aside(
                request, words.say("Choose above whose texts I search; then I answer this too.")
            )
    fitting = list_default_corpora(await app.corpora.list(), configured=app.settings.search.corpus)
    return Reply(
        words=words,
        text=words.say("Whose texts shall I search?"),
        buttons=archive_buttons(fitting, words, _ANSWER if number else _CHOOSE, waiting=number),
    )


async def _find_remembered(request: Request, app: App) -> str | None:
    """Return the name of the archive that the person chose here lately, if it is still there."""
    remembered = await Waiting(app.database).find_choice(
        request.known_chat, request.who, since=request.now - _CHOICE_SPAN
    )
    names = {archive.name for archive in await app.corpora.list()} | {ALL}
    return remembered if remembered in names else None


async def _answer_waiting(
    request: Request, action: Action, app: App
) -> Reply | tuple[Request, ...]:
    """Return what waited for this choice, to be answered from the chosen archive, and what came
    after it meanwhile, to be answered after it.

    The choice is the chat's from now on if the person may steer it, else the person's for an hour.
    """
    name = await find_chosen(action.value, app)
    waiting = await Waiting(app.database).get(request.known_chat, action.answer_id or 0)
    if name is None or waiting is None:
        return too_old(request)
    chat, chooser = replace(request.known_chat, corpus=name), None
    if not await explain_refusal("corpus", Effect.STEERS_CHAT, request, app.settings.chat.admins):
        chat = await with_archive(request, app, name)
        await app.chats.change(chat)
    else:
        chooser = request.who
    answered = replace(
        request,
        chat=chat,
        text=waiting.message,
        written_at=waiting.written_at,
        trigger=Trigger.COMMAND,  # the message may stand far above: the answer repeats it
    )
    number = action.answer_id or 0
    later = await Waiting(app.database).list_later(number)
    for waited in (number, *later):
        await Waiting(app.database).choose(waited, name, person=chooser, now=request.now)
    return answered, *(
        replace(
            answered,
            event_id=f"waiting:{waited}",
            text=message.message,
            written_at=message.written_at,
            origin=None,
        )
        for waited, message in later.items()
    )


async def _press_archive(request: Request, action: Action, app: App) -> Reply:
    """Make an archive the chat's choice."""
    name = await find_chosen(action.value, app)
    if name is None:
        return too_old(request)
    sentence = await _change_archive(request, app, name)
    return Reply(
        words=request.words, text=sentence, replaces=True, toast=request.words.say("Noted.")
    )


async def _change_archive(request: Request, app: App, name: str) -> str:
    """Choose an archive by its name, and return a line that says so. Raises UsageError."""
    chat, words = await with_archive(request, app, name), request.words
    await app.chats.change(chat)
    if chat.corpus is None:
        return words.say("Here I search the configured archive again.")
    voices = [corpus.voice for corpus in await app.corpora.list() if corpus.name == chat.corpus]
    return words.say("Here I search: {voice}.", voice=", ".join(voices) or words.say("all of them"))


async def find_chosen(value: str, app: App) -> str | None:
    """Return the name of the archive that a button stands for, or None if it is gone."""
    if value in (ALL, USUAL):
        return value
    names = [archive.name for archive in await app.corpora.list() if str(archive.id) == value]
    return names[0] if names else None


def archive_buttons(
    corpora: Sequence[Corpus],
    words: Words,
    action: str,
    *,
    waiting: int | None = None,
    of: str = "",
) -> tuple[tuple[Button, ...], ...]:
    """Return a button for each archive, and one for all if there are several.

    The value of each is the id of the corpus, or "all", after `of`.
    """

    def button(label: str, value: str) -> tuple[Button, ...]:
        named = Action(name=action, answer_id=waiting, value=f"{of}{value}")
        return (Button(label=cut(label, _LONGEST_LABEL), action=named),)

    rows = [button(corpus.voice, str(corpus.id)) for corpus in corpora[:_MAX_BUTTONS]]
    if len(corpora) > 1:
        rows.append(button(words.say("All of them"), ALL))
    return tuple(rows)


async def require_archive(request: Request, app: App) -> None:
    """Raise an error unless posts to the chat have one archive to come from.

    SeveralCorpora if it has to be chosen, CorpusNotFound if there is none, UsageError for all.
    """
    corpora, name = await app.corpora.list(), app.archive_of(request.known_chat)
    matching = choose_corpora(corpora, name)
    if len(matching) > 1:
        raise UsageError(
            request.words.say(
                "Posts come from one archive. Choose it with /corpus first, such as: {example}",
                example=request.words.write_commands(f"/corpus {matching[0].name}"),
            )
        )


async def archive_inline(request: Request, app: App) -> tuple[str, Request]:
    """Return the corpus of an inline query, and the query without its name.

    "NAME: headline" names one; else it is what the person's private chat searches, the configured
    one, or, of several, all.
    """
    corpora = await app.corpora.list()
    if match := _NAMED.fullmatch(request.text):
        name = match[1].casefold()
        if name == ALL or any(corpus.name == name for corpus in corpora):
            return name, replace(request, text=match[2])
    own = await app.chats.find_chat(request.place.platform, request.person.id)
    if usual := (own and own.corpus) or app.settings.search.corpus:
        return usual, request
    archives = [corpus for corpus in corpora if corpus.role is CorpusRole.ARCHIVE]
    return (ALL if len(archives) > 1 else ""), request


async def _handle_corpus(request: Request, app: App) -> Reply:
    """List the corpora, or choose one."""
    words = request.words
    if changed := await _change_as_owner(request, app):
        return changed
    if request.text:
        return reply_aside(request, await _change_archive(request, app, request.text))
    current = app.archive_of(request.known_chat)
    corpora = _list_useful(await app.corpora.list(), current)
    if not corpora:
        return reply_aside(request, say_no_archive(request, app))
    lines = [words.say("I can search:")]
    lines += [
        _format_corpus(request, corpus, is_selected=corpus.name == current) for corpus in corpora
    ]
    if current == ALL:
        lines.append(words.say("All of them are searched here."))
    usual = Button(label=words.say("The configured one"), action=Action(name=_CHOOSE, value=USUAL))
    return Reply(
        words=words,
        text="\n".join(lines),
        buttons=(
            *archive_buttons(corpora, words, _CHOOSE),
            *(((usual,),) if request.known_chat.corpus else ()),
        ),
        ephemeral=True,
    )


def _list_useful(corpora: Sequence[Corpus], current: str) -> list[Corpus]:
    """Return what a chat may want to search: news that have texts, and the demonstration only if it
    is searched or there is no archive."""
    archives = any(corpus.role is CorpusRole.ARCHIVE for corpus in corpora)
    useless = {CorpusRole.DEMONSTRATION} if archives else set[CorpusRole]()
    return [
        corpus
        for corpus in corpora
        if corpus.name == current
        or (corpus.role not in useless and (corpus.documents or corpus.role is not CorpusRole.NEWS))
    ]


async def name_archive(chat: Chat, app: App, words: Words) -> str:
    """Return what a chat searches, as people read it."""
    name = app.archive_of(chat)
    try:
        matching = choose_corpora(await app.corpora.list(), name)
    except SeveralCorpora:
        return words.say("asked for each time; /corpus NAME chooses one")
    except CorpusNotFound:
        return name or words.say("none yet")
    if name == ALL and len(matching) > 1:
        return words.say("all of them")
    return (
        matching[0].name
        if matching[0].voice == matching[0].name
        else f"{matching[0].name} ({matching[0].voice})"
    )


def _format_corpus(request: Request, corpus: Corpus, *, is_selected: bool) -> str:
    line = request.words.count(
        "{name}: {number} text", "{name}: {number} texts", corpus.documents, name=corpus.name
    )
    if corpus.voice != corpus.name:
        line = f"{line} ({corpus.voice})"
    return f"{line} ✓" if is_selected else line


async def with_archive(request: Request, app: App, name: str) -> Chat:
    """Return the chat with another archive: one by name, all, or the configured one again."""
    corpora = await app.corpora.list()
    names = [corpus.name for corpus in corpora]
    if name not in names:
        name = _SPANISH.get(name.lower(), name)
    if name == USUAL and USUAL not in names:
        return replace(request.known_chat, corpus=None)
    if name == ALL and ALL not in names:
        subscription = await Subscriptions(app.database).get(request.known_chat)
        if subscription and subscription.mode is not PostingMode.OFF:
            raise UsageError(
                request.words.say("Posts come from one archive: /unsubscribe first, or choose one.")
            )
    elif name not in names:
        useful = [corpus.name for corpus in _list_useful(corpora, "")]
        raise _refuse_name(name, [*useful, *map(request.words.say, _FOR_SEVERAL)], request)
    return replace(request.known_chat, corpus=name)


def _refuse_name(name: str, names: Sequence[str], request: Request) -> UsageError:
    return UsageError(
        request.words.say(
            "There is no archive {name}. There are: {names}.",
            name=cut(name, _LONGEST_ECHO) or "-",
            names=cut(", ".join(names), 500),
        )
    )


CORPUS = Command(
    name="corpus",
    summary=marked("whose tweets are searched in this chat"),
    usage=marked("/corpus [NAME, all, default]"),
    example="/corpus demo",
    for_channels=True,
    handler=_handle_corpus,
    act=Act(Effect.STEERS_CHAT),
    acts={"": LOOKS, **dict.fromkeys(_VERBS, Act(Effect.OWNS))},
    details=(
        marked("name NAME @ana Ana Ruiz: whose texts an archive holds (the owner, in private)."),
        marked("describe NAME TEXT: what it is about, for models; remove NAME: deletes it."),
    ),
    actions={
        _REMOVE: _press_removal,
        _CHOOSE: _press_archive,
        _ANSWER: _answer_waiting,
        ADD: add_offered,
        LEAVE: leave_offered,
    },
    pressed={
        _ANSWER: SEARCHES,
        **dict.fromkeys((ADD, _REMOVE), Act(Effect.OWNS, slow=True)),
        LEAVE: Act(Effect.OWNS),
    },
)
