"""Well-known feeds by name, so that nobody has to look up their addresses."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WellKnownFeed:
    """A feed of general news that needs no key."""

    name: str  # as people type it
    title: str
    language: str  # ISO 639-1
    url: str


WELL_KNOWN = (
    WellKnownFeed("bbc", "BBC News", "en", "https://feeds.bbci.co.uk/news/world/rss.xml"),
    WellKnownFeed("guardian", "The Guardian", "en", "https://www.theguardian.com/world/rss"),
    WellKnownFeed("npr", "NPR", "en", "https://feeds.npr.org/1001/rss.xml"),
    WellKnownFeed(
        "nyt",
        "The New York Times",
        "en",
        "https://rss.nytimes.com/services/xml/rss/nyt/HomePage.xml",
    ),
    WellKnownFeed("aljazeera", "Al Jazeera", "en", "https://www.aljazeera.com/xml/rss/all.xml"),
    WellKnownFeed("bbcmundo", "BBC Mundo", "es", "https://feeds.bbci.co.uk/mundo/rss.xml"),
    WellKnownFeed(
        "elpais",
        "El País",
        "es",
        "https://feeds.elpais.com/mrss-s/pages/ep/site/elpais.com/portada",
    ),
    WellKnownFeed(
        "elmundo", "El Mundo", "es", "https://e00-elmundo.uecdn.es/elmundo/rss/portada.xml"
    ),
    WellKnownFeed("eldiario", "elDiario.es", "es", "https://www.eldiario.es/rss/"),
    WellKnownFeed("dw", "Deutsche Welle", "es", "https://rss.dw.com/xml/rss-sp-all"),
)
_BY_NAME = {feed.name: feed for feed in WELL_KNOWN}


def well_known(name: str) -> WellKnownFeed | None:
    """Return the feed of that name, whatever its case, or None."""
    return _BY_NAME.get(name.casefold())


def well_known_in(language: str) -> tuple[WellKnownFeed, ...]:
    """Return the feeds in a language; those in English if there are none."""
    found = tuple(feed for feed in WELL_KNOWN if feed.language == language)
    return found or well_known_in("en")
