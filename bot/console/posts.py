"""`presagio posts --dry-run`: what would be posted where, and why not the rest."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.app import App
from bot.commands.reasons import reason_of
from bot.console.feeds import chat_named
from bot.console.output import Output
from bot.jobs.digest import Deciding, choice_for
from bot.jobs.works import deciding_of
from bot.prophecy_reply import hit_view
from bot.words import words_for
from db.finds import Finds
from engine.posting.choose import Choice, judgment_of
from engine.posting.times import next_planned
from engine.posting.types import Chosen, FindState, Mode, Subscription

_WORDS = words_for("en")


@dataclass(frozen=True, slots=True, kw_only=True)
class PostOptions:
    """What was asked for. `chat` "" stands for every chat that is subscribed."""

    since: timedelta
    chat: str
    json: bool


async def dry_run(app: App, chosen: PostOptions, *, now: datetime, output: Output) -> None:
    """Write, for each chat, what would be posted now. Raises InputError for an unknown chat."""
    deciding = deciding_of(app)
    subscriptions = await _subscriptions(app, deciding, chosen.chat)
    if not subscriptions and not chosen.json:
        output.line("No chat is subscribed; see /subscribe.")
    for number, wish in enumerate(subscriptions):
        preview = await _preview(app, deciding, wish, now - chosen.since, now)
        if chosen.json:
            output.json(preview.row())
            continue
        if number:
            output.line()
        for line in preview.lines():
            output.line(line)


async def _subscriptions(app: App, deciding: Deciding, name: str) -> Sequence[Subscription]:
    if not name:
        return await deciding.subscriptions.active()
    chat = await chat_named(app, name)
    wish = await deciding.subscriptions.get(chat)
    return [wish or Subscription(chat=chat, mode=Mode.OFF)]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Preview:
    """What one chat would be told."""

    wish: Subscription
    choice: Choice
    unfound: dict[str, int]  # stories without anything to choose from, by why
    next_post: datetime | None

    def row(self) -> dict[str, object]:
        """Everything, as one JSON object."""
        wish = self.wish
        return {
            "chat": _name(wish),
            "title": wish.chat.title,
            "mode": wish.mode.value,
            "next_post": self.next_post,
            "posts": [_post(one) for one in self.choice.chosen],
            "left_out": [
                {
                    "headline": one.find.story.title,
                    "link": one.find.story.link,
                    "reason": one.reason.value,
                }
                for one in self.choice.left_out
            ],
            "unfound": self.unfound,
        }

    def lines(self) -> Iterator[str]:
        """The same for a person."""
        when = f", next post {self.next_post:%Y-%m-%d %H:%M}Z" if self.next_post else ""
        title = f" ({self.wish.chat.title})" if self.wish.chat.title else ""
        yield f"{_name(self.wish)}{title}: {self.wish.mode}{when}"
        for number, one in enumerate(self.choice.chosen, start=1):
            view = hit_view(one.hit, one.find.story.published, _WORDS)
            yield f"{number}. {one.find.story.title}"
            yield f"   {view.date_text}, {view.age}: {' '.join(view.text.split())}"
        if not self.choice.chosen:
            yield "Nothing would be posted."
        for left_out in self.choice.left_out:
            reason = reason_of(left_out, self.wish, _WORDS)
            yield f"-  {left_out.find.story.title}: {reason}"
        for why, stories in self.unfound.items():
            yield f"-  {stories:,} more stories: {why}"


async def _preview(
    app: App, deciding: Deciding, wish: Subscription, since: datetime, now: datetime
) -> _Preview:
    corpus = await deciding.corpus(wish.chat)
    tally = (
        await Finds(app.database).tally(wish.chat, corpus, since=since)
        if corpus is not None
        else {}
    )
    named = {
        "too few words in common with any tweet": tally.get(FindState.DULL, 0),
        "waiting for the model": tally.get(FindState.PROMISING, 0),
        "not searched yet": tally.get(None, 0),
    }
    return _Preview(
        wish=wish,
        choice=await choice_for(deciding, wish, since=since, now=now),
        unfound={why: stories for why, stories in named.items() if stories},
        next_post=next_planned(wish, now),
    )


def _name(wish: Subscription) -> str:
    return f"{wish.chat.platform}:{wish.chat.external_id}"


def _post(chosen: Chosen) -> dict[str, object]:
    story, found = chosen.find.story, chosen.hit.candidate
    return {
        "headline": story.title,
        "link": story.link,
        "published": story.published,
        "source": story.source,
        "tweet": found.text,
        "tweet_id": found.external_id,
        "tweet_url": found.url,
        "created_at": found.created_at,
        "judgment": judgment_of(chosen.hit),
        "score": round(chosen.hit.score, 4),
    }
