"""A database with a corpus of each kind, small enough to know by heart."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from db.corpus.corpora import Corpora
from db.corpus.documents import Documents
from db.pool import Database
from engine.corpora import Document
from engine.values import Corpus, Flag, Kind
from tests.db.loading import document

TODAY = datetime.now(UTC).replace(microsecond=0)


def text_of(external_id: str, text: str, *, days_ago: float = 0, **changes: object) -> Document:
    """A document so many days old; `changes` are of Document."""
    made = document(external_id, text, lang="en")
    found = {"created_at": TODAY - timedelta(days=days_ago), **changes}
    return replace(made, **found)  # type: ignore[arg-type]  # fields of Document


async def fill(
    database: Database,
    name: str,
    kind: Kind,
    documents: Sequence[Document],
    *,
    language: str = "english",
) -> Corpus:
    corpora = Corpora(database)
    corpus = await corpora.ensure(name, kind=kind, language=language, author=None)
    await Documents(database).upsert(corpus, documents)
    return await corpora.get(name)


LONG = (
    "Notes from the kitchen. "
    + "We talked about nothing in particular for a while. " * 20
    + "Then the espresso machine broke, and the espresso machine was mourned by all. "
    + "Afterwards everybody went home and slept very well indeed. " * 20
)
MESSAGES = [
    text_of("m1", "Coffee at nine?", days_ago=400, thread="kitchen", role="others",
            author="Ben", platform="slack", attribution="export.zip/kitchen#m1"),
    text_of("m2", "Coffee at ten, I am late", days_ago=2, thread="kitchen", role="me",
            author="Ana", platform="slack", tags=("late",)),
    text_of("m3", "Is coffee good for the heart?", days_ago=90, thread="chat-7", role="user",
            platform="chatgpt"),
    text_of("m4", LONG, days_ago=30, thread="notes", platform="markdown", tags=("espresso",)),
    text_of("m5", "Nothing of the kind", days_ago=1, thread="kitchen", role="me",
            platform="slack"),
]  # fmt: skip
POSTS = [
    text_of("p1", "Coffee prices again #coffee", days_ago=40, platform="mastodon", author="ana",
            tags=("coffee",), engagement=3, url="https://social.example/p1"),
    text_of("p2", "Everybody loves coffee, says @ben", days_ago=41, platform="mastodon",
            author="ana", mentions=("ben",), engagement=900),
    text_of("p3", "Coffee is the new oil", days_ago=1, platform="linkedin", author="ana",
            engagement=20),
    text_of("p4", "Coffee is the new oil!", days_ago=300, platform="linkedin", author="ana",
            engagement=20, flags=Flag.MEDIA),
    text_of("c1", "So true", platform="mastodon", author="ben", reply_to="p1", engagement=1),
    text_of("c2", "I disagree", platform="mastodon", author="eve", reply_to="p1", engagement=7),
]  # fmt: skip
ARTICLES = [
    text_of("a1", "The price of coffee will double.", days_ago=700, title="Dear beans",
            author="Ana Ruiz", url="https://www.example.org/beans", platform="web",
            tags=("economy",)),
    text_of("a2", "The price of coffee will double, we think.", days_ago=10, title="Beans",
            author="Ben Lee", url="https://blog.example.net/beans", platform="web",
            meta={"domain": "blog.example.net"}),
    text_of("a3", "An essay about tea and coffee", days_ago=3, title="Leaves"),
]  # fmt: skip


async def fill_all(database: Database) -> None:
    await fill(database, "chats", Kind.PERSONAL, MESSAGES)
    await fill(database, "posts", Kind.SOCIAL, POSTS)
    await fill(database, "articles", Kind.PUBLISHED, ARTICLES)
