"""Renders replies for Slack: Block Kit within its limits.

Texts by people go into rich text and plain text, which Slack shows verbatim: they need no
escaping, and nothing in them can mention anybody.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any

from slack_sdk.errors import SlackApiError
from slack_sdk.models.blocks import (
    ActionsBlock,
    Block,
    ButtonElement,
    ContextBlock,
    HeaderBlock,
    ImageBlock,
    PlainTextObject,
    RichTextBlock,
    RichTextElement,
    RichTextElementParts,
    RichTextQuoteElement,
    RichTextSectionElement,
)
from slack_sdk.models.blocks.basic_components import SlackFile
from slack_sdk.web.async_client import AsyncWebClient

from bot.replies.limits import cut
from bot.reply import LONGEST_SMALL, MAX_HITS, Button, HitView, Reply
from bot.slack.client import read_code
from bot.slack.events import ACTION_PREFIX

# Characters. Slack refuses messages with some 10,000 in all blocks, an undocumented limit; parts
# not listed here (dates, labels, counts) need less than 1,500.
_HEADLINE = 150
_TEXT = 8000
_TWEETS = 5400
_TWEET = 2000
_NOTICE = 500
_AUTHOR = 60
_REASON = 160
_LABEL = 75
_FALLBACK = 300
_LONGEST_LINK = 1000

_BOLD = {"bold": True}
_LINK = re.compile(r"(https?://[^\s<>|]+)")
_OWN_LINE = re.compile(r"^[ \t]*(https?://[^\s<>|]+)[ \t]*$", re.MULTILINE)

# Slack reads a file after it has taken it, and refuses blocks that name it until then.
_PAUSES = (0.3, 0.7, 1.5, 3.0)  # seconds


def escape_mrkdwn(text: str) -> str:
    """Return text in which Slack finds no markup that mentions people."""
    return _drop_nulls(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def render_fallback(reply: Reply) -> str:
    """Return the text for notifications and screen readers; it is never empty."""
    first = [*reply.hits, *(item.hit for item in reply.items)][:1]
    titles = (item.headline for item in reply.items[:1])
    parts = [reply.headline, reply.text, *titles, *(hit.text for hit in first), reply.notice]
    line = cut(" · ".join(part for part in (*parts, reply.toast) if part), _FALLBACK)
    return escape_mrkdwn(line) or "…"


def render_blocks(reply: Reply, *, picture: str | None = None) -> list[Block]:
    """Return the blocks that show a reply. `picture` is the id of the file with its picture."""
    blocks: list[Block] = []
    if headline := _drop_nulls(reply.headline or "").strip():
        blocks.append(HeaderBlock(text=_build_plain_text(cut(headline, _HEADLINE))))
    if elements := [
        *_render_text(reply.text or "", _OWN_LINE if reply.inert else _LINK),
        *_render_hits(reply),
        *_render_left_out(reply),
    ]:
        blocks.append(RichTextBlock(elements=elements))
    if picture:
        blocks.append(
            ImageBlock(alt_text=_describe_picture(reply), slack_file=SlackFile(id=picture))
        )
    if notice := _drop_nulls(reply.notice or "").strip():
        blocks.append(ContextBlock(elements=[_build_plain_text(cut(notice, _NOTICE))]))
    return [*blocks, *render_actions(reply.buttons)]


def _describe_picture(reply: Reply) -> str:
    """Return what a picture says, for those who cannot see it."""
    texts = (hit.text for hit in (*reply.hits, *(item.hit for item in reply.items)))
    return cut(_drop_nulls(next(texts, "") or reply.text or ""), _TWEET).strip() or "…"


def render_actions(buttons: Sequence[Sequence[Button]]) -> list[Block]:
    """Return a block per row of buttons; the last row, for the whole reply, is never dropped."""
    rows = [row for row in buttons if row]
    rows = [*rows[:MAX_HITS], *rows[MAX_HITS:][-1:]]
    return [
        ActionsBlock(
            block_id=f"{ACTION_PREFIX}{number}",
            elements=[
                ButtonElement(
                    text=PlainTextObject(text=cut(button.label, _LABEL), emoji=True),
                    # Ids within a block must differ; what the button asks for is in its value.
                    action_id=f"{ACTION_PREFIX}{number}:{position}",
                    value=str(button.action),
                )
                for position, button in enumerate(row)
            ],
        )
        for number, row in enumerate(rows)
    ]


def _render_text(text: str, links: re.Pattern[str]) -> Iterator[RichTextElement]:
    """Yield the text of a reply, with addresses as links."""
    if text := cut(_drop_nulls(text), _TEXT).strip():
        # Every second part is the group of the pattern.
        parts = [(part, bool(place % 2)) for place, part in enumerate(links.split(text)) if part]
        yield RichTextSectionElement(
            elements=[
                _build_link(part, part) if is_link else _build_text(part) for part, is_link in parts
            ]
        )


def _render_hits(reply: Reply) -> Iterator[RichTextElement]:
    """Yield the hits of a reply, and its items: a headline, and the hit for it."""
    hits, items = reply.hits[:MAX_HITS], reply.items[:MAX_HITS]
    for hit in hits:
        yield from _render_hit(hit, reply, len(hits))
    for item in items:
        headline = cut(_drop_nulls(item.headline), _HEADLINE) or "…"
        yield RichTextSectionElement(elements=[_render_link(item.link, headline, bold=True)])
        yield from _render_hit(item.hit, reply, len(items))


def _render_left_out(reply: Reply) -> Iterator[RichTextElement]:
    number = sum(max(len(group) - MAX_HITS, 0) for group in (reply.hits, reply.items))
    if number:
        line = reply.words.count(
            "{number} more tweet does not fit into this message.",
            "{number} more tweets do not fit into this message.",
            number,
        )
        yield RichTextSectionElement(elements=[_build_text(line)])


def _render_hit(hit: HitView, reply: Reply, of: int) -> Iterator[RichTextElement]:
    if hit.small:
        text = cut(" ".join(_drop_nulls(hit.text).split()), LONGEST_SMALL)
        facts = _render_small_facts(hit, reply)
        yield RichTextSectionElement(elements=[*facts, _build_text(f"{text}\n")])
        return
    remarks = [cut(_drop_nulls(said), _REASON) for said in hit.remarks(reply.words)]
    longest = min(_TWEET, _TWEETS // of - sum(map(len, remarks)))
    yield RichTextSectionElement(elements=_render_facts(hit, reply))
    if not reply.picture:  # which shows the text
        yield RichTextQuoteElement(
            elements=[_build_text(cut(_drop_nulls(hit.text), longest) or "…")]
        )
    for said in remarks:
        yield RichTextSectionElement(elements=[_build_text(said)])


def _render_small_facts(hit: HitView, reply: Reply) -> list[RichTextElement]:
    """Return what stands before a text in one line; its date, else its number, links to it."""
    before = "".join(f"{_drop_nulls(part)} · " for part in hit.introduction)
    after = " · ".join(hit.marks(reply.words))
    if not hit.date_text:
        line = " · ".join(filter(None, (before.removesuffix(" · "), after)))
        return [_render_link(hit.url, f"{hit.rank}."), _build_text(f" {line}: " if line else " ")]
    date = _render_link(hit.url, hit.date_text)
    return [
        _build_text(f"{hit.rank}. {before}"),
        date,
        _build_text(f" · {after}: " if after else ": "),
    ]


def _render_facts(hit: HitView, reply: Reply) -> list[RichTextElement]:
    """Return one line about a tweet; its date, else its number, links to it."""
    facts = [cut(_drop_nulls(hit.signature), _AUTHOR)] if hit.signature else []
    facts = [*facts, *hit.marks(reply.words)]
    if not hit.date_text:
        line = " · ".join(filter(None, (hit.age, *facts)))
        return [_render_link(hit.url, f"{hit.rank}.", bold=True), _build_text(f" {line}")]
    date = _render_link(hit.url, hit.date_text, bold=True)
    age = RichTextElementParts.Text(text=f"{hit.rank}. {hit.age}".strip(), style=_BOLD)
    beside = [_build_text(" · " + " · ".join(facts))] if facts else []
    return [age, _build_text(" · " if hit.age else " "), date, *beside]


def _drop_nulls(text: str) -> str:
    return text.replace("\0", "")


def _build_plain_text(text: str) -> PlainTextObject:
    return PlainTextObject(text=text, emoji=False)


def _build_text(text: str) -> RichTextElement:
    return RichTextElementParts.Text(text=text)


def _build_link(url: str, label: str, *, bold: bool = False) -> RichTextElement:
    return RichTextElementParts.Link(url=url, text=label, style=_BOLD if bold else None)


def _render_link(url: str | None, label: str, *, bold: bool = False) -> RichTextElement:
    """Return the label, linked to the address if Slack accepts that as one."""
    if url and len(url) <= _LONGEST_LINK and _LINK.fullmatch(url):
        return _build_link(url, label, bold=bold)
    return RichTextElementParts.Text(text=label, style=_BOLD if bold else None)


async def post_to_channel(
    client: AsyncWebClient,
    channel: str,
    reply: Reply,
    *,
    thread: str | None,
    metadata: Mapping[str, object],
    file_name: str,
) -> str:
    """Post a reply and return its timestamp.

    Its picture is uploaded before. Where Slack keeps refusing blocks that show it, it is sent as a
    file named `file_name`, without buttons, and its id is returned. Raises SlackApiError and what
    else the client raises.
    """

    async def post(blocks: Sequence[Block]) -> str:
        sent = await client.chat_postMessage(
            channel=channel,
            thread_ts=thread,
            metadata=dict(metadata),
            blocks=blocks,
            **compose_text(reply),
        )
        return str(sent["ts"])

    if not reply.picture:
        return await post(render_blocks(reply))
    if posted := await _post_with_picture(client, reply, post):
        return posted
    sent = await client.files_upload_v2(
        channel=channel,
        thread_ts=thread,
        content=reply.picture,
        filename=file_name,
        title=reply.picture_name,
        initial_comment=escape_mrkdwn(render_fallback(reply)),
    )
    return str(sent["files"][0]["id"])


async def _post_with_picture(
    client: AsyncWebClient, reply: Reply, post: Callable[[Sequence[Block]], Awaitable[str]]
) -> str | None:
    """Upload the picture of a reply and post blocks that show it; return None if Slack keeps
    refusing them: it reads a file after it has taken it, and knows of none until then."""
    taken = await client.files_upload_v2(
        content=reply.picture, filename=reply.picture_name, title=reply.picture_name
    )
    blocks = render_blocks(reply, picture=str(taken["files"][0]["id"]))
    for pause in _PAUSES:
        try:
            return await post(blocks)
        except SlackApiError as error:
            if read_code(error) != "invalid_blocks":
                raise
        await asyncio.sleep(pause)
    return None


def compose_text(reply: Reply) -> dict[str, Any]:
    """Return what stands beside the blocks of a message."""
    return {"text": render_fallback(reply), "unfurl_links": False, "unfurl_media": False}
