"""The strongest answers to posts, most liked first, then oldest."""

from dataclasses import replace

from db.corpus.corpora import Corpora
from db.pool import Database
from db.search.find import DialectIndex
from db.search.shown import Comments
from engine.query.find import Finder
from engine.query.parser import parse_query
from engine.query.results import QueryAnswer
from tests.db.loading import document, load


async def found_in(database: Database, maximum: int) -> QueryAnswer:
    corpus = await Corpora(database).get("posts")
    found = await Finder(DialectIndex(database)).find(corpus, parse_query("coffee"))
    return await Comments(database).add_comments(corpus, found, maximum)


async def test_the_most_liked_comments_come_first_up_to_the_limit(database: Database) -> None:
    answers = [("late", 5, 9), ("weak", 1, 3), ("early", 5, 8), ("strong", 70, 10)]
    posts = [document("post", "Coffee", day=1), document("other", "More coffee", day=2)]
    comments = [
        replace(document(name, f"{name} words", day=day, reply_to="post"), engagement=liked)
        for name, liked, day in answers
    ]
    elsewhere = document("stray", "not this", reply_to="third", day=4)
    await load(database, "posts", [*posts, *comments, elsewhere])
    hits = {h.document.candidate.external_id: h for h in (await found_in(database, 3)).hits}
    assert [comment.external_id for comment in hits["post"].comments] == ["strong", "early", "late"]
    assert hits["post"].comments[0].text == "strong words"
    assert hits["other"].comments == ()
