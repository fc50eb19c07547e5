"""What stands in all chats at the end of the week, as text, and what is wrong with it.

A message is shown as it is in the end; what was edited or deleted says so.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from tests.fakes import slack, telegram
from tests.scenarios.seats import Passing

# Characters of a text, of a caption, of what passes above a button. Slack's is that of a section.
LONGEST = {"text": 4096, "caption": 1024, "passing": 200, "slack": 3000}
_PEOPLE_ARE_UP = 11  # o'clock


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """Something that somebody said, or that the bot did."""

    at: float  # seconds since 1970
    chat: str
    who: str
    bot: bool
    text: str
    kind: str = "text"  # a key of LONGEST
    buttons: Sequence[str] = ()
    remarks: Sequence[str] = ()
    reply: bool = False
    thread: str = ""


def lines(
    on_telegram: telegram.TelegramServer, on_slack: slack.SlackServer, passing: Iterable[Passing]
) -> list[Line]:
    """Return all that was said, chat by chat, oldest first."""
    found = [
        _on_telegram(message)
        for chat in on_telegram.world.chats.values()
        for message in chat.history
        if not message.is_service
    ]
    found += [
        _on_slack(message, on_slack.bot)
        for channel in on_slack.workspace.channels.values()
        for message in channel.messages + channel.ephemerals
        if message.subtype != "channel_join"
    ]
    found += [
        Line(
            at=one.at,
            chat=one.chat,
            who=one.who,
            bot=not one.command,
            text=one.command or one.words,
            kind="command" if one.command else "passing",
            remarks=() if one.command else (f"pressed {one.button}",),
        )
        for one in passing
    ]
    return sorted(found, key=lambda one: (one.chat, one.at))


def _on_telegram(message: telegram.Message) -> Line:
    remarks = {
        "picture": message.photo,
        "silent": message.silent,
        "edited": message.edits,
        "deleted": message.deleted,
    }
    forum = message.chat.topics.get(message.thread_id or 0)
    sender = message.sender.first_name if message.sender else message.chat.title
    return Line(
        at=message.date,
        chat=message.chat.title,
        who=sender,
        bot=message.from_bot,
        text=message.text,
        kind="caption" if message.photo else "text",
        buttons=message.labels,
        remarks=[name for name, holds in remarks.items() if holds],
        reply=message.reply_to is not None,
        thread=forum.name if forum else "",
    )


def _on_slack(message: slack.Message, bot: slack.Person) -> Line:
    remarks = {
        "picture": any(block["type"] == "image" for block in message.blocks),
        "edited": message.earlier_texts,
        "deleted": message.deleted,
        "for one alone": message.ephemeral_to,
    }
    shown = message.visible.splitlines()
    if (labels := message.labels) and shown[-len(labels) :] == labels:  # they are listed apart
        shown = shown[: -len(labels)]
    return Line(
        at=float(message.ts),
        chat=f"#{message.channel.name}",
        who=message.author.name,
        bot=message.author is bot,
        text="\n".join(shown),
        kind="slack",
        buttons=labels,
        remarks=[name for name, holds in remarks.items() if holds],
        reply=message.thread_ts is not None,
    )


def written(said: Sequence[Line]) -> str:
    """Return the transcript."""
    parts: list[str] = []
    chat = day = ""
    for line in said:
        if line.chat != chat:
            chat, day = line.chat, ""
            parts.append(f"\n== {chat} ==\n")
        moment = datetime.fromtimestamp(line.at, UTC)
        if f"{moment:%A}" != day:
            day = f"{moment:%A}"
            parts.append(f"-- {day}\n")
        parts.append(_written(line, moment))
    return "\n".join(parts)


def _written(line: Line, moment: datetime) -> str:
    about = [line.thread and f"in {line.thread}", "in reply" if line.reply else "", *line.remarks]
    remarks = ", ".join(filter(None, about))
    head = f"{moment:%H:%M} {line.who}" + (f" ({remarks})" if remarks else "")
    body = [f"    {splitline}" for splitline in line.text.splitlines()]
    if line.buttons:
        body.append("    " + " ".join(f"[{button}]" for button in line.buttons))
    return "\n".join([head, *body, ""])


def too_long(said: Iterable[Line]) -> list[str]:
    """Return what the bot said at more length than its platform shows."""
    return [one.text for one in said if one.bot and len(one.text) > LONGEST[one.kind]]


def posted(said: Iterable[Line], headlines: Collection[str]) -> Counter[tuple[str, str, str]]:
    """Count the headlines that the bot posted in each chat or topic: in the morning, unasked."""
    return Counter(
        (line.chat, line.thread, headline)
        for line in said
        if line.bot and datetime.fromtimestamp(line.at, UTC).hour < _PEOPLE_ARE_UP
        for headline in headlines
        if headline in line.text
    )


def unasked(said: Sequence[Line]) -> list[str]:
    """Return what the bot said among others by day that is no reply.

    What it posts in the morning was subscribed to. Commands on Slack are no messages that could be
    replied to: as many answers as there were commands were asked for.
    """
    people = {line.chat: set[str]() for line in said}
    for line in said:
        if not line.bot:
            people[line.chat].add(line.who)
    by_day = [
        line
        for line in said
        if len(people[line.chat]) > 1
        and line.kind != "passing"
        and datetime.fromtimestamp(line.at, UTC).hour >= _PEOPLE_ARE_UP
    ]
    asked = Counter(line.chat for line in by_day if line.kind == "command")
    alone = {chat: [one.text for one in by_day if _is_alone(one, chat)] for chat in people}
    return [text for chat, texts in alone.items() for text in texts[asked[chat] :]]


def _is_alone(line: Line, chat: str) -> bool:
    return line.chat == chat and line.bot and not line.reply
