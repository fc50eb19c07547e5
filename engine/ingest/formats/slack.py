"""Reads a Slack export: a folder or zip with users.json, channels.json and a folder per channel.

Messages that Slack generated (joins, topics, renamings) are left out. A channel is one thread; the
answers in a Slack thread name the message they answer.
"""

import re
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath

import orjson

from engine.ingest.dates import (
    as_mapping,
    from_seconds,
    read_mappings,
    read_number,
    read_string,
    read_strings,
    text_of,
)
from engine.ingest.reader import JsonObject, JsonReader, Reader, is_mine, json_objects, role_of
from engine.ingest.records import Defaults, PostFields, Reject, SourceRecord, build_fingerprint
from engine.ingest.sources import Source
from engine.ingest.streams import STANDARD_INPUT
from engine.values import Flag, Kind

_DAY = re.compile(r"(?:.*/)?[^/]+/\d{4}-\d\d-\d\d\.json")
_USERS = ("users.json", "org_users.json")  # the latter of Enterprise Grid
_CHANNELS = ("channels.json", "groups.json", "mpims.json", "dms.json")
_WRITTEN = (None, "bot_message", "file_comment", "file_share", "me_message", "thread_broadcast")
_REFERENCE = re.compile(r"<([^<>|]+)(?:\|([^<>]*))?>")
_FEW = 9
_REFERENCE_IDS, _CHANNEL_IDS = re.compile(r"<@(\w+)"), re.compile(r"<#(\w+)")
_PLACEHOLDER = "This content can't be displayed."


class SlackReader(JsonReader):
    """Reads the messages of all channels, channel by channel."""

    name = "slack"
    kinds = (Kind.PERSONAL,)

    def members(self, names: Sequence[str]) -> Sequence[str]:
        if not any(PurePosixPath(name).name in _USERS for name in names):
            return ()
        return sorted(filter(_DAY.fullmatch, names))

    def fits(self, value: Mapping[str, object]) -> bool:
        return value.get("type") == "message" and {"ts", "text"} <= value.keys()

    def records(
        self, source: Source, names: Sequence[str], defaults: Defaults
    ) -> Generator[SourceRecord | Reject]:
        workspaces: dict[str, _Workspace] = {}
        for name in names:
            folder = PurePosixPath(name).parent
            root = str(folder.parent)
            if root not in workspaces:
                workspaces[root] = _read_workspace(source, str(folder))
            channel = folder.name or (
                name if name == STANDARD_INPUT else Path(source.name).absolute().parent.name
            )
            with source.open(name) as stream:
                for item in json_objects(source.label(name), stream):
                    if isinstance(item, Reject):
                        yield item
                    elif item.value.get("subtype") in _WRITTEN:
                        yield _message_record(
                            item, channel, workspaces[root], source.citation(name), defaults
                        )

    def post(self, payload: Mapping[str, object]) -> PostFields:
        message, people = as_mapping(payload.get("message")), as_mapping(payload.get("people"))
        channel = str(payload.get("channel"))
        channels = as_mapping(payload.get("channels"))
        own, shared = _message_text(message), _shared_text(message)
        text, mentions = _resolve_references(own or shared, people, channels)
        reposted = bool(shared and not own)
        names = read_mappings(message.get("files"))
        mine = is_mine(
            payload.get("owner"), message.get("user"), *_list_author_names(message, people)
        )
        thread, ts = read_string(message.get("thread_ts")), message.get("ts")
        answers = thread is not None and thread != ts
        files = [name for f in names if (name := read_string(f.get("name") or f.get("title")))]
        return PostFields(
            text=text.strip() or text_of(f"[{', '.join(files) or 'file'}]" if names else None),
            searched=None if text.strip() else "",
            beside=(
                *(
                    (("shared", _resolve_references(shared, people, channels)[0]),)
                    if own and shared
                    else ()
                ),
                *(("link", words) for words in _list_cards(message)),
                *(("file", title) for f in names if (title := read_string(f.get("title")))),
            ),
            created_at=from_seconds(ts),
            author=next(iter(_list_author_names(message, people)), None)
            or read_string(message.get("user")),
            title=f"#{channel}",
            role=role_of(mine),
            reply_to=f"{payload.get('place')}/{thread}" if answers else None,
            platform=self.name,
            thread=channel,
            attribution=f"{payload.get('file')}#{ts}",
            tags=(),
            mentions=mentions,
            engagement=sum(
                read_number(r.get("count")) for r in read_mappings(message.get("reactions"))
            ),
            flags=(Flag.REPLY if answers else Flag.NONE)
            | (Flag.MEDIA if names else Flag.NONE)
            | (Flag.REPOST if reposted else Flag.NONE),
            meta={
                "channel": channel,
                "attachments": files,
                "participants": read_strings(payload.get("members")),
            },
            mine=False if reposted else mine,
        )


