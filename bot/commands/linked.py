"""Cards for links to the bot's own pages: a message that names one shows what it holds."""

from dataclasses import replace
from urllib.parse import parse_qs, urlencode, urlsplit

from bot.commands.services import Services
from bot.face.reply import Reply
from bot.face.request import Request
from bot.replies.dates import read_date
from bot.replies.prophecy import prophecy_reply
from engine.errors import UsageError
from engine.prophecy.headline import read_headline
from engine.search import SearchRequest

_PAGE, _PICTURE = "/prophecy", "/picture.png"
_LONGEST_HEADLINE = 2_000


async def show_linked(request: Request, services: Services) -> Reply | None:
    """Return the card of a linked prophecy, or None if there is nothing to show.

    Only corpora are shown that the chat may see. Raises what a search raises.
    """
    address = request.text
    if not services.page or not address.startswith(f"{services.page}{_PAGE}?"):
        return None
    asked = {name: values[-1] for name, values in parse_qs(urlsplit(address).query).items()}
    headline, corpus = asked.get("headline", "").strip(), asked.get("corpus", "")
    visible = [one.name for one in await services.corpora()]
    if not headline or len(headline) > _LONGEST_HEADLINE or corpus not in visible:
        return None
    try:
        date = read_date(asked["date"]) if asked.get("date") else None
    except UsageError:
        return None
    prophecy = await services.prophesy(
        SearchRequest(
            headline=read_headline(headline, date=date), limit=services.limit, now=request.now
        ),
        corpus=corpus,
    )
    if not prophecy.hits:
        return None
    reply = prophecy_reply(
        prophecy, prophecy.hits[:1], now=request.now, words=request.words, compact=True
    )
    picture = {**asked, "lang": request.words.language}
    return replace(reply, picture_url=f"{services.page}{_PICTURE}?{urlencode(picture)}")
