"""`presagio posts --dry-run`: what would be posted in each chat, and why not the rest."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.feeds import ChatName, chat_named
from bot.cli.shared import Csv, Json, command_of
from bot.commands.upcoming import REASONS
from bot.console.screen import Output
from bot.i18n.words import words_for
from bot.jobs.digest import count_unchosen, preview_selection
from bot.replies.prophecy import hit_view
from db.posting.subscriptions import Subscriptions
from engine.errors import UsageError
from engine.posting.choose import Selection, judgment_of
from engine.posting.delivery import FindState, PostingMode, SelectedFind, Subscription
from engine.posting.schedule import next_planned

if TYPE_CHECKING:
    from bot.app import App

_POST_COLUMNS = (
    *("chat", "headline", "link", "published", "source"),
    *("tweet", "tweet_id", "tweet_url", "created_at", "judgment", "score"),
)
_WORDS = words_for("en", operator=True)
_SPAN = re.compile(r"(\d{1,4})([mhd])", re.ASCII)
_UNITS = {"m": "minutes", "h": "hours", "d": "days"}


def read_span(text: str) -> timedelta:
    """Parse a duration such as "90m", "24h" or "2d". Raises UsageError."""
    match = _SPAN.fullmatch(text.strip().lower())
    if match is None:
        raise UsageError(f"{text!r} is no span of time.", fix="Write it as 90m, 24h or 2d.")
    return timedelta(**{_UNITS[match[2]]: int(match[1])})


def _require_dry_run(
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Post nothing: show what would be posted.")
    ] = False,
) -> None:
    if not dry_run:
        raise UsageError(
            "Nothing was posted: presagio serve and presagio run-once do that.",
            fix="Pass --dry-run to see what they would post.",
        )


async def write_previews(
    app: "App",
    *,
    since: Annotated[
        timedelta,
        typer.Option(
            "--since",
            parser=read_span,
            metavar="<str>",
            help="How far to look back, such as 90m, 24h or 2d.",
        ),
    ] = "24h",  # type: ignore[assignment]  # the parser reads it
    chat: ChatName = "",
    json: Json = False,
    csv: Csv = False,
    now: datetime,
    output: Output,
) -> None:
    """Show what would be posted in each chat, and why not the rest.

    Example: presagio posts --dry-run --since 24h
    """
    if chat:
        named = await chat_named(app, chat)
        stored = await Subscriptions(app.database).get(named)
        subscriptions = [stored or Subscription(chat=named, mode=PostingMode.OFF)]
    else:
        subscriptions = list(await Subscriptions(app.database).active())
    if not subscriptions and not (json or csv):
        output.line("No chat is subscribed; see /subscribe.")
    previews = [
        await _build_preview(app, subscription, now - since, now) for subscription in subscriptions
    ]
    if csv:
        rows = [
            {"chat": preview.subscription.chat.key} | _post_row(post)
            for preview in previews
            for post in preview.selection.selected
        ]
        output.csv(rows, _POST_COLUMNS)
        return
    for number, preview in enumerate(previews):
        if json:
            output.json(preview.row())
            continue
        if number:
            output.line()
        for line in preview.lines():
            output.line(line)


command = command_of(write_previews, before=_require_dry_run)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Preview:
    """What would be posted in one chat."""

    subscription: Subscription
    selection: Selection
    unfound: dict[str, int]  # number of stories without candidates, by reason
    next_post: datetime | None

    def row(self) -> dict[str, object]:
        """Return the preview as one JSON object."""
        subscription = self.subscription
        return {
            "chat": subscription.chat.key,
            "title": subscription.chat.title,
            "mode": subscription.mode.value,
            "next_post": self.next_post,
            "posts": [_post_row(post) for post in self.selection.selected],
            "left_out": [
                {
                    "headline": refused.find.story.title,
                    "link": refused.find.story.link,
                    "reason": refused.reason.value,
                }
                for refused in self.selection.rejected
            ],
            "unfound": self.unfound,
        }

    def lines(self) -> Iterator[str]:
        """Yield the preview as lines of text."""
        when = f", next post {self.next_post:%Y-%m-%d %H:%M}Z" if self.next_post else ""
        title = f" ({self.subscription.chat.title})" if self.subscription.chat.title else ""
        yield f"{self.subscription.chat.key}{title}: {self.subscription.mode}{when}"
        for number, post in enumerate(self.selection.selected, start=1):
            view = hit_view(post.hit, post.find.story.published, _WORDS)
            yield f"{number}. {post.find.story.title}"
            yield f"   {view.date_text}, {view.age}: {' '.join(view.text.split())}"
        if not self.selection.selected:
            yield "Nothing would be posted."
        for left_out in self.selection.rejected:
            reason = _WORDS.say(REASONS[left_out.reason])
            yield f"-  {left_out.find.story.title}: {reason}"
        for why, stories in self.unfound.items():
            yield f"-  {stories:,} more stories: {why}"


async def _build_preview(
    app: "App", subscription: Subscription, since: datetime, now: datetime
) -> _Preview:
    tally = await count_unchosen(app, subscription.chat, since=since)
    named = {
        "too few words in common with any tweet": tally.get(FindState.DULL),
        "waiting for the model": tally.get(FindState.PROMISING),
        "not searched yet": tally.get(None),
    }
    return _Preview(
        subscription=subscription,
        selection=await preview_selection(app, subscription, since=since, now=now),
        unfound={why: stories for why, stories in named.items() if stories},
        next_post=next_planned(subscription, now),
    )


def _post_row(selected: SelectedFind) -> dict[str, object]:
    story, find = selected.find.story, selected.hit.candidate
    return {
        "headline": story.title,
        "link": story.link,
        "published": story.published,
        "source": story.source,
        "tweet": find.text,
        "tweet_id": find.external_id,
        "tweet_url": find.url,
        "created_at": find.created_at,
        "judgment": judgment_of(selected.hit),
        "score": round(selected.hit.score, 4),
    }
