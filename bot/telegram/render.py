"""Renders replies for Telegram: HTML within its limits, and inline keyboards."""

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from telegram import InlineKeyboardButton, InlineKeyboardMarkup

from bot.replies.limits import cut, split, utf16_length
from bot.reply import LONGEST_SMALL, Button, HitView, ItemView, Reply

LONGEST_TEXT = 4096  # UTF-16 units, after entities are parsed
LONGEST_CAPTION = 1024
LONGEST_TOAST = 200
_LONGEST_LABEL = 60
_LONGEST_ITEM = 150  # UTF-16 units; a message may list ten headlines with a tweet each
_LONGEST_LINK = 500
_LONGEST_REASON = 160
# Telegram takes a name after an @ for one of its users, and notifies them; no address of mail, and
# no command for a bot.
_NAME = re.compile(r"(?<!\w)@(?=[A-Za-z0-9_]{2,32}(?!\w))")
_JOINER = "\u2060"  # invisible
# It makes links of names of hosts, and commands of words after a slash, too.
_LINKED = re.compile(
    r"^[ \t]*https?://\S+[ \t]*$"
    r"|(?P<before>(?<![\w/])/(?=\w)|:(?=//)|(?<=\w)[.。．｡](?=[^\W\d_]))",
    re.MULTILINE,
)

# Room for the headline, facts, links and notices of three hits, apart from their texts.
_FEWEST_FOR_A_TEXT = 80


@dataclass(frozen=True, slots=True)
class MarkupLine:
    """Visible text and the markup around it, kept apart to count only visible characters."""

    text: str
    before: str = ""
    after: str = ""
    label: str = ""  # the part of the text that is a link
    address: str | None = None

    @property
    def html(self) -> str:
        """The line as HTML."""
        markup = escape_html(self.text)
        if self.label and self.address:
            label = escape_html(self.label)
            link = f'<a href="{html.escape(self.address)}">{label}</a>'
            markup = markup.replace(label, link, 1)
        return f"{self.before}{markup}{self.after}"


def escape_html(text: str) -> str:
    """Return text in which Telegram finds no tags."""
    return html.escape(text, quote=False)


def defuse_mentions(text: str) -> str:
    """Return a quoted text in which nothing counts as a mention of somebody in the chat."""
    return _NAME.sub(f"@{_JOINER}", text)


def _defuse_links(reply: Reply, text: str) -> str:
    """Return words of a reply in which only those of the bot itself lead anywhere."""
    if reply.inert:
        text = _LINKED.sub(
            lambda found: f"{found[0]}{_JOINER}" if found["before"] else found[0], text
        )
    return defuse_mentions(text)


def render_messages(reply: Reply, limit: int = LONGEST_TEXT) -> list[str]:
    """Return the HTML of the messages that show a reply; answers with hits are one message."""
    if reply.hits or reply.headline or reply.items:
        return [_render_answer(reply, limit)]
    notice = defuse_mentions(reply.notice or "")
    if reply.copies:
        lines = [*_mark_copies(reply), *([MarkupLine(f"\n\n{notice}")] if notice else [])]
        if utf16_length("".join(line.text for line in lines)) <= limit:
            return ["".join(line.html for line in lines)]
    text = "\n\n".join(filter(None, (_defuse_links(reply, reply.text or ""), notice)))
    return [escape_html(piece) for piece in split(text, limit, utf16_length)]


def _mark_copies(reply: Reply) -> Iterator[MarkupLine]:
    """Yield the text of a reply. Telegram makes links of nothing in a part that is to be copied, so
    nothing invisible is needed there."""
    rest = reply.text or ""
    for copied in reply.copies:
        before, there, rest = rest.partition(copied)
        yield MarkupLine(_defuse_links(reply, before))
        if there:  # the end may have been cut off
            yield MarkupLine(copied, "<pre>", "</pre>")
    yield MarkupLine(_defuse_links(reply, rest))


def render_caption(reply: Reply) -> str:
    """Return the HTML of the caption of a reply's picture, or "" if it has none."""
    return next(iter(render_messages(reply, LONGEST_CAPTION)), "")


def render_keyboard(buttons: Sequence[Sequence[Button]]) -> InlineKeyboardMarkup | None:
    """Return the buttons below a message, or None."""
    rows = [
        [
            InlineKeyboardButton(
                cut(button.label, _LONGEST_LABEL), callback_data=str(button.action)
            )
            for button in row
        ]
        for row in buttons
        if row
    ]
    return InlineKeyboardMarkup(rows) if rows else None


