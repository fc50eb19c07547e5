"""Replies as Slack shows them: Block Kit within its limits."""

from collections.abc import Sequence

from slack_sdk.models.blocks import (
    ActionsBlock,
    Block,
    ButtonElement,
    ContextBlock,
    DividerBlock,
    HeaderBlock,
    MarkdownTextObject,
    PlainTextObject,
    SectionBlock,
)

from bot.cut import cut, split
from bot.reply import Button, HitView, Reply

LONGEST_SECTION = 3000
LONGEST_HEADER = 150
LONGEST_TEXT = 40_000
_LONGEST_LABEL = 75
_LONGEST_TWEET = 2400  # escaped, "&amp;" takes five
_MOST_BLOCKS = 50
ACTION_PREFIX = "presagio:"


def escaped(text: str) -> str:
    """Return text in which Slack sees neither markup that calls people nor a link."""
    return text.replace("\0", "").replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def link(url: str, label: str) -> str:
    """Return a link; the characters that would end it early are taken out of the address."""
    safe = url.replace("|", "%7C").replace(">", "%3E").replace("<", "%3C").replace(" ", "%20")
    return f"<{safe}|{escaped(label)}>"


def fallback(reply: Reply) -> str:
    """Return the text for notifications and screen readers."""
    parts = [reply.headline, reply.text, *(hit.text for hit in reply.hits[:1]), reply.notice]
    return escaped(cut(" · ".join(part for part in parts if part), 300)) or "…"


def blocks(reply: Reply) -> list[Block]:
    """Return the blocks that show a reply."""
    found: list[Block] = []
    if reply.headline:
        found.append(HeaderBlock(text=PlainTextObject(text=cut(reply.headline, LONGEST_HEADER))))
    for piece in split(reply.text or "", LONGEST_SECTION // 5 * 4):
        found.append(_section(quoted_lines(piece)))
    for hit in reply.hits:
        found += _hit(hit, reply)
    if reply.notice:
        found.append(_context(f"_{escaped(cut(reply.notice, 500))}_"))
    return [*found[: _MOST_BLOCKS - 8], *actions(reply.buttons)]


def actions(buttons: Sequence[Sequence[Button]]) -> list[Block]:
    """Return a block for each row of buttons."""
    return [
        ActionsBlock(
            block_id=f"{ACTION_PREFIX}{number}",
            elements=[
                ButtonElement(
                    text=PlainTextObject(text=cut(button.label, _LONGEST_LABEL), emoji=True),
                    # Ids of one block must differ; what the button asks for is its value.
                    action_id=f"{ACTION_PREFIX}{number}:{position}",
                    value=str(button.action),
                )
                for position, button in enumerate(row)
            ],
        )
        for number, row in enumerate(buttons)
        if row
    ]


def quoted_lines(text: str) -> str:
    """Return text as mrkdwn that has no markup of its own."""
    return cut(escaped(text), LONGEST_SECTION)


def _hit(hit: HitView, reply: Reply) -> list[Block]:
    author = [f"@\u2060{hit.author}"] if hit.author else []  # a word joiner: no mention
    marks = [", ".join(hit.marks(reply.words))] if hit.marks(reply.words) else []
    facts = [f"*{hit.rank}.*", f"*{escaped(hit.age)}*", "·", escaped(hit.date_text)]
    facts += [escaped(part) for part in (*author, f"({hit.score:.2f})", *marks)]
    text = "\n".join(f">{line}" for line in escaped(_shortened(hit.text)).splitlines() or [""])
    found: list[Block] = [DividerBlock(), _context(" ".join(facts)), _section(text)]
    if hit.url and len(hit.url) < 1000:
        found.append(_context(link(hit.url, cut(hit.url.split("://", 1)[-1], 60))))
    return found


def _shortened(text: str) -> str:
    """Cut a text so that it fits once it is escaped and each line is quoted."""
    return cut(text, _LONGEST_TWEET, lambda part: len(escaped(part)) + part.count("\n"))


def _section(text: str) -> SectionBlock:
    return SectionBlock(text=MarkdownTextObject(text=text, verbatim=True))


def _context(text: str) -> ContextBlock:
    return ContextBlock(elements=[MarkdownTextObject(text=text, verbatim=True)])
