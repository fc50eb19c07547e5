"""Addresses of pages and pictures of this server, as programs get them beside what they ask for."""

from dataclasses import dataclass
from datetime import datetime
from typing import Self
from urllib.parse import quote, urlencode

from fastapi import Request

from bot.card import can_draw
from bot.web.rendering import has_picture
from bot.web.shared_state import SharedState
from bot.web.visitor import format_day, own_address
from engine.search import Prophecy

Links = dict[str, str | None]  # page_url, picture_url


@dataclass(frozen=True, slots=True)
class Addresses:
    """Addresses that begin with `origin`; without one, or without pages, there are none."""

    origin: str = ""
    draws: bool = False

    @classmethod
    def of(cls, shared: SharedState, request: Request | None) -> Self:
        """Return the addresses as whoever sent the request, if it came by HTTP, reaches them."""
        origin = own_address(request) if request else shared.own.address
        return cls(origin if shared.settings.web.page else "", can_draw())

    def of_text(self, corpus: str, external_id: str) -> Links:
        """Return the links of a text."""
        name = quote(external_id)
        return self._build_links(f"/documents/{corpus}/{name}", f"/card/{corpus}/{name}.png")

    def of_prophecy(self, prophecy: Prophecy, headline: str, date: datetime) -> Links:
        """Return the links of an answer; it has a picture if the page has one."""
        parameters = {"headline": headline, "date": format_day(date), "corpus": prophecy.corpus}
        query = urlencode(parameters)
        picture = f"/picture.png?{query}" if has_picture(prophecy) else None
        return self._build_links(f"/prophecy?{query}", picture)

    def _build_links(self, page: str, picture: str | None) -> Links:
        drawn = self.origin and self.draws and picture
        return {
            "page_url": self.origin + page if self.origin else None,
            "picture_url": f"{self.origin}{picture}" if drawn else None,
        }
