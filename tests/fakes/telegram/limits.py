"""Telegram's limits on sending, as an option: 30 a second in all, 1 a chat, 20 a minute a group."""

import math
from collections import defaultdict, deque
from dataclasses import dataclass, field

from tests.fakes.telegram.errors import too_many_requests

Window = deque[float]


@dataclass
class RateLimits:
    """Sliding windows over the times of sending; `burst` is what a chat may send in a row."""

    overall_a_second: int = 30
    chat_burst: int = 3
    group_a_minute: int = 20
    refused: int = 0
    _overall: Window = field(default_factory=deque)
    _chats: dict[int, Window] = field(default_factory=lambda: defaultdict(deque))

    def check(self, chat_id: int, now: float) -> None:
        """Count one message to a chat; Refusal 429 says when to try again."""
        chat = self._chats[chat_id]
        rules = [
            (self._overall, self.overall_a_second, 1.0),
            # One a second on average, in bursts of a few.
            (chat, self.chat_burst, float(self.chat_burst)),
        ]
        if chat_id < 0:
            rules.append((chat, self.group_a_minute, 60.0))
        waits = [_wait(times, maximum, seconds, now) for times, maximum, seconds in rules]
        if (wait := max(waits)) > 0:
            self.refused += 1
            raise too_many_requests(math.ceil(wait))
        self._overall.append(now)
        chat.append(now)


def _wait(times: Window, maximum: int, seconds: float, now: float) -> float:
    """Seconds until one more fits into the window."""
    recent = [moment for moment in times if moment > now - seconds]
    if len(recent) < maximum:
        return 0.0
    return recent[-maximum] + seconds - now
