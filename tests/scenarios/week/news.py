"""What happens in that week, and who foretold it: three archives, two papers, a story a day each.

All of it was written for this test.
"""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from db.pool import Database
from tests.database import run_sql
from tests.db.loading import document, load
from tests.fakes.web import Answer, feed

ENGLISH = (
    "Container ship blocks the canal for a third day",
    "Central bank raises interest rates to fight inflation",
    "Heat wave melts runway at London airport",
    "Streaming service raises prices and adds advertising",
    "Scientists teach a robot to fold laundry",
    "Parliament votes to abolish daylight saving time",
    "Football final decided by video referee in extra time",
)
SPANISH = (
    "Un apagón deja sin luz a medio país durante horas",
    "Sube el precio del aceite de oliva por la sequía",
    "El tren de alta velocidad llega con dos horas de retraso",
    "El gobierno anuncia otra reforma de la educación",
    "Cierran las librerías del centro por los alquileres",
    "La selección pierde la final en la tanda de penales",
    "Un volcán obliga a evacuar un pueblo de la isla",
)
DULL = ("Village fete raises money for the church roof", "Inauguran un nuevo carril bici")

ANA = (
    "One day a single container ship will block the whole canal and we will learn where socks"
    " come from.",
    "The central bank will raise interest rates on the day I get a mortgage.",
    "Some summer the runway will melt and the airport will blame the heat wave.",
    "Every streaming service ends as television, with advertising and higher prices.",
    "Wake me when a robot can fold laundry. Scientists, please.",
    "They will abolish daylight saving time in ten years, by one vote, in parliament.",
    "The final will be decided by a video referee and nobody will sleep.",
    "My tomatoes are late again.",
    "Reading on the train. The train is reading me.",
    "A canal holiday, they said. It rained on every lock.",
    "The bank closed at three. It was 14:59.",
    "Prices of stamps are up. I write shorter letters.",
)
NICO = (
    "Container prices first, then a ship across the canal. You read it here.",
    "Inflation is back. Rates will rise and the bank will act surprised.",
    "London airport closed by a heat wave: put it in the calendar.",
    "Prices of every streaming service will double, and advertising will come back.",
    "A robot will fold my laundry before scientists cure the common cold.",
    "Parliament will argue about daylight saving time until the sun goes out.",
    "A video referee decides the final and football becomes a spreadsheet.",
    "Coffee. Then opinions.",
)
LUIS = (
    "Medio país sin luz y nadie encuentra las velas: el apagón llegará.",
    "Con esta sequía el aceite de oliva tendrá precio de perfume.",
    "Alta velocidad, dos horas de retraso: el tren del futuro.",
    "Cada gobierno anuncia una reforma de la educación y ninguna dura un curso.",
    "Los alquileres cerrarán las librerías del centro y quedarán heladerías.",
    "Perderemos la final por penales, como siempre, y la selección pedirá perdón.",
    "El volcán de la isla despertará y evacuarán el pueblo el día de la fiesta.",
    "Mañana empiezo la dieta.",
    "El gato del vecino opina sobre mi jardín.",
)
ARCHIVES: Mapping[str, tuple[str, str, Sequence[str]]] = {
    "ana": ("english", "Ana Ruiz", ANA),
    "nico": ("english", "Nico Hale", NICO),
    "luis": ("spanish", "Luis Pérez", LUIS),
}
_APART = timedelta(days=211)


async def load_archives(database: Database) -> None:
    """Fill the three archives, and name their voices."""
    for name, (language, voice, tweets) in ARCHIVES.items():
        documents = [
            document(str(number), tweet, day=number * _APART.days, author=name)
            for number, tweet in enumerate(tweets, start=1)
        ]
        await load(database, name, documents, language)
        await run_sql(
            database,
            "UPDATE corpus SET role = 'archive', display_name = $2, author = $1 WHERE name = $1",
            name,
            voice,
        )


def paper(language: str, titles: Sequence[str]) -> Answer:
    """Return the feed of the paper in a language."""
    name = {"en": "The Paper", "es": "El Diario"}[language]
    return feed(*titles, title=name, language=language, links=f"https://{language}.news.example/")


def judged_by_long_words(headline: str, candidate: Mapping[str, Any]) -> int:
    """A judge who counts the words of four letters or more in common."""
    common = _long_words(headline) & _long_words(str(candidate["text"]))
    return (0, 2, 4, 5, 6)[min(len(common), 4)]


def _long_words(text: str) -> set[str]:
    plain = "".join(one if one.isalnum() else " " for one in text.lower())
    return {word for word in plain.split() if len(word) >= 4}
