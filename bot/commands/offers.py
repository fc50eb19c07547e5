"""An archive that the owner sends in private: it is offered for loading, and loaded if wanted."""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime

from bot.adapter import DeliveryError
from bot.app import App
from bot.archive_loading import LoadedArchive, OfferedArchive
from bot.commands.registry import too_old
from bot.i18n.words import Words, marked
from bot.replies.limits import cut
from bot.reply import Action, Button, Reply, reply_aside
from bot.request import Request, SentFile
from engine.chat import zone_or_utc
from engine.errors import NothingUsable, PresagioError, StorageError, UnknownFormat
from engine.ingest.records import TableLayout
from engine.values import CorpusRole, Kind

ADD, LEAVE = "add", "leave"
SEARCH_HERE = "corpus"  # the button of /corpus that chooses one
LARGEST = 200_000_000  # bytes, where the platform has no limit: somebody waits for it
_SMALL = 100_000  # bytes, which are told in KB
_BETWEEN = "."  # the key of a file and the time zone, in the value of a button
_LONGEST_NAME = 60
_LONGEST_RECORD, _LONGEST_LIST = 100, 300
# What is done in a terminal, in words for whoever loads a file there.
_TERMINAL = re.compile(r"(?<!\S)(?:--[a-z?]|`?presagio )|Give its path")
_TAKEN = (
    *(".zip", ".json", ".jsonl", ".js", ".csv", ".txt", ".md", ".html", ".xml"),
    *(".pdf", ".docx", ".epub"),
)
_FOLDERS = re.compile(r"(?<![\w/:])/(?:[^\s/]+/)+")  # of an absolute path
_KINDS: Mapping[Kind, str] = {
    Kind.TWEETS: marked("tweets"),
    Kind.SOCIAL: marked("posts"),
    Kind.PERSONAL: marked("private messages"),
    Kind.PUBLISHED: marked("articles"),
    Kind.LIBRARY: marked("documents"),
}


async def offer_archive(request: Request, app: App) -> Reply:
    """Say what a file holds, and ask whether to load it."""
    words, attachment, loader = request.words, request.attachment, app.loader
    if attachment is None or loader is None:
        return explain_unread(request, app)
    name = cut(" ".join(attachment.name.split()), _LONGEST_NAME)
    if attachment.size > (maximum := attachment.largest or LARGEST):
        sentence = words.say(
            "{name} has {size}; I can fetch files of {maximum} at most. Where I run, this loads it:"
            " presagio ingest FILE",
            name=name,
            size=_say_size(attachment.size, words),
            maximum=_say_size(maximum, words),
        )
        return reply_aside(request, sentence)
    request.step(words.say("Reading the file …"))
    zone = request.known_chat.time_zone
    try:
        offer = await loader.receive(attachment.name, attachment.fetch, zone=zone)
    except PresagioError as error:
        if isinstance(error, DeliveryError | StorageError):
            raise
        return reply_aside(request, f"{name}: {_explain(error, words)}")
    return _ask_whether(offer, name, attachment, words)


def explain_unread(request: Request, app: App) -> Reply:
    """Return what the bot reads; its owner is told which files it takes."""
    sentences = [request.words.say("I read text, links and captions.")]
    if app.loader and request.owner and request.place.private:
        sentences.append(_list_taken(request.words))
    return reply_aside(request, " ".join(sentences))


def _list_taken(words: Words) -> str:
    return words.say("Files that I take: {files}.", files=", ".join(_TAKEN))


def _ask_whether(archive: OfferedArchive, name: str, attachment: SentFile, words: Words) -> Reply:
    into = (
        words.say("Shall I add it to my archive {corpus}?", corpus=archive.corpus)
        if archive.is_known
        else words.say("Shall I add it as the archive {corpus}?", corpus=archive.corpus)
    )
    size = _say_size(attachment.size, words)
    kind = ", ".join(words.say(_KINDS[each]) for each in archive.kinds)
    holds = words.say("{name} ({size}) holds {kind}.", name=name, size=size, kind=kind)
    # The zone that is shown will be used, even if the chat's has changed by then.
    zone = (archive.table and archive.table.timezone) or ""
    value = f"{archive.key}{_BETWEEN}{zone}"
    add = Button(label=words.say("Add it"), action=Action(name=ADD, value=value))
    leave = Button(label=words.say("No"), action=Action(name=LEAVE, value=archive.key))
    lines = [f"{holds} {into}", *(_describe_table(archive.table, words) if archive.table else ())]
    if archive.kind in {Kind.LIBRARY, Kind.PUBLISHED}:
        lines.append(words.say("All who search here may read them."))
    if archive.unread:
        unread = cut(", ".join(archive.unread), _LONGEST_LIST)
        lines.append(words.say("Also there, not read: {files}", files=unread))
    shows_texts = archive.table is not None
    return Reply(words=words, text="\n".join(lines), inert=shows_texts, buttons=((add, leave),))