@dataclass(frozen=True, slots=True)
class _Workspace:
    people: Mapping[str, list[str]]  # names by user id, the displayed one first
    channels: Mapping[str, Mapping[str, object]]  # by folder name


def _read_workspace(source: Source, folder: str) -> _Workspace:
    """Read the names behind the ids of the export; the files may be missing."""
    read = partial(_read_companion, source, folder)
    people = {str(user.get("id")): _user_names(user) for file in _USERS for user in read(file)}
    channels = {
        str(channel.get("name") or channel.get("id")): channel
        for file in _CHANNELS
        for channel in read(file)
    }
    return _Workspace(people, channels)


def _read_companion(source: Source, folder: str, file: str) -> Sequence[Mapping[str, object]]:
    for place in (PurePosixPath(folder), *PurePosixPath(folder).parents):
        if beside := source.beside(str(place), file):
            with source.open_ahead(beside) as stream:
                items = json_objects(source.label(beside), stream)
                return [item.value for item in items if isinstance(item, JsonObject)]
    return ()


def _user_names(user: Mapping[str, object]) -> list[str]:
    profile = as_mapping(user.get("profile"))
    names = (
        profile.get("display_name"), profile.get("real_name"), user.get("real_name"),
        user.get("name"),
    )  # fmt: skip
    return list(dict.fromkeys(name for name in map(read_string, names) if name))


def _message_record(
    item: JsonObject, channel: str, workspace: _Workspace, file: str, defaults: Defaults
) -> SourceRecord | Reject:
    fields = workspace.channels.get(channel, {})
    ids = read_strings(fields.get("members"))
    place = read_string(fields.get("id")) or channel
    words = f"{_message_text(item.value)} {_shared_text(item.value)}"
    wanted = {str(item.value.get("user")), *_REFERENCE_IDS.findall(words)}
    names = {str(fields.get("id")): name for name, fields in workspace.channels.items()}
    channels = {each: names[each] for each in _CHANNEL_IDS.findall(words) if each in names}
    people = {user: workspace.people[user] for user in sorted(wanted & workspace.people.keys())}
    # Anybody may be a member of a channel; a conversation is defined by its members.
    few = ids if "creator" not in fields or len(ids) <= _FEW else []
    context: dict[str, object] = {
        "channel": channel, "place": place, "people": people, "owner": defaults.author,
        **({"channels": channels} if channels else {}),
        "members": [next(iter(workspace.people.get(user, [])), user) for user in few],
    }  # fmt: skip
    digest = build_fingerprint(defaults, SlackReader.name, orjson.dumps(context).decode())
    ts = read_string(item.value.get("ts"))
    return item.record(
        SlackReader.name,
        f"{place}/{ts}" if ts else None,
        digest(item.raw),
        {"message": item.value, "file": file, **context},
    )


def _list_author_names(message: Mapping[str, object], people: Mapping[str, object]) -> list[str]:
    if names := read_strings(people.get(str(message.get("user")))):
        return names
    profile = as_mapping(message.get("user_profile")) or as_mapping(message.get("bot_profile"))
    candidates = (
        profile.get("display_name"), profile.get("real_name"), profile.get("name"),
        message.get("username"),
    )  # fmt: skip
    return [name for name in map(read_string, candidates) if name]


