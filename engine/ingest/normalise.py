"""Normalises the records of all formats into documents."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import filterfalse

from engine.corpora import Document, Part
from engine.errors import RecordError
from engine.ingest.detect import READERS
from engine.ingest.exchange import is_exported, read_exported
from engine.ingest.records import Defaults, PostFields, SourceRecord
from engine.messages import Message
from engine.text.address import read_host
from engine.text.chunks import Block, Chunk, split_chunks
from engine.text.clean import clean_for_display, make_searchable
from engine.text.language import detect_language
from engine.values import Flag

LONGEST_TEXT = 100_000  # characters
LONGEST_IN_PARTS = 50_000_000
_LONGEST_BESIDE = 1_000  # characters of a picture's description, as it is shown
# What stands beside a text and is nobody's own words.
OTHERS_WORDS = frozenset(("link", "shared", "quoted", "attached"))
_LONGEST_HEADING, _MAX_HEADINGS = 200, 4
_PART_ID = re.compile(r"~part\d+$")
_LONGEST_URL = 2_000
_LONGEST_THREAD = 500  # it has to fit in an index
_MAX_ENGAGEMENT = 2**31 - 1  # what the column holds
# Platforms whose texts show what a post is ("RT @", a cut end); None: a format of tweets.
_TWEETS = (None, "x")
_SHORT_LINK = re.compile(r"https?://t\.co/\w+")
_TAG = re.compile(r"#(?<![\w/&=].)(\w*[^\W\d_]\w*)")
_MENTION = re.compile(r"@(?<![\w/].)(\w+)")
_REPLY = re.compile(r"@\w")
# '"@fan: a text" An answer': a manual repost, the other person's words first.
_HAND_QUOTE = re.compile(r"[\"“]\s*@\w")
# A line that somebody else wrote: "> the words"; neither "> 50 %" nor ">_<".
_QUOTED = re.compile(r"^[ \t]*>+ ?[^\W\d_]", re.MULTILINE)
_LINK_END = re.compile(r"(?:…|(?<!\.)\.\.\.)\s*(https?://\S+)$")
_PICTURE = re.compile(r"/(?:photo|video)/\d+$")
# Lengths of texts that were cut at 140 or 280 characters, give or take a link.
_NEAR_LIMIT = (range(110, 151), range(250, 311))
_LONGEST_END = 300  # characters that a final link may take
_LANGUAGE = re.compile(r"([a-z]{2})(?:[-_]\w+)?")
_PARTS_READ = 5  # of a document, for telling its language
_RENAMED = {"in": "id", "iw": "he", "ji": "yi"}


def normalise(record: SourceRecord, defaults: Defaults) -> Document:
    """Return the document of a record. Raises RecordError with the reason."""
    if _PART_ID.search(record.external_id):
        raise RecordError(Message("the id ends like that of a part of a document"))
    if is_exported(record.payload):
        return _check_exported(read_exported(record))
    post = READERS[record.format].post(record.payload)
    title, keywords = _clean(post.title), clean_for_display("\n".join(post.keywords))
    beside = [
        (label, clean_for_display(words))
        for label, words in post.beside
        if not (defaults.only_mine and label in OTHERS_WORDS)
    ]
    parts = () if post.blocks is None else _cut_parts(post.blocks, title, keywords)
    raw, flags = ("", Flag.NONE) if parts else _read_text(post, defaults)
    text = _with_whole_links(raw, post.links)
    if not parts and not text.strip():
        raise RecordError(Message("the text is empty"))
    written = clean_for_display(post.text) if parts else text
    named, detected = read_language_code(post.lang), None
    if not named and defaults.language != "simple":  # chosen to find words as they are written
        detected = detect_language("\n".join(part.text for part in parts[:_PARTS_READ]))
    return Document(
        external_id=record.external_id,
        text=text,
        search_text="" if parts else _search_text(text, post, keywords, beside),
        created_at=post.created_at,
        dated_by=post.dated_by,
        # What lacks pages is read again by the next ingest, which may have the program for them.
        digest=~record.digest if post.unread else record.digest,
        author=_clean((post.author or defaults.author or "").removeprefix("@")),
        title=title,
        role=_clean(post.role),
        lang=named or detected,
        is_language_named=not detected,
        url=_web_address(post.url),
        reply_to=_clean(post.reply_to),
        platform=post.platform,
        thread=_clean_thread(post.thread),
        attribution=_clean(post.attribution),
        tags=_read_signs(post.tags, _TAG, "#", written),
        mentions=_read_signs(post.mentions, _MENTION, "@", written),
        engagement=min(post.engagement, _MAX_ENGAGEMENT),
        flags=post.flags | flags,
        meta=_build_meta(post, beside),
        parts=parts,
        pages=post.pages,
        page_labels=post.page_labels,
        unread=post.unread,
    )


def _read_text(post: PostFields, defaults: Defaults) -> tuple[str, Flag]:
    """Return the text of a post without the lines that it quotes, if these are left out, and the
    flags that it shows. Raises RecordError."""
    text, flags = clean_for_display(post.text), Flag.NONE
    if _QUOTED.search(text):
        if not defaults.only_mine:
            flags = Flag.QUOTE
        elif not (text := "\n".join(filterfalse(_QUOTED.match, text.split("\n"))).strip()):
            raise RecordError(Message("all of it is quoted"))
    if len(text) > LONGEST_TEXT:
        raise _too_long(LONGEST_TEXT)
    return text, flags | (_seen_flags(text, post) if post.platform in _TWEETS else Flag.NONE)


def _build_meta(post: PostFields, beside: Sequence[tuple[str, str]]) -> dict[str, object]:
    meta = {
        "device": _clean(post.device),
        **{name: _clean_value(value) for name, value in post.meta.items()},
        "beside": [f"{label}: {words[:_LONGEST_BESIDE]}" for label, words in beside if words],
    }
    return {name: value for name, value in meta.items() if value}


def _check_exported(document: Document) -> Document:
    """Return an exported document within our limits: somebody may have written it by hand.

    Raises RecordError.
    """
    if len(document.text) > LONGEST_TEXT:
        raise _too_long(LONGEST_TEXT)
    if sum(len(part.text) for part in document.parts) > LONGEST_IN_PARTS:
        raise _too_long(LONGEST_IN_PARTS)
    _clean_thread(document.thread)
    address = document.url if document.url == _web_address(document.url) else None
    return replace(document, url=address, engagement=min(document.engagement, _MAX_ENGAGEMENT))


def _search_text(
    text: str, post: PostFields, keywords: str, beside: Sequence[tuple[str, str]]
) -> str:
    searched = text if post.searched is None else clean_for_display(post.searched)
    more = "\n".join(words for _label, words in beside if words not in text)[:LONGEST_TEXT]
    return make_searchable("\n".join(filter(None, (searched, keywords, more))))


def _cut_parts(blocks: Iterable[Block], title: str | None, keywords: str) -> tuple[Part, ...]:
    read = [
        replace(
            block,
            text=clean_for_display(block.text),
            headings=tuple(map(clean_for_display, block.headings)),
        )
        for block in blocks
    ]
    if sum(len(block.text) for block in read) > LONGEST_IN_PARTS:
        raise _too_long(LONGEST_IN_PARTS)
    parts = tuple(_build_part(chunk, title, keywords) for chunk in split_chunks(read))
    if not parts:
        raise RecordError(Message("the text is empty"))
    return parts


def _build_part(chunk: Chunk, title: str | None, keywords: str) -> Part:
    headings = [cut for each in chunk.headings if (cut := each[:_LONGEST_HEADING].strip())]
    heading = " > ".join(headings[-_MAX_HEADINGS:])
    return Part(
        text=chunk.text,
        search_text=make_searchable(
            "\n".join(filter(None, (title, heading, chunk.text, keywords)))
        ),
        heading=heading or None,
        page=chunk.page,
        last_page=chunk.last_page,
        recognised=chunk.recognised,
    )


def _too_long(maximum: int) -> RecordError:
    return RecordError(Message("the text is longer than {number:,} characters", number=maximum))


def read_language_code(code: str | None) -> str | None:
    """Return the ISO 639-1 code of "en", "pt-BR" or "iw"; None for guesses like "und", "qme"."""
    match = _LANGUAGE.fullmatch(code.strip().lower()) if code else None
    return _RENAMED.get(match[1], match[1]) if match else None


def _with_whole_links(text: str, links: Sequence[tuple[str, str]]) -> str:
    """Replace short links by what they stand for."""
    if not links or "http" not in text:
        return text
    unused = dict(links)
    text = _SHORT_LINK.sub(lambda match: unused.pop(match[0], match[0]), text)
    for short, whole in unused.items():
        text = text.replace(short, whole)
    return clean_for_display(text)


def _seen_flags(text: str, post: PostFields) -> Flag:
    """Return the flags that the text itself shows, for exports that do not set them."""
    flags = Flag.NONE
    repost = Flag.REPOST in post.flags or text.startswith("RT @")
    if repost:
        flags |= Flag.REPOST
    elif _HAND_QUOTE.match(text):
        flags |= Flag.QUOTE
    elif _REPLY.match(text):
        flags |= Flag.REPLY
    if "pic.twitter.com/" in text:
        flags |= Flag.MEDIA
    if _is_cut(text.rstrip(), post.links, repost=repost):
        flags |= Flag.TRUNCATED
    return flags


def _is_cut(text: str, links: Sequence[tuple[str, str]], *, repost: bool) -> bool:
    """Tell a text that a program cut from one whose author trails off.

    A repost that ends in an ellipsis was cut. Any other text must be about as long as the limit
    was, and end in "…", or in an ellipsis and the link to the rest (not to a picture).
    """
    if repost and text.endswith("…"):
        return True
    if not any(len(text) in lengths for lengths in _NEAR_LIMIT):
        return False
    if text.endswith(("...", "…") if repost else "…"):
        return True
    match = _LINK_END.search(text[-_LONGEST_END:])
    return match is not None and not _PICTURE.search(dict(links).get(match[1], match[1]))


def _web_address(url: str | None) -> str | None:
    text = _clean(url)
    if not text or len(text) > _LONGEST_URL or not text.startswith(("https://", "http://")):
        return None
    broken = any(character.isspace() for character in text) or not read_host(text)
    return None if broken else text


def _clean_thread(name: str | None) -> str | None:
    cleaned = _clean(name)
    if cleaned and len(cleaned) > _LONGEST_THREAD:
        raise RecordError(
            Message(
                "the name of the thread is longer than {number} characters", number=_LONGEST_THREAD
            )
        )
    return cleaned


def _read_signs(
    words: Sequence[str] | None, pattern: re.Pattern[str], sign: str, text: str
) -> tuple[str, ...]:
    """Return the tags or mentions that an export names, or those of the text if it names none."""
    if words is None:
        return _list_distinct_words(pattern.findall(text)) if sign in text else ()
    cleaned = (_clean(word.strip().removeprefix(sign)) for word in words)
    return _list_distinct_words([word for word in cleaned if word])


def _clean_value(value: object) -> object:
    if isinstance(value, str):
        return _clean(value)
    if isinstance(value, list | tuple):
        return [item for item in map(_clean_value, value) if item]
    return value


def _list_distinct_words(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word.casefold() for word in words))


def _clean(text: str | None) -> str | None:
    return clean_for_display(text).strip() or None if text else None
