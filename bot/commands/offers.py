"""An archive that the owner sends in private: it is offered for loading, and loaded if wanted."""

import re
from collections.abc import Mapping

from bot.adapter import DeliveryError
from bot.commands.registry import too_old
from bot.commands.services import OfferedArchive, Services
from bot.i18n.words import Words, marked
from bot.replies.limits import cut
from bot.reply import Action, Button, Reply, aside
from bot.request import Request, SentFile
from engine.errors import NothingUsable, PresagioError, StorageError
from engine.values import Kind

ADD, LEAVE = "add", "leave"
SEARCH_HERE = "corpus"  # the button of /corpus that chooses one
LARGEST = 200_000_000  # bytes, where the platform has no limit: somebody waits for it
_SMALL = 100_000  # bytes, which are told in KB
_LONGEST_NAME = 60
_FOLDERS = re.compile(r"(?<![\w/:])/(?:[^\s/]+/)+")  # of an absolute path
_KINDS: Mapping[Kind, str] = {
    Kind.TWEETS: marked("tweets"),
    Kind.SOCIAL: marked("posts"),
    Kind.PERSONAL: marked("private messages"),
    Kind.PUBLISHED: marked("articles"),
    Kind.LIBRARY: marked("documents"),
}


async def offer_archive(request: Request, services: Services) -> Reply:
    """Say what a file holds, and ask whether to load it."""
    words, attachment, loader = request.words, request.attachment, services.loader
    if attachment is None or loader is None:
        return aside(request, words.say("I read text, links and captions."))
    name = cut(" ".join(attachment.name.split()), _LONGEST_NAME)
    if attachment.size > (most := attachment.largest or LARGEST):
        said = words.say(
            "{name} has {size}; I can fetch files of {most} at most. Where I run, this loads it:"
            " presagio ingest FILE",
            name=name,
            size=_say_size(attachment.size, words),
            most=_say_size(most, words),
        )
        return aside(request, said)
    request.step(words.say("Reading the file …"))
    try:
        found = await loader.receive(attachment.name, attachment.fetch)
    except PresagioError as error:
        if isinstance(error, DeliveryError | StorageError):
            raise
        return aside(request, f"{name}: {_explain(error, words)}")
    return _ask_whether(found, name, attachment, words)


def _ask_whether(found: OfferedArchive, name: str, attachment: SentFile, words: Words) -> Reply:
    into = (
        words.say("Shall I add it to my archive {corpus}?", corpus=found.corpus)
        if found.is_known
        else words.say("Shall I add it as the archive {corpus}?", corpus=found.corpus)
    )
    size = _say_size(attachment.size, words)
    kind = words.say(_KINDS[found.kind])
    holds = words.say("{name} ({size}) holds {kind}.", name=name, size=size, kind=kind)
    add = Button(label=words.say("Add it"), action=Action(name=ADD, value=found.key))
    leave = Button(label=words.say("No"), action=Action(name=LEAVE, value=found.key))
    return Reply(words=words, text=f"{holds} {into}", buttons=((add, leave),))


def _say_size(size: int, words: Words) -> str:
    if size < _SMALL:
        return words.say("{number} KB", number=words.number(max(round(size / 1e3), 1)))
    return words.say("{number} MB", number=f"{size / 1e6:.1f}".removesuffix(".0"))


async def add_offered(request: Request, action: Action, services: Services) -> Reply:
    """Load the file of an offer, and say what the archive holds now."""
    loader, words = services.loader, request.words
    try:
        corpus = await loader.load(action.value) if loader else None
    except PresagioError as error:
        if isinstance(error, StorageError):
            raise
        return Reply(words=words, text=_explain(error, words), replaces=True)
    if corpus is None:
        return too_old(request)
    lines = [
        words.count(
            "Added. {name} holds {number} text now.",
            "Added. {name} holds {number} texts now.",
            corpus.documents,
            name=corpus.name,
        )
    ]
    shown = {archive.name for archive in await services.archives.list()}
    if corpus.name not in shown:
        lines.append(words.say("Private messages are searched only in chats of chat.private."))
    elif corpus.author is None and corpus.kind in {Kind.TWEETS, Kind.SOCIAL}:
        command = f'presagio corpora describe {corpus.name} --author HANDLE --name "THE NAME"'
        lines.append(words.say("Whose texts they are: {command}", command=command))
    here = Button(
        label=words.say("Search it here"), action=Action(name=SEARCH_HERE, value=str(corpus.id))
    )
    return Reply(
        words=words,
        text="\n".join(lines),
        buttons=((here,),) if corpus.name in shown else (),
        replaces=True,
    )


def _explain(error: PresagioError, words: Words) -> str:
    """Return what is wrong with a file, without the folder that it lies in on this machine."""
    if isinstance(error, NothingUsable):
        return words.say("Nothing in this file could be stored.")
    return _FOLDERS.sub("", words.render(error.said))


async def leave_offered(request: Request, action: Action, services: Services) -> Reply:
    """Delete the file of an offer."""
    if services.loader:
        services.loader.drop(action.value)
    said = request.words.say("I have deleted the file.")
    return Reply(words=request.words, text=said, replaces=True)
