"""Reads the headline in pasted text; for a link, its page tells the title and the date."""

import asyncio
import logging
from dataclasses import replace
from datetime import datetime

from bot.app import App
from bot.commands.headline_detection import FEWEST_WITHOUT_PAGE, drop_remarks, is_remark
from engine.errors import FetchError, FetchFailed, explain_error
from engine.fetch import shown_host
from engine.messages import Message, for_operators, join_messages
from engine.page.article import first_link, headline_from_link
from engine.prophecy.headline import read_headline
from engine.search import Headline

logger = logging.getLogger("presagio.conversation")
_DATE_SECONDS = 4.0  # for the date of a page, which the answer does not need


async def read_pasted(app: App, text: str, *, now: datetime) -> Headline:
    """Return the headline in `text`, or the title of a linked page if there are only remarks.

    Beside a headline, only the date of the page is used, if it can be read in a few seconds. Words
    beside a link that cannot be opened are used if they tell anything. Raises FetchError.
    """
    written = read_headline(text)
    link = first_link(text)
    if link is None:
        return written

    async def read_page() -> Headline:
        return await headline_from_link(app.fetcher(), app.isolation, link, now=now)

    if is_remark(written.text):
        try:
            return await read_page()
        except FetchError as error:
            if len(drop_remarks(written.text)) >= FEWEST_WITHOUT_PAGE:
                return written
            if not isinstance(error, FetchFailed):
                raise  # it tells people what is wrong with the page
            raise FetchFailed(  # whose message only an operator understands
                Message("I could not open {host}.", host=shown_host(link)),
                fix=join_messages(
                    Message("Paste the headline instead."), for_operators(error.full_message)
                ),
            ) from error
    date = None
    try:
        async with asyncio.timeout(_DATE_SECONDS):
            date = (await read_page()).date
    except (FetchError, TimeoutError) as error:
        logger.info("the date of a linked page is unknown: %s", explain_error(error))
    return replace(written, date=date)
