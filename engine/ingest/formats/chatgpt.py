"""Reads conversations with ChatGPT and DeepSeek (`conversations.json`), one at a time.

A conversation is a tree: asking a question again, or having it answered again, begins a branch.
Only the branch that was kept counts, from `current_node` up to the root; without that, that
of the newest message. System messages, calls of tools, thoughts and what the page hides are
left out, marks of citations too; the documents of a canvas are read.
"""

import re
from collections.abc import Callable, Generator, Iterator, Mapping

import orjson

from engine.ingest.dates import (
    as_mapping,
    from_seconds,
    read_mappings,
    read_string,
    text_of,
    zoned_or_utc,
)
from engine.ingest.reader import Digest, JsonObject, JsonReader, OpenFile, Reader, Sample
from engine.ingest.records import PostFields, Reject, SourceRecord
from engine.values import Flag, Kind

LONGEST_CONVERSATION = 1 << 26  # bytes
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


class ChatGptReader(JsonReader):
    """Reads the kept branch of every conversation, oldest message first."""

    name = "chatgpt"
    author, address = "ChatGPT", "https://chatgpt.com/c/"
    kinds = (Kind.PERSONAL,)
    longest = LONGEST_CONVERSATION
    pattern = r"conversations(?:-\d+)?\.json"

    def recognises(self, sample: Sample) -> bool:
        # The first conversation may be longer than the sample.
        return super().recognises(sample) or (
            b'"inserted_at"' not in sample.head
            and sample.head.lstrip().startswith(b"[")
            and b'"mapping"' in sample.head
            and b'"message"' in sample.head
        )

    def fits(self, value: Mapping[str, object]) -> bool:
        nodes = as_mapping(value.get("mapping"))
        return "inserted_at" not in value and bool(
            nodes or {"mapping", "current_node"} <= value.keys()
        )

    def translate(self, node: Mapping[str, object]) -> Mapping[str, object]:
        """Return the message of a node in ChatGPT's terms."""
        return as_mapping(node.get("message"))

    def read_file(self, file: OpenFile, digest: Digest) -> Iterator[SourceRecord | Reject]:
        for item in self.objects(file):
            if isinstance(item, Reject):
                yield item
            else:
                yield from self._read_messages(item, file.citation, digest)

    def _read_messages(
        self, item: JsonObject, file: str, digest: Callable[[bytes], int]
    ) -> Generator[SourceRecord | Reject]:
        conversation = item.value
        if not isinstance(conversation.get("mapping"), dict):
            yield item.reject("no conversation of ChatGPT: it has no mapping")
            return
        thread = conversation.get("conversation_id") or conversation.get("id")
        context = {
            "title": conversation.get("title"),
            "thread": thread,
            "began": conversation.get("create_time"),
        }
        before: object = None
        for node in reversed(list(_from_the_last(conversation))):
            message = self.translate({**node, "thread": thread})
            if _is_shown(message):
                payload = {"message": message, "before": before, **context}
                raw = orjson.dumps(payload)
                yield item.record(
                    self.name, message.get("id"), digest(raw), {**payload, "file": file}
                )
                before = message.get("id")

    def post(self, payload: Mapping[str, object]) -> PostFields:
        message, title = as_mapping(payload.get("message")), read_string(payload.get("title"))
        role = read_string(as_mapping(message.get("author")).get("role"))
        meta = as_mapping(message.get("metadata"))
        text, shows = _read_content(message)
        files = [read_string(a.get("name")) for a in read_mappings(meta.get("attachments"))]
        thread = read_string(payload.get("thread"))
        return PostFields(
            text=text.strip() or text_of("[image]" if shows else None),
            searched=None if text.strip() else "",
            created_at=from_seconds(message.get("create_time") or payload.get("began")),
            author=self.author if role == "assistant" else None,
            title=title,
            role=role,
            url=f"{self.address}{thread}" if thread else None,
            reply_to=read_string(payload.get("before")),
            platform=self.name,
            thread=thread,
            attribution=f"{payload.get('file')}#{message.get('id')}",
            tags=(),
            mentions=(),
            flags=Flag.MEDIA if shows or files else Flag.NONE,
            meta={
                "app": self.name,
                "model": read_string(meta.get("model_slug")),
                "attachments": [file for file in files if file],
            },
            mine=role == "user",
        )


