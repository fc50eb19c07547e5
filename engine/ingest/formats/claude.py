"""Reads conversations with Claude (`conversations.json`), one at a time."""

from collections.abc import Iterator, Mapping

import orjson

from engine.ingest.dates import as_mapping, read_mappings, read_string, read_zoned_time, text_of
from engine.ingest.formats.chatgpt import LONGEST_CONVERSATION
from engine.ingest.reader import Digest, JsonReader, OpenFile, Reader, Sample
from engine.ingest.records import PostFields, Reject, SourceRecord
from engine.values import Flag, Kind

_ROLES = {"human": "user", "assistant": "assistant"}


class ClaudeReader(JsonReader):
    """Reads the messages of every conversation, in order."""

    name = "claude"
    kinds = (Kind.PERSONAL,)
    longest = LONGEST_CONVERSATION
    pattern = r"conversations(?:-\d+)?\.json"

    def recognises(self, sample: Sample) -> bool:
        # The first conversation may be longer than the sample.
        return super().recognises(sample) or (
            sample.head.lstrip().startswith(b"[") and b'"chat_messages"' in sample.head
        )

    def fits(self, value: Mapping[str, object]) -> bool:
        return {"uuid", "chat_messages"} <= value.keys()

    def read_file(self, file: OpenFile, digest: Digest) -> Iterator[SourceRecord | Reject]:
        for item in self.objects(file):
            if isinstance(item, Reject):
                yield item
                continue
            before: object = None
            for message in read_mappings(item.value.get("chat_messages")):
                context = {
                    "title": item.value.get("name"),
                    "thread": item.value.get("uuid"),
                    "began": item.value.get("created_at"),
                }
                payload = {"message": message, "before": before, **context}
                # ChatGPT's ids have the same form.
                identity = f"{self.name}/{message['uuid']}" if message.get("uuid") else None
                yield item.record(
                    self.name,
                    identity,
                    digest(orjson.dumps(payload)),
                    {**payload, "file": file.citation},
                )
                before = identity

    def post(self, payload: Mapping[str, object]) -> PostFields:
        message = as_mapping(payload.get("message"))
        role = _ROLES.get(str(message.get("sender")))
        attached = read_mappings(message.get("attachments"))
        names = [
            read_string(a.get("file_name"))
            for a in (*attached, *read_mappings(message.get("files")))
        ]
        files = [name for name in names if name]
        pasted = tuple(
            ("attached", text)
            for a in attached
            if (text := read_string(a.get("extracted_content")))
        )
        written = tuple(
            ("document", text)
            for part in read_mappings(message.get("content"))
            if part.get("name") == "artifacts"
            and (text := read_string(as_mapping(part.get("input")).get("content")))
        )
        words = _read_words(message)
        thread = read_string(payload.get("thread"))
        return PostFields(
            text=words or text_of("[file]" if files else None),
            searched=None if words else "",
            beside=(*pasted, *written),
            created_at=read_zoned_time(message.get("created_at") or payload.get("began")),
            author="Claude" if role == "assistant" else None,
            title=read_string(payload.get("title")),
            role=role,
            url=f"https://claude.ai/chat/{thread}" if thread else None,
            reply_to=read_string(payload.get("before")),
            platform=self.name,
            thread=thread,
            attribution=f"{payload.get('file')}#{message.get('uuid')}",
            tags=(),
            mentions=(),
            flags=Flag.MEDIA if files else Flag.NONE,
            meta={"app": self.name, "attachments": files},
            mine=role == "user",
        )


def _read_words(message: Mapping[str, object]) -> str:
    """Return what was said, without what the model thought or asked of tools."""
    parts = read_mappings(message.get("content"))
    said = [read_string(part.get("text")) for part in parts if part.get("type") == "text"]
    return (
        "\n\n".join(filter(None, said)).strip() or (read_string(message.get("text")) or "").strip()
    )


READERS: tuple[Reader, ...] = (ClaudeReader(),)
