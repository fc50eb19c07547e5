"""Detects the format of a file from its content, and reads its records."""

import itertools
import sys
from collections.abc import Collection, Mapping, Sequence
from io import BufferedReader, BytesIO

from engine.errors import InputError, UsageError
from engine.ingest.formats.api import ApiReader
from engine.ingest.formats.bluesky import BlueskyReader
from engine.ingest.formats.chatgpt import ChatGptReader
from engine.ingest.formats.documents import DocumentReader, documents_prevail
from engine.ingest.formats.feed import BlogFeedReader
from engine.ingest.formats.jsonl import CsvReader, JsonlReader
from engine.ingest.formats.linkedin import LinkedInReader
from engine.ingest.formats.markdown import MarkdownReader
from engine.ingest.formats.mastodon import MastodonReader
from engine.ingest.formats.meta import FacebookReader, InstagramReader
from engine.ingest.formats.slack import SlackReader
from engine.ingest.formats.telegram import TelegramReader
from engine.ingest.formats.trump_archive import TrumpArchiveCsvReader, TrumpArchiveJsonReader
from engine.ingest.formats.whatsapp import WhatsAppReader
from engine.ingest.formats.x_archive import XArchiveReader
from engine.ingest.reader import BOM, JsonObject, Reader, Sample, json_objects
from engine.ingest.record_stream import RecordStream
from engine.ingest.records import Bookmark, Defaults
from engine.ingest.sources import Source, Watch, source_at
from engine.ingest.streams import Readable
from engine.ingest.unrecognised import page_instead_of_export, unrecognised
from engine.messages import Message

AUTO = "auto"
# In the order in which they are tried: the most specific first.
READERS: Mapping[str, Reader] = {
    reader.name: reader
    for reader in (
        XArchiveReader(),
        MastodonReader(),
        BlueskyReader(),
        TelegramReader(),
        SlackReader(),
        WhatsAppReader(),
        ChatGptReader(),
        LinkedInReader(),
        FacebookReader(),
        InstagramReader(),
        TrumpArchiveJsonReader(),
        ApiReader(),
        JsonlReader(),
        TrumpArchiveCsvReader(),
        CsvReader(),
        BlogFeedReader(),
        MarkdownReader(),
        DocumentReader(),
    )
}
_SAMPLED = 20  # objects


def open_source(
    where: str,
    *,
    format: str = AUTO,  # noqa: A002 - the name of the command's option
    defaults: Defaults | None = None,
    stdin: Readable | None = None,
    watch: Watch | None = None,
    skipped: Collection[str] = (),
    after: Bookmark | None = None,
) -> RecordStream:
    """Open a path (file, folder, zip, gzip) or "-" for standard input, and detect its format.

    With `after`, what was read up to there is skipped.

    Raises UsageError for a format that does not exist, UnknownFormat if no reader recognises the
    content, InputError if it cannot be read. Use it in a `with`.
    """
    if format != AUTO and format not in READERS:
        raise UsageError(
            Message("There is no format {format!r}.", format=format),
            fix=Message("Formats: {known}.", known=_known()),
        )
    source = source_at(where, stdin or sys.stdin.buffer, watch=watch, skipped=skipped)
    try:
        reader, names = _choose(source, None if format == AUTO else READERS[format])
        return RecordStream(source, reader, names, defaults or Defaults(), after=after)
    except BaseException:
        source.close()
        raise


def _choose(source: Source, wanted: Reader | None) -> tuple[Reader, Sequence[str]]:
    names = source.names(with_skipped=True)
    if source.packed:
        return _choose_members(source, names, wanted)
    if wanted:
        return wanted, names
    sample = _sample(source, names[0])
    if page := page_instead_of_export(source.name, sample.head):
        raise page
    for reader in READERS.values():
        if reader.recognises(sample):
            return reader, names
    raise unrecognised(source.name, sample, _known())


def _choose_members(
    source: Source, names: Sequence[str], wanted: Reader | None
) -> tuple[Reader, Sequence[str]]:
    refused = source.refused()
    for reader in (wanted,) if wanted else _candidates([*names, *refused]):
        if reader.members([*names, *refused]):
            source.miss(reader.members(refused))
            return reader, reader.members(names)
    raise InputError(
        Message(
            "{name} holds no tweets (no data/tweets.js, data/tweet.js or"
            " data/js/tweets/) and no other export that is known.",
            name=source.name,
        ),
        fix=Message("Give the folder or zip of an export as it was downloaded, or a single file."),
    )


def _candidates(names: Sequence[str]) -> Sequence[Reader]:
    """Return the readers that may fit a folder; a few files among many others do not count."""
    unlikely = MarkdownReader if documents_prevail(names) else DocumentReader
    return [reader for reader in READERS.values() if not isinstance(reader, unlikely)]


def _sample(source: Source, name: str) -> Sample:
    head = source.head(name).removeprefix(BOM)
    if not head.strip():
        raise InputError(
            Message("{name} is empty.", name=source.name), fix=Message("Check the path.")
        )
    # The last line or object of the head may be cut: it is a reject here and is read in full later.
    found = json_objects(name, BufferedReader(BytesIO(head)))
    objects = (item.value for item in found if isinstance(item, JsonObject))
    return Sample(name=name, head=head, objects=tuple(itertools.islice(objects, _SAMPLED)))


def _known() -> str:
    return ", ".join(READERS)