def _describe_table(table: TableLayout, words: Words) -> Iterator[str]:
    """Yield lines that say how a table is read, and show its first records."""
    columns = ", ".join(f"{field} = {column}" for field, column in table.columns.items())
    read = cut(columns, _LONGEST_LIST)
    yield words.say("It is a table; I read these columns: {columns}", columns=read)
    if table.unused:
        unread = cut(", ".join(table.unused), _LONGEST_LIST)
        yield words.say("Not read: {columns}", columns=unread)
    if table.is_day_first is not None:
        day = words.say("In its dates the day comes first.")
        month = words.say("In its dates the month comes first.")
        yield day if table.is_day_first else month
    if table.timezone:
        yield words.say(
            "Times that name no zone are read as those of {zone}; after /settings timezone CITY,"
            " send the file again.",
            zone=table.timezone,
        )
    yield words.say("Its first records:")
    for record in table.first:
        yield cut(" · ".join(_list_values(record, table.timezone or "UTC")), _LONGEST_RECORD)
    yield words.say(
        "If that is wrong, press No, call the columns text and created_at in the file, and send it"
        " again."
    )


def _list_values(record: Mapping[str, str], zone: str) -> Iterator[str]:
    """Yield what tells a record from others: its time as the table has it, its author, its text."""
    if written := record.get("created_at"):
        yield f"{datetime.fromisoformat(written).astimezone(zone_or_utc(zone)):%Y-%m-%d %H:%M}"
    for field in ("problem", "author", "text"):
        if value := " ".join(record.get(field, "").split()):
            yield value


def _say_size(size: int, words: Words) -> str:
    if size < _SMALL:
        return words.say("{number} KB", number=words.number(max(round(size / 1e3), 1)))
    return words.say("{number} MB", number=f"{size / 1e6:.1f}".removesuffix(".0"))


async def add_offered(request: Request, action: Action, app: App) -> Reply:
    """Load the file of an offer, and say what the archive holds now."""
    loader, words = app.loader, request.words
    key, _, zone = action.value.partition(_BETWEEN)
    try:
        loaded = await loader.load(key, zone=zone or None) if loader else None
    except PresagioError as error:
        if isinstance(error, StorageError):
            raise
        return Reply(words=words, text=_explain(error, words), replaces=True)
    if loaded is None:
        return too_old(request)
    corpora = await app.corpora.list()
    buttons: tuple[Button, ...] = ()
    if loaded.corpus.name in {corpus.name for corpus in corpora}:
        here = Action(name=SEARCH_HERE, value=str(loaded.corpus.id))
        buttons = (Button(label=words.say("Search it here"), action=here),)
        # After the first archive comes what a chat does with it.
        if [corpus.role for corpus in corpora].count(CorpusRole.ARCHIVE) == 1:
            onward = Action(name="setup", value="archive")
            buttons += (Button(label=words.say("Set me up"), action=onward),)
    return Reply(
        words=words,
        text="\n".join(_describe_loaded(loaded, words, is_visible=bool(buttons))),
        buttons=(buttons,) if buttons else (),
        replaces=True,
    )


def _describe_loaded(loaded: LoadedArchive, words: Words, *, is_visible: bool) -> Iterator[str]:
    """Yield lines that say what an archive holds now, and what is still to be done for it."""
    corpus = loaded.corpus
    yield words.count(
        "Added. {name} holds {number} text now.",
        "Added. {name} holds {number} texts now.",
        corpus.documents,
        name=corpus.name,
    )
    if not is_visible:
        yield words.say("Private messages are searched only in chats of chat.private.")
    elif corpus.author is None and corpus.kind in {Kind.TWEETS, Kind.SOCIAL}:
        command = words.write_commands(f"/corpus name {corpus.name} @ana Ana Ruiz")
        yield words.say("Say whose texts they are, such as: {command}", command=command)
    if loaded.other_language:
        command = f"presagio ingest FILE --corpus NAME --language {loaded.other_language}"
        yield words.say(
            "These texts look like another language than {language}, in which {name} reads"
            " them. Where I run, this loads them apart: {command}",
            language=corpus.language,
            name=corpus.name,
            command=command,
        )


def _explain(error: PresagioError, words: Words) -> str:
    """Return what is wrong with a file, without the folder that it lies in on this machine."""
    if isinstance(error, NothingUsable):
        return words.say("Nothing in this file could be stored.")
    said = error.message if _TERMINAL.search(str(error.fix or "")) else error.full_message
    reason = _FOLDERS.sub("", words.render(said))
    if not isinstance(error, UnknownFormat):
        return reason
    table = ""
    if "--columns" in str(error.fix):
        table = words.say("Call its columns text and created_at, and send it again.")
    return " ".join(filter(None, (reason, table, _list_taken(words))))


async def leave_offered(request: Request, action: Action, app: App) -> Reply:
    """Delete the file of an offer."""
    if app.loader:
        app.loader.drop(action.value)
    sentence = request.words.say("I have deleted the file.")
    return Reply(words=request.words, text=sentence, replaces=True)
