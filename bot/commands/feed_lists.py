"""/feeds import and export: OPML lists, the exchange format of feed readers."""

from bot.commands.feed_words import title_of
from bot.commands.services import NewsServices
from bot.face.reply import Reply
from bot.face.request import Request
from engine.errors import FetchError, InputError, UsageError
from engine.feeds.opml import OpmlFeed, write_opml
from engine.text.address import public_address

_LONGEST_MESSAGE = 7500  # characters; Slack shows no more in one message


async def import_list(request: Request, text: str, news: NewsServices) -> Reply:
    """Add the feeds of an OPML list, given as text or URL. Raises FetchError, UsageError."""
    words, chat = request.words, request.known_chat
    feeds = await _read(text, news)
    known = await news.feeds.of_chat(chat)
    urls = {feed.url for feed in known}
    new = [feed for feed in feeds if feed.url not in urls]
    room = news.room(sum(not feed.configured for feed in known))
    added = new if room is None else new[:room]
    for feed in added:
        await news.feeds.add(chat, feed.url, category=feed.category, now=request.now)
    said = [words.count("{number} feed was added.", "{number} feeds were added.", len(added))]
    if there := len(feeds) - len(new):
        said.append(words.count("{number} was there.", "{number} were there.", there))
    if beyond := len(new) - len(added):
        said.append(
            words.count(
                "{number} was left out: a chat may add {most} feeds.",
                "{number} were left out: a chat may add {most} feeds.",
                beyond,
                most=news.feeds_per_chat,
            )
        )
    return Reply(words=words, text=" ".join(said), ephemeral=True)


async def export_list(request: Request, news: NewsServices) -> Reply:
    """Return the chat's feeds as an OPML list. Raises UsageError if there are none.

    Feeds that everybody gets are included only if their address holds no secret.
    """
    words, chat = request.words, request.known_chat
    feeds = [
        feed
        for feed in await news.feeds.of_chat(chat)
        if not feed.configured or public_address(feed.url) == feed.url
    ]
    if not feeds:
        raise UsageError(words.say("This chat has no feed yet."))
    listed = [
        OpmlFeed(url=feed.url, title=title_of(feed.title, feed.url), category=feed.category)
        for feed in feeds
    ]
    text = write_opml(listed, title="Presagio").decode()
    if len(text) > _LONGEST_MESSAGE:
        raise UsageError(
            words.say(
                "The list is too long for a message. Who runs the bot gets it with: {command}",
                command=f"presagio feeds export --chat {chat.platform}:{chat.external_id}",
            )
        )
    return Reply(words=words, text=text, ephemeral=True)


async def _read(text: str, news: NewsServices) -> tuple[OpmlFeed, ...]:
    """Parse a list, after fetching it if `text` is a URL. Raises FetchError, UsageError."""
    try:
        return await news.read_list(text)
    except FetchError as error:
        raise FetchError(error.message) from error
    except InputError as error:
        raise UsageError(error.said) from error
