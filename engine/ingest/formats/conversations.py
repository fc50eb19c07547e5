"""Reads conversations with ChatGPT, DeepSeek and Claude (`conversations.json`), one at a time.

A conversation with ChatGPT is a tree: asking a question again, or having it answered again, begins
a branch. Only the branch that was kept counts, from `current_node` up to the root; without that,
that of the newest message. System messages, calls of tools, thoughts and what the page hides are
left out, marks of citations too; the documents of a canvas are read.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

import orjson

from engine.ingest.fields import (
    as_mapping,
    from_seconds,
    list_strings,
    mapping_at,
    read_mappings,
    read_string,
    read_zoned_time,
    string_at,
    text_of,
    zoned_or_utc,
)
from engine.ingest.reader import JsonReader, OpenFile, Reader, Sample
from engine.ingest.records import PostFields, RawRecord, Reject
from engine.values import Flag, Kind

_LONGEST_CONVERSATION = 1 << 26  # bytes
_ROLES = frozenset(("user", "assistant"))
_SHOWN = frozenset(("text", "multimodal_text"))
_CANVAS = "canmore."  # what the documents of a canvas are sent to
# "\ue200cite\ue202turn0search1\ue201", "【4†source】"; an entity is shown by its name.
_ENTITY = re.compile('\ue200entity\ue202\\[[^\\]\ue201]{0,300}?"([^"\ue201]{0,300})"\\]\ue201')
_CITED = re.compile(
    "\\s?\ue200[^\ue201]{0,2000}\ue201|[\ue200-\ue206]|\\s?【\\s*\\d+(?::\\d+)?†[^】\\n]{0,200}】"
    r"|\s?\bcite(?:turn\d+[a-z]+\d+)+|\s?\[citation:\d+\]"
)
# DeepSeek's fragments of a message, by who wrote them.
_FRAGMENTS = {"REQUEST": "user", "RESPONSE": "assistant"}
_CLAUDE_ROLES = {"human": "user", "assistant": "assistant"}


class ConversationReader(JsonReader):
    """Reads the messages of every conversation, oldest first."""

    kinds = (Kind.PERSONAL,)
    longest = _LONGEST_CONVERSATION
    pattern = r"conversations(?:-\d+)?\.json"
    author: str  # of answers
    address: str  # of the page of a conversation, without its id
    signs: tuple[bytes, ...]  # in the beginning of a file
    no_signs: tuple[bytes, ...] = ()

    def recognises(self, sample: Sample) -> bool:
        # The first conversation may be longer than the sample.
        head = sample.head
        return super().recognises(sample) or (
            head.lstrip().startswith(b"[")
            and all(sign in head for sign in self.signs)
            and not any(sign in head for sign in self.no_signs)
        )

    def describe(self, conversation: Mapping[str, object]) -> dict[str, object]:
        """Return title and thread of a conversation, and when it began."""
        raise NotImplementedError

    def list_messages(
        self, conversation: Mapping[str, object]
    ) -> Iterable[tuple[object, Mapping[str, object]]]:
        """Yield the messages that count, with their ids, oldest first."""
        raise NotImplementedError

    def read_records(self, file: OpenFile) -> Iterator[RawRecord | Reject]:
        for item in super().read_records(file):
            if isinstance(item, Reject):
                yield item
            else:
                yield from self.read_conversation(item, file.citation)

    def read_conversation(self, item: RawRecord, file: str) -> Iterator[RawRecord | Reject]:
        """Yield the messages of one conversation; each answers the one before it."""
        before: object = None
        for identity, message in self.list_messages(item.value):
            payload = {"message": message, "before": before, **self.describe(item.value)}
            value = {**payload, "file": file, "id": identity}
            yield replace(item, raw=orjson.dumps(payload), value=value)
            before = identity

    def build_post(
        self,
        payload: Mapping[str, object],
        *,
        role: str | None,
        text: str,
        stand_in: str | None,
        created_at: datetime,
        place: object,
        files: Sequence[str],
        beside: tuple[tuple[str, str], ...] = (),
        model: str | None = None,
    ) -> PostFields:
        """Return the fields of a message; `stand_in` is its text if it has none."""
        thread = string_at(payload, "thread")
        return PostFields(
            text=text or text_of(stand_in),
            searched=None if text else "",
            beside=beside,
            created_at=created_at,
            author=self.author if role == "assistant" else None,
            title=string_at(payload, "title"),
            role=role,
            url=f"{self.address}{thread}" if thread else None,
            reply_to=string_at(payload, "before"),
            platform=self.name,
            thread=thread,
            attribution=f"{payload.get('file')}#{place}",
            tags=(),
            mentions=(),
            flags=Flag.of((Flag.MEDIA, stand_in or files)),
            meta={"app": self.name, "model": model, "attachments": files},
            mine=role == "user",
        )


class ChatGptReader(ConversationReader):
    """Reads the kept branch of every conversation."""

    name = "chatgpt"
    author, address = "ChatGPT", "https://chatgpt.com/c/"
    signs = (b'"mapping"', b'"message"')
    no_signs: tuple[bytes, ...] = (b'"inserted_at"',)

    def fits(self, value: Mapping[str, object]) -> bool:
        return "inserted_at" not in value and bool(
            mapping_at(value, "mapping") or {"mapping", "current_node"} <= value.keys()
        )

    def describe(self, conversation: Mapping[str, object]) -> dict[str, object]:
        return {
            "title": conversation.get("title"),
            "thread": conversation.get("conversation_id") or conversation.get("id"),
            "began": conversation.get("create_time"),
        }

    def read_conversation(self, item: RawRecord, file: str) -> Iterator[RawRecord | Reject]:
        if not isinstance(item.value.get("mapping"), dict):
            yield item.reject("no conversation of ChatGPT: it has no mapping")
        else:
            yield from super().read_conversation(item, file)

    def list_messages(
        self, conversation: Mapping[str, object]
    ) -> Iterator[tuple[object, Mapping[str, object]]]:
        thread = self.describe(conversation)["thread"]
        for node in _list_branch(conversation):
            message = self.translate({**node, "thread": thread})
            if _is_shown(message):
                yield message.get("id"), message

    def translate(self, node: Mapping[str, object]) -> Mapping[str, object]:
        """Return the message of a node in ChatGPT's terms."""
        return mapping_at(node, "message")

    def post(self, payload: Mapping[str, object]) -> PostFields:
        message = mapping_at(payload, "message")
        text, has_picture = _read_content(message)
        return self.build_post(
            payload,
            role=string_at(message, "author", "role"),
            text=text.strip(),
            stand_in="[image]" if has_picture else None,
            created_at=from_seconds(message.get("create_time") or payload.get("began")),
            place=message.get("id"),
            files=list_strings(mapping_at(message, "metadata").get("attachments"), "name"),
            model=string_at(message, "metadata", "model_slug"),
        )


