"""Recognises private messages that no reader understands, so that they never become public.

These are exports of programs that are not read, records that hold conversations, and texts and
pages that look like a chat. They are refused by name, unless the command says of which kind they
are.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from engine.errors import UnknownFormat
from engine.ingest.chat_lines import looks_like_chat
from engine.ingest.fields import as_mapping, read_mappings
from engine.ingest.parsers.html import html_text
from engine.ingest.reader import Sample
from engine.ingest.records import Defaults
from engine.ingest.streams import UTF_8, find_encoding
from engine.messages import Message
from engine.page.metadata import decode_page

_LOOKED_AT = 1 << 18  # bytes of a file
_MARKUP = re.compile(
    rb"</?(?:html|head|body|div|p|span|table|tr|td|li|br|pre)\b[^<>]{0,200}>", re.IGNORECASE
)
_TAG = re.compile(r"<[^<>]{0,500}>")
_FRONT_MATTER = re.compile(rb"\A(---|\+\+\+)[ \t]*\r?\n.*?^\1[ \t]*$", re.DOTALL | re.MULTILINE)
_BUBBLES = re.compile(
    rb"""class=["']?[^"'>]{0,80}\b(?:message|msg|chat|bubble|sender|speaker|timestamp)""",
    re.IGNORECASE,
)
_FEW_BUBBLES = 3
_AS_JSON = Message("Ask for it in the format JSON, and give that.")
_NOT_READ = Message(
    "Its messages are not read here. To store a text of them privately: --kind personal."
)


@dataclass(frozen=True, slots=True)
class _UnreadExport:
    name: Message
    sign: re.Pattern[bytes]  # in the beginning of a file
    fix: Message = _NOT_READ


_UNREAD_EXPORTS = (
    _UnreadExport(
        Message("a page of Telegram's export"),
        re.compile(rb'class="(?:page_body (?:chat_page|list_page)|message default clearfix)'),
        Message("Give the whole folder, or its messages.html."),
    ),
    _UnreadExport(
        Message("a page of an export of Facebook or Instagram"),
        re.compile(rb'uiBoxWhite noborder|class="_a70[6e]"|class="[^"]*\b_a6-[ghop]\b'),
        _AS_JSON,
    ),
    _UnreadExport(
        Message("an export of Discord"),
        re.compile(
            rb'\{\s*"guild"\s*:\s*\{|^\W*AuthorID,Author,Date,Content|chatlog__message'
            rb'|"ID"\s*:\s*"?\d+"?,\s*"Timestamp"\s*:|^\W*ID,Timestamp,Contents'
            rb"|^[^\w=]*+=++\s++Guild: "
        ),
    ),
    _UnreadExport(
        Message("messages of Google Chat"),
        re.compile(
            rb'"messages"\s*:\s*\[\s*\{\s*"creator"\s*:|"topic_id"\s*:.{0,400}"message_id"\s*:',
            re.S,
        ),
    ),
    _UnreadExport(
        Message("talks with Gemini"),
        re.compile(rb'"header"\s*:\s*"(?:Gemini Apps|Bard)"|>(?:Gemini Apps|Bard)<'),
    ),
    _UnreadExport(
        Message("talks with Grok"),
        re.compile(
            rb'"conversations"\s*:\s*\[\s*\{\s*"conversation"\s*:'
            rb'|"responses"\s*:\s*\[\s*\{\s*"response"\s*:'
        ),
    ),
    _UnreadExport(Message("a backup of text messages"), re.compile(rb"<smses\b|<allsms\b")),
)
_SPEAKER_FIELDS = (
    "sender sender_name sendername from from_id role author user creator username name speaker"
    " isfromme is_from_me participant"
)
_WORD_FIELDS = "text content message body parts contents words"
_SPEAKERS, _WORDS = frozenset(_SPEAKER_FIELDS.split()), frozenset(_WORD_FIELDS.split())
# What others wrote below a post.
_ANSWERS = ("comments", "replies", "latestcomments")
_FIX_CHAT = Message(
    "If nobody's messages are in it, --kind library makes a document of it that all may read."
    " --kind personal stores it privately."
)


def find_private_error(name: str, sample: Sample, defaults: Defaults) -> UnknownFormat | None:
    """Return the error for a file that holds messages and is not read; None for any other."""
    if defaults.kind:
        return None
    if export := _find_unread_export(sample.head):
        return UnknownFormat(
            Message("{name} is {what}.", name=name, what=export.name), fix=export.fix
        )
    if any(map(_is_conversation, sample.objects)):
        return UnknownFormat(
            Message("{name} holds conversations in a form that is not known.", name=name),
            fix=_NOT_READ,
        )
    return None


def find_chat_error(name: str, content: bytes, defaults: Defaults) -> UnknownFormat | None:
    """Return the error for a text or page that looks like a chat; None for any other."""
    if defaults.kind or not reads_like_chat(content):
        return None
    return UnknownFormat(Message("{name} looks like a chat.", name=name), fix=_FIX_CHAT)


def describe_private(content: bytes, defaults: Defaults) -> str | None:
    """Return why a file among others may not become a document; None if it may."""
    if defaults.kind:
        return None
    if export := _find_unread_export(content[:_LOOKED_AT]):
        return f"it is {export.name}, which would become public"
    if reads_like_chat(content):
        return "it looks like a chat, which would become public; give it alone to say what it is"
    return None


def reads_like_chat(content: bytes) -> bool:
    """Return whether a text or a page looks like a chat."""
    head = _FRONT_MATTER.sub(b"", content[:_LOOKED_AT])
    if looks_like_chat(head.decode(find_encoding(head) or UTF_8, "replace")):
        return True
    if not _MARKUP.search(head):
        return False
    page = decode_page(head, None)
    texts = (html_text(page), _TAG.sub("\n", page))  # the latter keeps the lines of <pre>
    return any(map(looks_like_chat, texts)) or len(_BUBBLES.findall(head)) >= _FEW_BUBBLES


def _find_unread_export(head: bytes) -> _UnreadExport | None:
    return next((export for export in _UNREAD_EXPORTS if export.sign.search(head)), None)


def _is_conversation(record: Mapping[str, object]) -> bool:
    """Return whether a record lists entries with words and somebody who wrote them."""
    names_of_entries = (
        {str(name).casefold() for name in entry}
        for value in (record, *map(as_mapping, record.values()))
        for key, inner in value.items()
        if str(key).casefold() not in _ANSWERS
        for entry in read_mappings(inner)[:3]
    )
    return any(names & _SPEAKERS and names & _WORDS for names in names_of_entries)
