"""The checks of `presagio doctor` for feeds, jobs, the outbox and webhooks."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.settings import Settings
from bot.settings.news import WebhookSettings
from bot.webhooks.subscribed import WebhookState, webhook_states
from bot.webhooks.targets import targets_of
from db.corpus.corpora import Corpora
from db.pool import Database
from db.posting.feeds import Feeds
from db.posting.job_outcomes import JobOutcome, JobOutcomes, RunOutcome
from db.posting.outbox import Outbox
from engine.chat import WEBHOOKS
from engine.errors import SettingsError
from engine.feeds.types import Feed
from engine.posting.types import OutboxHealth
from engine.text.address import public_address
from engine.types import Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """The result of a check. `ok` None means that it is not set up, which is not a failure."""

    check: str
    ok: bool | None
    detail: str
    fix: str | None = None


_COUNTED = timedelta(days=7)
_LATE = timedelta(minutes=30)  # twice the longest pause between two attempts
_NAMED = 3


async def news_checks(database: Database, settings: Settings, now: datetime) -> list[Check]:
    """Return one check each for feeds, jobs, the outbox, and each webhook. Raises StorageError."""
    feeds = [one.feed for one in await Feeds(database).health(now=now)]
    outcomes = await JobOutcomes(database).summary(now - _COUNTED)
    health = await Outbox(database).health(now - _COUNTED)
    return [
        _feeds(feeds),
        _jobs(outcomes),
        _outbox(health, now),
        *await _webhooks(database, settings, now),
    ]


def _feeds(feeds: Sequence[Feed]) -> Check:
    if not feeds:
        none_yet = "Add one with: presagio feeds add URL"
        return Check(check="feeds", ok=None, detail="none yet", fix=none_yet)
    failing = [feed for feed in feeds if feed.failing_since is not None or feed.gone]
    detail = f"{len(feeds):,} followed, {len(failing):,} failing"
    for feed in failing[:_NAMED]:
        detail += f"; {feed.title or public_address(feed.url)}: {feed.error or 'gone'}"
    told = any(feed.told_failing or feed.gone for feed in failing)
    fix = "See: presagio feeds" if failing else None
    return Check(check="feeds", ok=not told, detail=detail, fix=fix)


def _jobs(outcomes: Sequence[JobOutcome]) -> Check:
    if not outcomes:
        none_yet = "They run in: presagio serve, or once: presagio run-once"
        return Check(check="jobs", ok=None, detail="none has run in 7 days", fix=none_yet)
    by_job: dict[str, list[JobOutcome]] = {}
    for one in outcomes:
        by_job.setdefault(one.job, []).append(one)
    detail = "; ".join(f"{job}: {', '.join(_said(ends))}" for job, ends in by_job.items())
    bad = [job for job, ends in by_job.items() if _ends_badly(ends)]
    fix = f"The last run of {', '.join(bad)} did not end well; see the log." if bad else None
    return Check(check="jobs", ok=not bad, detail=detail, fix=fix)


def _said(ends: Sequence[JobOutcome]) -> Iterator[str]:
    for one in ends:
        error = f" ({one.last_error})" if one.last_error else ""
        yield f"{one.times:,} {one.outcome}{error}"


def _ends_badly(ends: Sequence[JobOutcome]) -> bool:
    """Return whether the last run failed; missed and skipped runs do not count."""
    runs = [one for one in ends if one.outcome not in (RunOutcome.MISSED, RunOutcome.SKIPPED)]
    return bool(runs) and max(runs, key=lambda one: one.last_at).outcome is not RunOutcome.DONE


def _outbox(health: OutboxHealth, now: datetime) -> Check:
    detail = f"{health.owed:,} owed, {health.retried:,} of them tried before"
    detail += f"; {health.failed:,} given up in 7 days"
    if health.last_error:
        detail += f"; last error: {health.last_error}"
    late = health.oldest_owed_at is not None and now - health.oldest_owed_at > _LATE
    fix = "Is presagio serve running, with the tokens of all platforms?" if late else None
    return Check(check="outbox", ok=not late, detail=detail, fix=fix)


async def _webhooks(database: Database, settings: Settings, now: datetime) -> list[Check]:
    if not settings.webhooks:
        return []
    try:
        targets_of(settings)
    except SettingsError as error:
        return [Check(check="webhooks", ok=False, detail=error.message, fix=error.fix)]
    corpora = {one.name: one.kind for one in await Corpora(database).list()}
    states = await webhook_states(database, settings.webhooks)
    return [
        _webhook(hook, state, _unreadable(hook, corpora, settings), now)
        for hook, state in zip(settings.webhooks, states, strict=True)
    ]


def _unreadable(
    hook: WebhookSettings, corpora: Mapping[str, Kind], settings: Settings
) -> str | None:
    """Return how to mend that a webhook cannot be told of its corpus, or None."""
    if hook.corpus and hook.corpus not in corpora:
        return f"There is no corpus {hook.corpus}; see: presagio corpora"
    name = f"{WEBHOOKS}:{hook.name}"
    if corpora.get(hook.corpus) is Kind.PERSONAL and name not in settings.chat.private:
        return f'{hook.corpus} is personal: add "{name}" to private in [chat].'
    return None


def _webhook(
    hook: WebhookSettings, state: WebhookState, unreadable: str | None, now: datetime
) -> Check:
    late = state.oldest_owed_at is not None and now - state.oldest_owed_at > _LATE
    detail = f"{state.host}: {state.sent:,} sent, {state.owed:,} owed, {state.failed:,} given up"
    if state.last_error:
        detail += f"; last error: {state.last_error}"
    fix = unreadable
    if not state.active:
        fix = f"Its receiver answered 410. Run: presagio webhooks resume {hook.name}"
    elif late:
        fix = f"See: presagio webhooks test {hook.name}"
    ok = None if not state.known else fix is None
    return Check(check=f"webhook {hook.name}", ok=False if fix else ok, detail=detail, fix=fix)
