"""The hours in which a chat does not want to hear anything unasked."""

from datetime import datetime

from engine.chat import Chat
from engine.zones import zone_or_utc


def is_quiet(chat: Chat, now: datetime) -> bool:
    """Tell whether `now` lies in the chat's quiet hours, which may span midnight."""
    start, end = chat.quiet_from, chat.quiet_to
    if start is None or end is None:
        return False
    local = now.astimezone(zone_or_utc(chat.time_zone)).time()
    return start <= local < end if start < end else local >= start or local < end
