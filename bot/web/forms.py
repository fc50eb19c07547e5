"""What forms send, and what may be sent in them."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from urllib.parse import parse_qs

from fastapi import Request
from starlette.requests import ClientDisconnect

from bot.dates import read_date
from bot.web.failures import Refusal
from bot.web.parameters import LONGEST_TEXT
from bot.web.views import day_of
from engine.errors import UsageError

_LONGEST_FORM = 20_000  # bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the form of a prophecy says; its address is the link to the answer."""

    headline: str
    date: datetime | None
    corpus: str

    @property
    def day(self) -> str:
        """The date as the form writes it; "" without one."""
        return day_of(self.date) if self.date else ""


def read_asked(values: Mapping[str, str]) -> Asked:
    """Read the form. Raises UsageError."""
    headline = " ".join(values.get("headline", "").split())
    if len(headline) > LONGEST_TEXT:
        raise UsageError(f"A headline has no more than {LONGEST_TEXT} characters.")
    date = values.get("date", "").strip()
    return Asked(
        headline=headline,
        date=read_date(date) if date else None,
        corpus=values.get("corpus", "").strip(),
    )


def require_same_site(request: Request) -> None:
    """Refuse a vote that another site's page sends in a visitor's name."""
    site = request.headers.get("sec-fetch-site")
    origin = request.headers.get("origin")
    foreign = (site not in (None, "same-origin", "none")) or (
        origin is not None and origin.partition("://")[2] != request.headers.get("host")
    )
    if foreign:
        raise Refusal(HTTPStatus.FORBIDDEN, "A vote has to come from this page.")


async def read_form(request: Request) -> dict[str, str]:
    """Read a short form. Raises Refusal."""
    body = b""
    try:
        async for part in request.stream():
            body += part
            if len(body) > _LONGEST_FORM:
                raise Refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "The form is too long.")
    except ClientDisconnect:
        raise Refusal(HTTPStatus.BAD_REQUEST, "The form did not come whole.") from None
    read = parse_qs(body.decode("utf-8", "replace"))
    return {name: values[-1] for name, values in read.items()}
