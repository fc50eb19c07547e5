"""Reads conversations with ChatGPT (`conversations.json`), one at a time.

A conversation is a tree: asking a question again, or having it answered again, begins a branch.
Only the branch that was kept counts, from `current_node` up to the root. System messages, calls of
tools and messages that the page hides are left out.
"""

from collections.abc import Callable, Generator, Mapping, Sequence

import orjson

from engine.ingest.dates import as_mapping, from_seconds, read_mappings, read_string, text_of
from engine.ingest.reader import JsonObject, JsonReader, Reader, Sample, json_objects, members_named
from engine.ingest.records import Defaults, PostFields, Reject, SourceRecord, build_fingerprint
from engine.ingest.sources import Source
from engine.values import Flag, Kind

LONGEST_CONVERSATION = 1 << 26  # bytes
_ROLES = frozenset(("user", "assistant"))
_SHOWN = frozenset(("text", "multimodal_text"))


class ChatGptReader(JsonReader):
    """Reads the kept branch of every conversation, oldest message first."""

    name = "chatgpt"
    kinds = (Kind.PERSONAL,)

    def members(self, names: Sequence[str]) -> Sequence[str]:
        return members_named(r"conversations(?:-\d+)?\.json", names)

    def recognises(self, sample: Sample) -> bool:
        # The first conversation may be longer than the sample.
        return super().recognises(sample) or (
            sample.head.lstrip().startswith(b"[")
            and b'"mapping"' in sample.head
            and b'"message"' in sample.head
        )

    def fits(self, found: Mapping[str, object]) -> bool:
        return {"mapping", "current_node"} <= found.keys()

    def records(
        self, source: Source, names: Sequence[str], defaults: Defaults
    ) -> Generator[SourceRecord | Reject]:
        digest = build_fingerprint(defaults, self.name)
        for name in names:
            file = source.citation(name)
            with source.open(name) as stream:
                label = source.label(name)
                for found in json_objects(label, stream, longest_item=LONGEST_CONVERSATION):
                    if isinstance(found, Reject):
                        yield found
                    else:
                        yield from _read_messages(found, file, digest)

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
            author="ChatGPT" if role == "assistant" else None,
            title=title,
            role=role,
            url=f"https://chatgpt.com/c/{thread}" if thread else None,
            reply_to=read_string(payload.get("before")),
            platform=self.name,
            thread=thread,
            attribution=f"{payload.get('file')}#{message.get('id')}",
            tags=(),
            mentions=(),
            flags=Flag.MEDIA if shows or files else Flag.NONE,
            meta={
                "app": "chatgpt",
                "model": read_string(meta.get("model_slug")),
                "attachments": [file for file in files if file],
            },
            mine=role == "user",
        )


def _read_messages(
    found: JsonObject, file: str, digest: Callable[[bytes], int]
) -> Generator[SourceRecord | Reject]:
    conversation = found.value
    if not isinstance(conversation.get("mapping"), dict):
        yield found.reject("no conversation of ChatGPT: it has no mapping")
        return
    context = {
        "title": conversation.get("title"),
        "thread": conversation.get("conversation_id") or conversation.get("id"),
        "began": conversation.get("create_time"),
    }
    before: object = None
    for message in reversed(list(_from_the_last(conversation))):
        if _is_shown(message):
            payload = {"message": message, "before": before, **context}
            raw = orjson.dumps(payload)
            yield found.record(
                ChatGptReader.name, message.get("id"), digest(raw), {**payload, "file": file}
            )
            before = message.get("id")


def _from_the_last(conversation: Mapping[str, object]) -> Generator[Mapping[str, object]]:
    """Yield the messages from the current node to the root."""
    nodes, name = dict(as_mapping(conversation.get("mapping"))), conversation.get("current_node")
    while isinstance(name, str) and name in nodes:
        node = as_mapping(nodes.pop(name))  # removed, so that a cycle is followed only once
        yield as_mapping(node.get("message"))
        name = node.get("parent")


def _is_shown(message: Mapping[str, object]) -> bool:
    hidden = as_mapping(message.get("metadata")).get("is_visually_hidden_from_conversation")
    text, shows = _read_content(message)
    return (
        as_mapping(message.get("author")).get("role") in _ROLES
        and message.get("recipient") in (None, "all")
        and as_mapping(message.get("content")).get("content_type") in _SHOWN
        and not hidden
        and bool(text.strip() or shows)
    )


def _read_content(message: Mapping[str, object]) -> tuple[str, bool]:
    """Return the words, and whether there is an attachment."""
    parts = as_mapping(message.get("content")).get("parts")
    found = parts if isinstance(parts, list) else []
    said = (p if isinstance(p, str) else read_string(as_mapping(p).get("text")) for p in found)
    shows = any("asset_pointer" in p for p in found if isinstance(p, dict))
    return "\n\n".join(filter(None, said)), shows


READERS: tuple[Reader, ...] = (ChatGptReader(),)
