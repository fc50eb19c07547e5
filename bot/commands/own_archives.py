"""/corpus name, describe and remove: what the owner changes of an archive in the chat."""

from collections.abc import Awaitable, Callable, Mapping

from bot.app import App
from bot.commands.registry import too_old
from bot.commands.rights import Act, Effect
from bot.i18n.words import Words
from bot.replies.limits import cut
from bot.reply import Action, Button, Reply, reply_aside
from bot.request import Request
from db.corpus.corpora import Corpora
from engine.errors import UsageError

REMOVE = "unload"  # the button that does it
_LONGEST_ECHO = 200
_OWNS = Act(Effect.OWNS)


async def change_archive(request: Request, app: App) -> Reply | None:
    """Do what the first word of the text says with the archive that the second one names, or return
    None if it says nothing of the kind. Raises UsageError, CorpusNotFound."""
    verb, name, value = (*request.text.split(maxsplit=2), "", "", "")[:3]
    handler = _VERBS.get(verb.lower())
    if handler is None or app.loader is None:
        return None
    if not name:
        example = request.words.write_commands("/corpus name tweets Ana Ruiz")
        raise UsageError(request.words.say("For example: {example}", example=example))
    return await handler(request, Corpora(app.database), name, value)


async def _name_author(request: Request, archives: Corpora, name: str, called: str) -> Reply:
    """Set how people know the author; "@ana Ana Ruiz" sets the account too."""
    words = request.words
    account, _, rest = called.partition(" ")
    author = account.removeprefix("@") if account.startswith("@") else None
    if not called:
        raise UsageError(_write_example(f"/corpus name {name} @ana Ana Ruiz", words))
    corpus = await archives.change(name, author=author, display_name=rest if author else called)
    text = words.say("The texts of {name} are those of {voice}.", name=name, voice=corpus.voice)
    return reply_aside(request, text)


async def _describe(request: Request, archives: Corpora, name: str, description: str) -> Reply:
    words = request.words
    if not description:
        raise UsageError(_write_example(f"/corpus describe {name} Tweets of a senator", words))
    await archives.change(name, description=description)
    text = words.say(
        "{name} is described to models so: {description}",
        name=name,
        description=cut(description, _LONGEST_ECHO),
    )
    return reply_aside(request, text)


def _write_example(command: str, words: Words) -> str:
    return words.say("For example: {example}", example=words.write_commands(command))


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
        label=words.say("Remove it for good"), action=Action(name=REMOVE, value=str(corpus.id))
    )
    return Reply(words=words, text=text, buttons=((button,),), ephemeral=True)


async def press_removal(request: Request, action: Action, app: App) -> Reply:
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
    "name": _name_author,
    "nombrar": _name_author,
    "describe": _describe,
    "describir": _describe,
    "remove": _offer_removal,
    "quitar": _offer_removal,
}
OWNERS_ACTS: Mapping[str, Act] = dict.fromkeys(_VERBS, _OWNS)
