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

from engine.ingest.fields import (
    from_seconds,
    list_strings,
    mapping_at,
    read_mappings,
    read_number,
    read_string,
    read_strings,
    string_at,
    text_of,
)
from engine.ingest.reader import JsonReader, Reader, is_mine, json_objects, role_of
from engine.ingest.records import (
    Defaults,
    PostFields,
    RawRecord,
    Reject,
    SourceRecord,
    build_fingerprint,
)
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
        message, people = mapping_at(payload, "message"), mapping_at(payload, "people")
        channel, channels = str(payload.get("channel")), mapping_at(payload, "channels")
        own, shared = _message_text(message), _shared_text(message)
        text, mentions = _resolve_references(own or shared, people, channels)
        passed_on = _resolve_references(shared, people, channels)[0] if own else ""
        is_repost = bool(shared and not own)
        names = _list_author_names(message, people)
        mine = is_mine(payload.get("owner"), message.get("user"), *names)
        thread, ts = string_at(message, "thread_ts"), message.get("ts")
        answers = thread is not None and thread != ts
        attached = read_mappings(message.get("files"))
        files = [name for f in attached if (name := read_string(f.get("name") or f.get("title")))]
        return PostFields(
            text=text.strip() or text_of(f"[{', '.join(files) or 'file'}]" if attached else None),
            searched=None if text.strip() else "",
            beside=(
                *((("shared", passed_on),) if passed_on else ()),
                *(("link", words) for words in _list_cards(message)),
                *(("file", title) for title in list_strings(attached, "title")),
            ),
            created_at=from_seconds(ts),
            author=next(iter(names), None) or string_at(message, "user"),
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
            flags=Flag.of((Flag.REPLY, answers), (Flag.MEDIA, attached), (Flag.REPOST, is_repost)),
            meta={
                "channel": channel,
                "attachments": files,
                "participants": read_strings(payload.get("members")),
            },
            mine=False if is_repost else mine,
        )


@dataclass(frozen=True, slots=True)
class _Workspace:
    people: Mapping[str, list[str]]  # names by user id, the displayed one first
    channels: Mapping[str, Mapping[str, object]]  # by folder name


def _read_workspace(source: Source, folder: str) -> _Workspace:
    """Read the names behind the ids of the export; the files may be missing."""
    read = partial(_read_companion, source, folder)
    people: dict[str, list[str]] = {}
    for user in (user for file in _USERS for user in read(file)):
        profile = mapping_at(user, "profile")
        shown = (profile.get("display_name"), profile.get("real_name"))
        names = filter(None, map(read_string, (*shown, user.get("real_name"), user.get("name"))))
        people[str(user.get("id"))] = list(dict.fromkeys(names))
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
                return [item.value for item in items if not isinstance(item, Reject)]
    return ()


def _message_record(
    item: RawRecord, channel: str, workspace: _Workspace, file: str, defaults: Defaults
) -> SourceRecord | Reject:
    fields = workspace.channels.get(channel, {})
    ids = read_strings(fields.get("members"))
    place = string_at(fields, "id") or channel
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
    ts = string_at(item.value, "ts")
    return item.record(
        SlackReader.name,
        f"{place}/{ts}" if ts else None,
        digest(item.raw),
        {"message": item.value, "file": file, **context},
    )


def _list_author_names(message: Mapping[str, object], people: Mapping[str, object]) -> list[str]:
    if names := read_strings(people.get(str(message.get("user")))):
        return names
    profile = mapping_at(message, "user_profile") or mapping_at(message, "bot_profile")
    given = (*map(profile.get, ("display_name", "real_name", "name")), message.get("username"))
    return [name for name in map(read_string, given) if name]


def _message_text(message: Mapping[str, object]) -> str:
    """Return the own words; bots put them into blocks and attachments, too."""
    text = string_at(message, "text") or ""
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
    if _is_of_bot(message) or not string_at(message, "text"):
        return []
    cards = (a for a in read_mappings(message.get("attachments")) if not _is_shared(a))
    return [words for card in cards if (words := _attachment_text(card))]


def _is_of_bot(message: Mapping[str, object]) -> bool:
    return message.get("subtype") == "bot_message" or bool(message.get("bot_id"))


def _is_shared(attachment: Mapping[str, object]) -> bool:
    return any(attachment.get(name) is True for name in ("is_share", "is_msg_unfurl"))


def _attachment_text(attachment: Mapping[str, object]) -> str:
    fields = (
        ": ".join(filter(None, (string_at(f, "title"), string_at(f, "value"))))
        for f in read_mappings(attachment.get("fields"))
    )
    own = (string_at(attachment, name) for name in ("pretext", "title", "text"))
    blocks = _block_texts(attachment.get("blocks"))
    words = "\n".join(filter(None, (*own, *fields, *blocks)))
    return words or string_at(attachment, "fallback") or ""


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
        titles = map(_words_of, (block.get("title"), block.get("alt_text")))
        text = "\n".join(filter(None, titles))
    words, fields = _words_of(text), list_strings(block.get("fields"), "text")
    # The pieces of a section of rich text follow each other in one line.
    between = "" if kind in ("rich_text_section", "rich_text_quote") else "\n"
    inner = between.join(map(_block_text, read_mappings(block.get("elements"))))
    whole = "\n".join(filter(None, (words, *fields, inner)))
    return f"> {whole}" if kind == "rich_text_quote" else whole


def _words_of(text: object) -> str | None:
    return read_string(text) or string_at(text, "text")


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