def _message_text(message: Mapping[str, object]) -> str:
    """Return the own words; bots put them into blocks and attachments, too."""
    text = read_string(message.get("text")) or ""
    if not text or text == _PLACEHOLDER:
        text = "\n".join(_block_texts(message.get("blocks"))) or text
    if not (_is_of_bot(message) or not text):
        return text
    attached = (
        words
        for a in read_mappings(message.get("attachments"))
        if not _is_shared(a) and (words := _attachment_text(a)) not in text
    )
    return "\n\n".join(filter(None, (text, *attached)))


def _shared_text(message: Mapping[str, object]) -> str:
    """Return the words of other messages that this one passes on."""
    shared = filter(_is_shared, read_mappings(message.get("attachments")))
    return "\n\n".join(filter(None, map(_attachment_text, shared)))


def _list_cards(message: Mapping[str, object]) -> list[str]:
    """Return what is shown of the pages that a person's message links."""
    if _is_of_bot(message) or not read_string(message.get("text")):
        return []
    cards = (a for a in read_mappings(message.get("attachments")) if not _is_shared(a))
    return [words for card in cards if (words := _attachment_text(card))]


def _is_of_bot(message: Mapping[str, object]) -> bool:
    return message.get("subtype") == "bot_message" or bool(message.get("bot_id"))


def _is_shared(attachment: Mapping[str, object]) -> bool:
    return any(attachment.get(name) is True for name in ("is_share", "is_msg_unfurl"))


def _attachment_text(attachment: Mapping[str, object]) -> str:
    fields = (
        ": ".join(filter(None, (read_string(f.get("title")), read_string(f.get("value")))))
        for f in read_mappings(attachment.get("fields"))
    )
    own = (read_string(attachment.get(name)) for name in ("pretext", "title", "text"))
    blocks = _block_texts(attachment.get("blocks"))
    words = "\n".join(filter(None, (*own, *fields, *blocks)))
    return words or read_string(attachment.get("fallback")) or ""


def _block_texts(blocks: object) -> list[str]:
    """Return the words of each block, in order."""
    return [text for block in read_mappings(blocks) if (text := _block_text(block).strip())]


def _block_text(block: Mapping[str, object]) -> str:
    kind, text = block.get("type"), block.get("text")
    if kind == "user":
        return f"<@{block.get('user_id')}>"
    if kind == "channel":
        return f"<#{block.get('channel_id')}>"
    if kind == "link":
        return f"{text or ''} {block.get('url') or ''}".strip()
    if kind == "image":
        text = "\n".join(
            filter(None, (_words_of(block.get("title")), _words_of(block.get("alt_text"))))
        )
    words = _words_of(text)
    fields = (read_string(f.get("text")) for f in read_mappings(block.get("fields")))
    # The pieces of a section of rich text follow each other in one line.
    between = "" if kind in ("rich_text_section", "rich_text_quote") else "\n"
    inner = between.join(map(_block_text, read_mappings(block.get("elements"))))
    whole = "\n".join(filter(None, (words, *fields, inner)))
    return f"> {whole}" if kind == "rich_text_quote" else whole


def _words_of(text: object) -> str | None:
    return read_string(text) or read_string(as_mapping(text).get("text"))


def _resolve_references(
    text: str, people: Mapping[str, object], channels: Mapping[str, object]
) -> tuple[str, tuple[str, ...]]:
    """Return the text with names in place of ids, and the people it mentions."""
    mentions: list[str] = []

    def show_link(match: re.Match[str]) -> str:
        target, label = match[1], match[2]
        if target.startswith("@"):
            name = next(iter(read_strings(people.get(target[1:]))), label or target[1:])
            mentions.append(name)
            return f"@{name}"
        if target.startswith("#"):
            return f"#{label or channels.get(target[1:]) or target[1:]}"
        if target.startswith("!"):
            return label or f"@{target[1:].partition('^')[0]}"
        target = target.removeprefix("mailto:")
        return f"{label} ({target})" if label and label not in target else target

    return _REFERENCE.sub(show_link, text), tuple(mentions)


READERS: tuple[Reader, ...] = (SlackReader(),)