def _find_last(conversation: Mapping[str, object]) -> object:
    """Return the name of the last message that counts: the newest if nothing names it."""
    nodes, current = as_mapping(conversation.get("mapping")), conversation.get("current_node")
    if isinstance(current, str) and current in nodes:
        return current
    parents = {str(as_mapping(node).get("parent")) for node in nodes.values()}
    leaves = [name for name in nodes if name not in parents]
    leaves.reverse()  # of those of the same moment the last counts
    return max(leaves, key=lambda name: _rank_node(as_mapping(nodes[name])), default=None)


def _rank_node(node: Mapping[str, object]) -> str:
    message = as_mapping(node.get("message"))
    written = message.get("create_time")
    if isinstance(written, int | float):
        return f"{written:020.6f}"
    return str(message.get("inserted_at") or "")


def _from_the_last(conversation: Mapping[str, object]) -> Generator[Mapping[str, object]]:
    """Yield the nodes from the last one that counts to the root."""
    nodes, name = dict(as_mapping(conversation.get("mapping"))), _find_last(conversation)
    while isinstance(name, str) and name in nodes:
        node = as_mapping(nodes.pop(name))  # removed, so that a cycle is followed only once
        yield node
        name = node.get("parent")


def _is_shown(message: Mapping[str, object]) -> bool:
    hidden = as_mapping(message.get("metadata")).get("is_visually_hidden_from_conversation")
    text, shows = _read_content(message)
    return (
        str(as_mapping(message.get("author")).get("role")) in _ROLES
        and (
            str(message.get("recipient")).startswith(_CANVAS)
            or (
                message.get("recipient") in (None, "all")
                and str(as_mapping(message.get("content")).get("content_type")) in _SHOWN
            )
        )
        and not hidden
        and bool(text.strip() or shows)
    )


def _read_content(message: Mapping[str, object]) -> tuple[str, bool]:
    """Return the words, and whether there is an attachment."""
    parts = as_mapping(message.get("content")).get("parts")
    pieces = parts if isinstance(parts, list) else []
    said = (p if isinstance(p, str) else read_string(as_mapping(p).get("text")) for p in pieces)
    shows = any("asset_pointer" in p for p in pieces if isinstance(p, dict))
    text = "\n\n".join(filter(None, said)) or _read_canvas(message)
    return _CITED.sub("", _ENTITY.sub(r"\1", text)), shows


def _read_canvas(message: Mapping[str, object]) -> str:
    """Return the words of a document of a canvas, or of what changes in it."""
    if not str(message.get("recipient")).startswith(_CANVAS):
        return ""
    try:
        given = as_mapping(orjson.loads(str(as_mapping(message.get("content")).get("text"))))
    except orjson.JSONDecodeError:
        return ""
    changes = (
        read_string(change.get("replacement")) for change in read_mappings(given.get("updates"))
    )
    written = (read_string(given.get("name")), read_string(given.get("content")), *changes)
    return "\n\n".join(filter(None, written))


class DeepSeekReader(ChatGptReader):
    """Reads DeepSeek's conversations, whose messages are in other terms."""

    name = "deepseek"
    author, address = "DeepSeek", "https://chat.deepseek.com/a/chat/s/"

    def recognises(self, sample: Sample) -> bool:
        return any(map(self.fits, sample.objects)) or (
            sample.head.lstrip().startswith(b"[")
            and b'"mapping"' in sample.head
            and b'"inserted_at"' in sample.head
        )

    def fits(self, value: Mapping[str, object]) -> bool:
        return {"mapping", "inserted_at"} <= value.keys()

    def translate(self, node: Mapping[str, object]) -> Mapping[str, object]:
        message = as_mapping(node.get("message"))
        fragments = read_mappings(message.get("fragments"))
        roles = [role for f in fragments if (role := _FRAGMENTS.get(str(f.get("type"))))]
        said = [f.get("content") for f in fragments if str(f.get("type")) in _FRAGMENTS]
        written = read_string(message.get("inserted_at"))
        return {
            "id": f"{self.name}/{node.get('thread')}/{node.get('id')}",
            "author": {"role": roles[0] if roles else str(message.get("role")).lower()},
            "create_time": zoned_or_utc(written).timestamp() if written else None,
            "content": {"content_type": "text", "parts": said or [message.get("content")]},
            "metadata": {
                "model_slug": message.get("model"),
                "attachments": [
                    {"name": file.get("file_name")} for file in read_mappings(message.get("files"))
                ],
            },
        }


READERS: tuple[Reader, ...] = (ChatGptReader(), DeepSeekReader())
