"""Commands and searches with a standby: what it is asked, and what goes on without the primary."""

import os
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic import SecretStr

from bot.app import App, open_app
from bot.cli.doctor_servers import failover_check
from bot.settings import load_settings
from bot.settings.sections import DatabaseSettings
from db.replicas import ReplicaState
from engine.errors import SettingsError
from engine.prophecy.headline import read_headline
from engine.search import SearchRequest
from tests.bot.conftest import Invoke
from tests.bot.web.stage import web_stage
from tests.fakes.model import ModelServer, scoring
from tests.fakes.standby import Pair, pair
from tests.scenarios.stage import HEADLINE, TWEETS, judged_by_words, load_tweets, until

NOW = datetime(2026, 11, 22, tzinfo=UTC)


@pytest.fixture(scope="module")
def _pair(run_folder: Path) -> Iterator[Pair]:
    with pair(run_folder, _filled) as both:
        yield both


async def _filled(url: str) -> None:
    async with open_app(
        load_settings(environ={"DATABASE_URL": url}), progress=print, set_up=True
    ) as app:
        await load_tweets(app.settings.database.url.get_secret_value(), TWEETS)


@pytest.fixture
def both(_pair: Pair, monkeypatch: pytest.MonkeyPatch) -> Pair:
    """Both servers, running and replaying, which commands of this test use."""
    monkeypatch.setenv("DATABASE_URL", _pair.primary.url)
    monkeypatch.setenv("PRESAGIO_DATABASE__REPLICAS", f'["{_pair.standby.url}"]')
    return _pair.restored()


@pytest.fixture
async def model() -> AsyncIterator[ModelServer]:
    async with ModelServer() as server:
        server.script = [scoring(judged_by_words)]
        yield server


def state_of(app: App) -> ReplicaState:
    [state] = app.database.replicas()
    return state


async def test_a_judgment_is_paid_once_while_the_standby_is_read(
    both: Pair, model: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PRESAGIO_LLM__BASE_URL", model.base_url)
    request = SearchRequest(headline=read_headline(HEADLINE), limit=3, now=NOW)
    answers = []
    for _ in range(2):  # as two processes that come one after the other
        async with open_app(load_settings(), progress=print) as app:
            await until(lambda: state_of(app).used, 60)
            answers.append(await app.prophesy(request, corpus=""))
            assert state_of(app).reads > 0
            assert state_of(app).passed_on == 0
    assert model.calls == 1
    assert answers[0].hits
    assert [hit.candidate for hit in answers[0].hits] == [hit.candidate for hit in answers[1].hits]
    assert answers[1].verdict.cached


def test_without_the_primary_texts_are_found_and_writing_fails(both: Pair, invoke: Invoke) -> None:
    found = invoke("find", "coffee", "--json").json_lines[0]["hits"]
    assert found
    both.primary.kill()
    assert invoke("find", "coffee", "--json").json_lines[0]["hits"] == found
    assert invoke("search", HEADLINE, "--json").code == 0
    dropped = invoke("corpora", "drop", "demo", "--yes")
    assert dropped.code == 1
    assert "The database cannot be reached" in dropped.err


async def test_without_the_primary_the_page_answers(both: Pair) -> None:
    async with web_stage(os.environ) as stage:
        asked = {"headline": HEADLINE, "date": "2024-01-01", "corpus": "demo"}
        before = await stage.get("/prophecy", **asked)
        await until(lambda: state_of(stage.shared.app).used, 60)
        assert (await stage.get("/readyz")).json() == {"status": "ready"}
        both.primary.kill()
        after = await stage.get("/prophecy", **asked)
        assert (await stage.get("/")).status_code == 200
        assert (await stage.get("/readyz")).json() == {"status": "reading"}
        both.standby.kill()
        await until(lambda: not state_of(stage.shared.app).answers, 60)
        assert (await stage.get("/readyz")).status_code == 503
    assert (before.status_code, after.status_code) == (200, 200)
    assert "mark my words" in before.text
    assert "mark my words" in after.text


def test_the_doctor_names_standbys_and_what_they_lack(both: Pair, invoke: Invoke) -> None:
    place = f"standby 127.0.0.1:{both.standby.port}"

    def checked(code: int) -> dict[str, object]:
        done = invoke("doctor", "--json")
        assert done.code == code, done
        return next(row for row in done.json_lines if row["check"] == place)

    healthy = checked(0)
    assert healthy["ok"] is True
    assert "s behind" in str(healthy["detail"])
    assert "hot_standby_feedback" in str(healthy["fix"])
    both.standby.kill()
    dead = checked(1)
    assert dead["ok"] is False
    assert "cannot be reached" in str(dead["detail"])
    assert "until it is at most 10 s behind" in str(dead["fix"])


@pytest.mark.parametrize(
    ("url", "replicas", "said"),
    [
        ("postgresql://u:secret@one/x", ["two"], "does not name two:5432"),
        ("postgresql://u:secret@one,two/x", ["one", "two"], "programs"),
        ("postgresql://u:secret@one,two/x?target_session_attrs=read-write", ["two"], "one:5432 is"),
        ("postgresql://u:secret@one,two/x?target_session_attrs=read-write", ["one", "two"], ""),
    ],
)
def test_the_doctor_says_whether_a_standby_may_become_the_primary(
    url: str, replicas: list[str], said: str
) -> None:
    urls = [SecretStr(f"postgresql://u:secret@{replica}/x") for replica in replicas]
    check = failover_check(DatabaseSettings(url=SecretStr(url), replicas=tuple(urls)))
    assert check.ok is (None if said else True)
    assert said in check.detail
    assert bool(said) is ("one:5432,two:5432" in str(check.fix))
    assert "secret" not in f"{check.detail} {check.fix}"


async def test_metrics_show_reads_per_replica(both: Pair) -> None:
    name = f'{{replica="127.0.0.1:{both.standby.port}"}}'
    async with web_stage(os.environ) as stage:
        await until(lambda: state_of(stage.shared.app).used, 60)
        await stage.shared.app.corpora.list()
        text = (await stage.get("/metrics")).text
    assert f"presagio_replica_used{name} 1.0" in text
    assert f"presagio_replica_passed_on{name} 0.0" in text
    assert f"presagio_replica_behind_seconds{name} " in text


def test_replicas_without_a_database_url_are_refused() -> None:
    with pytest.raises(SettingsError, match=r"replicas need database\.url"):
        load_settings(environ={"PRESAGIO_DATABASE__REPLICAS": '["postgresql://elsewhere/x"]'})
