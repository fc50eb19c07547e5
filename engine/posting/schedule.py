"""Schedules daily and instant posts in a chat's time zone, around its quiet hours."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from engine.chat import Chat, zone_or_utc
from engine.posting.delivery import PostingMode, Subscription

GRACE = timedelta(hours=6)  # how late a post may be if the program was not running at its hour
# A post delayed by quiet hours may have to wait through the next ones as well.
_DAYS_BACK = 2
_DAY = timedelta(days=1)
_DAYS_AHEAD = 10  # one weekday of seven, plus a date that the zone may skip


def is_quiet(chat: Chat, now: datetime) -> bool:
    """Return whether `now` is within the chat's quiet hours, which may span midnight."""
    start, end = chat.quiet_from, chat.quiet_to
    if start is None or end is None:
        return False
    local = now.astimezone(zone_or_utc(chat.time_zone)).time()
    return start <= local < end if start < end else local >= start or local < end


def find_due_day(
    subscription: Subscription, now: datetime, last_decided: date | None, grace: timedelta = GRACE
) -> date | None:
    """Return the local date whose daily post is due at `now`, or None.

    `last_decided` is the last local date that was decided, whether posted or not. A post stays due
    for `grace`, not counting quiet hours. Of several missed posts only the last is due.
    """
    if subscription.mode is not PostingMode.DAILY or is_quiet(subscription.chat, now):
        return None
    today = now.astimezone(_find_zone(subscription)).date()
    for day in (today - number * _DAY for number in range(_DAYS_BACK + 1)):
        if last_decided and day <= last_decided:
            return None
        planned = planned_at(subscription, day)
        if planned and planned <= now <= _last_chance(subscription, planned, grace):
            return day
    return None


def planned_at(subscription: Subscription, day: date) -> datetime | None:
    """Return when (UTC) the daily post of a local date is to go out, or None if there is none."""
    zone = _find_zone(subscription)
    if day.weekday() not in subscription.weekdays or not _is_local_day(day, zone):
        return None
    planned = _find_moment(day, subscription.at, zone)
    if subscription.timed_from and planned < subscription.timed_from:
        return None
    if not is_quiet(subscription.chat, planned):
        return planned
    return next(end for _, end in _quiet_hours(subscription, planned) if end > planned)


def next_planned(subscription: Subscription, now: datetime) -> datetime | None:
    """Return when (UTC) the first daily post after `now` is to go out, or None if there is none."""
    if subscription.mode is not PostingMode.DAILY:
        return None
    # Start the day before: quiet hours may have delayed its post until now.
    first = now.astimezone(_find_zone(subscription)).date() - _DAY
    planned = (planned_at(subscription, first + number * _DAY) for number in range(_DAYS_AHEAD))
    return next((moment for moment in planned if moment and moment > now), None)


def next_look(subscription: Subscription, now: datetime) -> datetime:
    """Return until when (UTC) nothing becomes due by the clock alone, once `now` was dealt with.

    Finds may make chats due that are told at once. The answer is at most a day away, whatever
    becomes of the rules of time zones.
    """
    looks = [now + _DAY]
    if is_quiet(subscription.chat, now):
        looks.append(next(end for _, end in _quiet_hours(subscription, now) if end > now))
    if planned := next_planned(subscription, now):
        looks.append(planned)
    if subscription.mode is PostingMode.INSTANT:
        local = now.astimezone(_find_zone(subscription))
        looks.append(_find_moment(local.date() + _DAY, time.min, _find_zone(subscription)))
    return min(looks)


def instant_allowed(subscription: Subscription, now: datetime) -> bool:
    """Return whether a find may be posted immediately at `now`."""
    return (
        subscription.mode is PostingMode.INSTANT
        and now.astimezone(_find_zone(subscription)).weekday() in subscription.weekdays
        and not is_quiet(subscription.chat, now)
    )


def _last_chance(subscription: Subscription, planned: datetime, grace: timedelta) -> datetime:
    end = planned + grace
    for quiet_from, quiet_to in _quiet_hours(subscription, planned):
        if planned < quiet_from < end:
            end += quiet_to - quiet_from
    return end


def _quiet_hours(
    subscription: Subscription, around: datetime
) -> Iterator[tuple[datetime, datetime]]:
    """Yield the start and end of the chat's quiet hours from the day before `around`, in order."""
    start, end = subscription.chat.quiet_from, subscription.chat.quiet_to
    if start is None or end is None:
        return
    zone = _find_zone(subscription)
    first = around.astimezone(zone).date() - _DAY
    for day in (first + number * _DAY for number in range(_DAYS_BACK + 2)):
        last = day if start < end else day + _DAY
        yield _find_moment(day, start, zone), _find_moment(last, end, zone)


def _find_moment(day: date, at: time, zone: tzinfo) -> datetime:
    """Return the first moment (UTC) at which clocks show this, or would have, had they not been
    put forward."""
    return datetime.combine(day, at, zone).astimezone(UTC)


def _is_local_day(day: date, zone: tzinfo) -> bool:
    """Return whether this date occurs in the zone."""
    days = (_find_moment(day, at, zone).astimezone(zone).date() for at in (time.min, time.max))
    return day in days


def _find_zone(subscription: Subscription) -> tzinfo:
    return zone_or_utc(subscription.chat.time_zone)
