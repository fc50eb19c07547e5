"""Names the item that a text is a part of, and where in it the text stands."""

from bot.i18n.words import Words
from bot.replies.limits import cut
from engine.search import ItemPlace

_LONGEST_TITLE = 100
_LONGEST_HEADING = 60


def place_text(place: ItemPlace, words: Words) -> str:
    """Return "Title, p. 12", or the title and the last of the headings if there are no pages."""
    title = cut(" ".join(place.title.split()), _LONGEST_TITLE)
    if place.page is not None:
        last = place.last_page or place.page
        if last > place.page:
            return words.say(
                "{title}, pp. {first}-{last}", title=title, first=place.page, last=last
            )
        return words.say("{title}, p. {page}", title=title, page=place.page)
    heading = (place.heading or "").rpartition(" > ")[2]
    if not heading or heading == place.title:
        return title
    return f"{title}, {cut(heading, _LONGEST_HEADING)}"


def place_json(place: ItemPlace | None) -> dict[str, object] | None:
    """Return the place for JSON; None for a text that is no part of an item."""
    if place is None:
        return None
    return {
        "title": place.title,
        "part": place.part,
        "heading": place.heading,
        "page": place.page,
        "last_page": place.last_page,
        "pages": place.pages,
    }