def _render_answer(reply: Reply, limit: int) -> str:
    """Cut every tweet to an equal share of the remaining room; short ones leave more to others."""
    around = _count_visible(_render_lines(reply, 0))
    room = max(limit - around, 0)
    hits = (*reply.hits, *(item.hit for item in reply.items))
    share = max(_fair_share([_measure_text(hit) for hit in hits], room), _FEWEST_FOR_A_TEXT)
    lines = _render_lines(reply, share)
    while _count_visible(lines) > limit and lines:  # a headline or a notice that is far too long
        lines = lines[:-1]
    return "\n".join(line.html for line in lines)


def _measure_text(hit: HitView) -> int:
    """Return the length of a hit's text before it shares the room with others."""
    length = utf16_length(defuse_mentions(hit.text))
    return min(length, LONGEST_SMALL) if hit.small else length


def _fair_share(lengths: Sequence[int], room: int) -> int:
    """Return the length to which the longest texts must be cut so that all of them fit."""
    shares = len(lengths)
    rest = room
    for position, length in enumerate(sorted(lengths)):
        share = rest // (shares - position)
        if length > share:
            return share
        rest -= length
    return room


def _render_lines(reply: Reply, share: int) -> list[MarkupLine]:
    lines = []
    if reply.headline:
        lines += [
            MarkupLine(cut(defuse_mentions(reply.headline), 300, utf16_length), "<b>", "</b>"),
            MarkupLine(""),
        ]
    if reply.text:
        text = cut(_defuse_links(reply, reply.text), 1000, utf16_length)
        lines += [MarkupLine(text), MarkupLine("")]
    for hit in reply.hits:
        lines += [*_render_hit(hit, reply, share), *([] if hit.small else [MarkupLine("")])]
    for item in reply.items:
        lines += [_render_item(item), *_render_hit(item.hit, reply, share), MarkupLine("")]
    if reply.notice:
        gap = [MarkupLine("")] if reply.hits and reply.hits[-1].small else []
        notice = cut(defuse_mentions(reply.notice), 400, utf16_length)
        lines += [*gap, MarkupLine(notice, "<i>", "</i>")]
    return lines


def _render_item(item: ItemView) -> MarkupLine:
    headline = cut(defuse_mentions(item.headline), _LONGEST_ITEM, utf16_length)
    if not item.link or len(item.link) >= _LONGEST_LINK:
        return MarkupLine(headline, "<b>", "</b>")
    return MarkupLine(headline, f'<b><a href="{html.escape(item.link)}">', "</a></b>")


def _render_hit(hit: HitView, reply: Reply, share: int) -> list[MarkupLine]:
    address = hit.url if hit.url and len(hit.url) < _LONGEST_LINK else None
    label = hit.date_text or f"{hit.rank}."
    when = [part for part in (hit.age, hit.date_text) if part]
    if hit.small:
        text = cut(
            " ".join(defuse_mentions(hit.text).split()), min(share, LONGEST_SMALL), utf16_length
        )
        facts = (*map(defuse_mentions, hit.introduction), hit.date_text, *hit.marks(reply.words))
        facts_line = " · ".join(filter(None, facts))
        line = f"{hit.rank}. {facts_line}: {text}" if facts_line else f"{hit.rank}. {text}"
        return [MarkupLine(line, label=label, address=address)]
    author = [defuse_mentions(hit.signature)] if hit.signature else []
    marks = ", ".join(hit.marks(reply.words))
    facts_line = " · ".join(part for part in (*when, *author, marks) if part)
    lines = [
        MarkupLine(
            f"{hit.rank}. {facts_line}".rstrip(), "<b>", "</b>", label=label, address=address
        )
    ]
    if not reply.picture:  # which shows the text
        quote = cut(defuse_mentions(hit.text), share, utf16_length)
        lines.append(MarkupLine(quote, "<blockquote>", "</blockquote>"))
    remarks = map(defuse_mentions, hit.remarks(reply.words))
    lines += [
        MarkupLine(cut(said, _LONGEST_REASON, utf16_length), "<i>", "</i>") for said in remarks
    ]
    return lines


def _count_visible(lines: Sequence[MarkupLine]) -> int:
    return sum(utf16_length(line.text) + 1 for line in lines)
