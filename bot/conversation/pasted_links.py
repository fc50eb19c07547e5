"""What a person pasted: a headline, a link, or both."""

import re
from datetime import datetime

from engine.fetch.client import Fetcher
from engine.page.links import first_link, headline_from_link
from engine.prophecy.headline import read_headline
from engine.types import Headline

_WORD = re.compile(r"\w+")
# "look at this" and a link is about the page; a whole headline and a link says it all.
_FEWEST_WORDS = 3


async def read_pasted(fetcher: Fetcher, text: str, *, now: datetime) -> Headline:
    """Return the headline in `text`; a link that stands almost alone is fetched for its title.

    Three other words are a headline, and the link is dropped. Raises FetchError.
    """
    written = read_headline(text)
    link = first_link(text)
    if link is None or len(_WORD.findall(written.text)) >= _FEWEST_WORDS:
        return written
    return await headline_from_link(fetcher, link, now=now)
