"""The embedder that makes no vectors."""

from engine.embed.store import NullEmbedder


async def test_the_null_embedder_returns_empty_vectors() -> None:
    embedder = NullEmbedder()
    assert embedder.dimensions == 0
    assert [list(v) for v in await embedder.embed_documents(["a", "b"])] == [[], []]
    assert list(await embedder.embed_query("a")) == []
