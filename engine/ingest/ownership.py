"""Decides who wrote a message: the export's owner, or somebody else."""

from collections.abc import Generator, Iterable

from engine.errors import RecordError, UsageError
from engine.ingest.reader import Reader
from engine.ingest.records import PostFields, Reject, SourceRecord
from engine.messages import Message
from engine.types import Flag


def is_mine(owner: object, *names: object) -> bool | None:
    """Return whether one of the names is the owner's, or None if the owner is unknown."""
    if not isinstance(owner, str) or not owner:
        return None
    return _folded(owner) in {_folded(name) for name in names if isinstance(name, str)}


def role_of(mine: bool | None) -> str | None:
    """Return the role of a message in a chat among people."""
    return None if mine is None else "me" if mine else "others"


def only_own_words(
    records: Iterable[SourceRecord | Reject], reader: Reader, author: str | None
) -> Generator[SourceRecord | Reject]:
    """Yield the records that the owner wrote, and those that cannot be used.

    `author` is the owner as named on the command line. Raises UsageError if neither the file nor
    the command line names the owner.
    """
    for record in records:
        if isinstance(record, Reject) or _is_own(record, reader, author):
            yield record


def _is_own(record: SourceRecord, reader: Reader, author: str | None) -> bool:
    try:
        post = reader.post(record.payload)
    except RecordError:
        return True  # the normaliser reports why it cannot be used
    mine = post.mine if post.mine is not None else _by_author(post, author)
    if mine is None:
        raise UsageError(
            Message(
                "{file} does not say whose it is, so nobody's own words can be kept.",
                file=record.file,
            ),
            fix=Message("Name the person with --author, as the file writes the name."),
        )
    return mine


def _by_author(post: PostFields, author: str | None) -> bool | None:
    if Flag.REPOST in post.flags:
        return False
    return True if post.author is None else is_mine(author, post.author)


def _folded(name: str) -> str:
    return name.strip().removeprefix("@").casefold()
