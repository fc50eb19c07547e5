"""Sends events to webhooks; implements bot.face.face.Poster.

An event may arrive twice: a receiver that answers late has it already. Its id is then the same.
"""

from collections.abc import Callable, Mapping
from datetime import datetime

from bot.face.face import ChatGone, DeliveryError, Refused, SlowDown, Unsure
from bot.face.reply import Reply
from bot.webhooks.targets import WebhookTarget, signed_headers
from engine.chat import WEBHOOKS, Chat
from engine.errors import FetchError, FetchRefused
from engine.feeds.decide import requested_pause
from engine.fetch.client import Answered, Fetcher
from engine.fetch.faults import shown_host
from engine.messages import Message
from engine.settings.reading import FetchSettings

_SECONDS = 20.0  # for one attempt
_LONGEST_PAUSE = 3600.0  # a receiver may ask for, in seconds
_GONE = 410
_LIMITED = frozenset({429, 503})


class WebhookOff(ChatGone):
    """The receiver answered that it is gone. Operators are told."""

    plain = Message("A webhook has been turned off.")


class WebhookPoster:
    """Sends to the webhooks of the settings, each through its own guarded connections."""

    platform = WEBHOOKS

    def __init__(
        self, targets: Mapping[str, WebhookTarget], *, contact: str, now: Callable[[], datetime]
    ) -> None:
        self._targets = targets
        self._now = now
        self._fetchers = {
            name: Fetcher(
                FetchSettings(
                    allow_networks=one.settings.allow_networks, user_agent_contact=contact
                )
            )
            for name, one in targets.items()
        }

    async def post(
        self,
        chat: Chat,
        thread: str | None,  # noqa: ARG002 - a webhook has none
        reply: Reply,
        *,
        key: str,  # noqa: ARG002 - the event has an id of its own
    ) -> str:
        """Send the event and return its id. Raises as documented in Poster."""
        target = self._targets.get(chat.external_id)
        if target is None:
            raise Refused(Message("The settings name no webhook {name}.", name=chat.external_id))
        if reply.event is None:
            raise Refused(Message("Webhooks are told of prophecies alone."))
        url, now = target.settings.url, self._now()
        try:
            answered = await self._fetchers[chat.external_id].post(
                url,
                body=reply.event.body,
                headers=signed_headers(target, reply.event, now=now),
                seconds=_SECONDS,
            )
        except FetchRefused as error:
            raise DeliveryError(error.message) from error
        except FetchError as error:
            raise Unsure(error.message) from error
        if answered.status == _GONE:
            raise WebhookOff(
                Message("{host} wants no more events (410).", host=shown_host(url)),
                fix=Message("Run: presagio webhooks resume {name}", name=chat.external_id),
            )
        _require_accepted(answered, shown_host(url), now)
        return reply.event.id

    async def find_posted(self, *_: object) -> str | None:
        """Return None: a receiver cannot be asked, and knows an event again by its id."""
        return None

    async def close(self) -> None:
        """Close the connections."""
        for fetcher in self._fetchers.values():
            await fetcher.aclose()


def _require_accepted(answered: Answered, host: str, now: datetime) -> None:
    """Raise unless the receiver answered 2xx. A redirect is a failure as well."""
    status = answered.status
    if status // 100 == 2:
        return
    pause = min(requested_pause(answered.retry_after, now), _LONGEST_PAUSE)
    if status in _LIMITED and pause:
        raise SlowDown(pause)
    if status // 100 == 3:
        raise DeliveryError(
            Message("{host} redirects ({status}), which is not followed.", host=host, status=status)
        )
    raise DeliveryError(
        Message("{host} did not accept the event ({status}).", host=host, status=status)
    )