def _list_branch(conversation: Mapping[str, object]) -> list[Mapping[str, object]]:
    """Return the nodes that count, oldest first: up to the current one, else to the newest."""
    nodes, name = dict(mapping_at(conversation, "mapping")), conversation.get("current_node")
    if not isinstance(name, str) or name not in nodes:
        parents = {str(as_mapping(node).get("parent")) for node in nodes.values()}
        leaves = [leaf for leaf in nodes if leaf not in parents]
        leaves.reverse()  # of those of the same moment the last counts
        name = max(leaves, key=lambda leaf: _rank_node(nodes[leaf]), default=None)
    branch = []
    while isinstance(name, str) and name in nodes:
        node = as_mapping(nodes.pop(name))  # removed, so that a cycle is followed only once
        branch.append(node)
        name = node.get("parent")
    return branch[::-1]


def _rank_node(node: object) -> str:
    message = mapping_at(node, "message")
    written = message.get("create_time")
    if isinstance(written, int | float):
        return f"{written:020.6f}"
    return str(message.get("inserted_at") or "")


def _is_shown(message: Mapping[str, object]) -> bool:
    if str(mapping_at(message, "author").get("role")) not in _ROLES:
        return False
    content_type = str(mapping_at(message, "content").get("content_type"))
    is_said = message.get("recipient") in (None, "all") and content_type in _SHOWN
    if not (is_said or _is_canvas(message)):
        return False
    text, has_picture = _read_content(message)
    is_hidden = mapping_at(message, "metadata").get("is_visually_hidden_from_conversation")
    return not is_hidden and bool(text.strip() or has_picture)


def _is_canvas(message: Mapping[str, object]) -> bool:
    return str(message.get("recipient")).startswith(_CANVAS)


