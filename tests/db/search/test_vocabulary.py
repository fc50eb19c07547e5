"""How a corpus reads texts that are turned into vectors."""

from db.pool import Database
from db.search.nearest import CorpusVocabulary
from engine.embed.local import TfidfEmbedder
from tests.db.loading import load_texts
from tests.db.vectors import cosine


async def test_lexemes_carry_their_counts_in_the_text_and_the_corpus(
    database: Database,
) -> None:
    corpus = await load_texts(database, "c", ["storms and rain", "a storm", "sun"], "english")
    first, second = await CorpusVocabulary(database).lexemes(
        corpus, ["Storm after storm, then #RainSnow", "https://t.co/x"]
    )
    assert first["storm"] == (2, 2)
    assert first["rain"] == (1, 1)
    assert first["snow"] == (1, 0)
    assert second == {}


async def test_tfidf_finds_the_text_that_shares_the_rare_word(database: Database) -> None:
    texts = [f"people talk of weather {n}" for n in range(30)] + ["people talk of volcanoes"]
    corpus = await load_texts(database, "c", texts, "english")
    embedder = TfidfEmbedder(CorpusVocabulary(database), corpus)
    asked = await embedder.embed_query("A volcano, say people")
    weather, volcanoes = await embedder.embed_documents([texts[0], texts[-1]])
    assert cosine(asked, volcanoes) > 2 * cosine(asked, weather)
    assert await embedder.embed_query("A volcano, say people") == asked