def _read_content(message: Mapping[str, object]) -> tuple[str, bool]:
    """Return the words, and whether there is a picture."""
    parts = mapping_at(message, "content").get("parts")
    pieces = parts if isinstance(parts, list) else []
    said = (p if isinstance(p, str) else string_at(p, "text") for p in pieces)
    has_picture = any("asset_pointer" in p for p in read_mappings(parts))
    text = "\n\n".join(filter(None, said)) or _read_canvas(message)
    return _CITED.sub("", _ENTITY.sub(r"\1", text)), has_picture


def _read_canvas(message: Mapping[str, object]) -> str:
    """Return the words of a document of a canvas, or of what changes in it."""
    if not _is_canvas(message):
        return ""
    try:
        given = orjson.loads(str(mapping_at(message, "content").get("text")))
    except orjson.JSONDecodeError:
        return ""
    changes = list_strings(as_mapping(given).get("updates"), "replacement")
    written = (string_at(given, "name"), string_at(given, "content"), *changes)
    return "\n\n".join(filter(None, written))


class DeepSeekReader(ChatGptReader):
    """Reads DeepSeek's conversations, whose messages are in other terms."""

    name = "deepseek"
    author, address = "DeepSeek", "https://chat.deepseek.com/a/chat/s/"
    signs = (b'"mapping"', b'"inserted_at"')
    no_signs = ()

    def fits(self, value: Mapping[str, object]) -> bool:
        return {"mapping", "inserted_at"} <= value.keys()

    def translate(self, node: Mapping[str, object]) -> Mapping[str, object]:
        message = mapping_at(node, "message")
        fragments = read_mappings(message.get("fragments"))
        roles = [role for f in fragments if (role := _FRAGMENTS.get(str(f.get("type"))))]
        said = [f.get("content") for f in fragments if str(f.get("type")) in _FRAGMENTS]
        written = string_at(message, "inserted_at")
        files = read_mappings(message.get("files"))
        return {
            "id": f"{self.name}/{node.get('thread')}/{node.get('id')}",
            "author": {"role": roles[0] if roles else str(message.get("role")).lower()},
            "create_time": zoned_or_utc(written).timestamp() if written else None,
            "content": {"content_type": "text", "parts": said or [message.get("content")]},
            "metadata": {
                "model_slug": message.get("model"),
                "attachments": [{"name": file.get("file_name")} for file in files],
            },
        }


class ClaudeReader(ConversationReader):
    """Reads conversations with Claude, which are lists."""

    name = "claude"
    author, address = "Claude", "https://claude.ai/chat/"
    signs = (b'"chat_messages"',)

    def fits(self, value: Mapping[str, object]) -> bool:
        return {"uuid", "chat_messages"} <= value.keys()

    def describe(self, conversation: Mapping[str, object]) -> dict[str, object]:
        return {
            "title": conversation.get("name"),
            "thread": conversation.get("uuid"),
            "began": conversation.get("created_at"),
        }

    def list_messages(
        self, conversation: Mapping[str, object]
    ) -> Iterator[tuple[object, Mapping[str, object]]]:
        for message in read_mappings(conversation.get("chat_messages")):
            # ChatGPT's ids have the same form.
            yield f"{self.name}/{message['uuid']}" if message.get("uuid") else None, message

    def post(self, payload: Mapping[str, object]) -> PostFields:
        message = mapping_at(payload, "message")
        attached, content = message.get("attachments"), read_mappings(message.get("content"))
        artifacts = (part for part in content if part.get("name") == "artifacts")
        written = (string_at(part, "input", "content") for part in artifacts)
        files = [
            *list_strings(attached, "file_name"),
            *list_strings(message.get("files"), "file_name"),
        ]
        return self.build_post(
            payload,
            role=_CLAUDE_ROLES.get(str(message.get("sender"))),
            text=_read_words(message, content),
            stand_in="[file]" if files else None,
            created_at=read_zoned_time(message.get("created_at") or payload.get("began")),
            place=message.get("uuid"),
            files=files,
            beside=(
                *(("attached", text) for text in list_strings(attached, "extracted_content")),
                *(("document", text) for text in written if text),
            ),
        )


def _read_words(message: Mapping[str, object], content: Sequence[Mapping[str, object]]) -> str:
    """Return what was said, without what the model thought or asked of tools."""
    said = list_strings([part for part in content if part.get("type") == "text"], "text")
    return "\n\n".join(said).strip() or (read_string(message.get("text")) or "").strip()


READERS: tuple[Reader, ...] = (ChatGptReader(), DeepSeekReader(), ClaudeReader())
