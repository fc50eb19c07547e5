"""Health, figures, and what admins may do."""

import shutil
from collections.abc import AsyncIterator
from datetime import timedelta
from importlib.metadata import version

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from bot.settings import Settings, load_settings
from bot.settings.sources import section_fields
from bot.web import operating
from db.logs import JobOutcomes, RunOutcome
from db.model_cache import Ledger
from engine.budget import BudgetSource
from engine.errors import SettingsError
from engine.values import Usage
from tests.bot.web.stage import NOW, WebStage, judging, speaking, web_stage
from tests.fakes.model import ModelServer, answer, failure, naming, scoring
from tests.scenarios.stage import HEADLINE, judged_by_words

_LASTING = {
    "presagio_job_runs_total",
    "presagio_model_cost_usd_total",
    "presagio_model_tokens_total",
}


def test_the_settings_that_a_reload_applies_exist() -> None:
    names = {f"{section}.{key}" for section, key, _ in section_fields()}
    assert names >= operating._WEB | operating._AT_START


class TestHealth:
    async def test_healthz_reports_the_status_of_adapters(self, coffee_web: WebStage) -> None:
        assert await coffee_web.json("/healthz") == {
            "status": "ok",
            "faces": {"slack": {"listening": False, "way": "HTTP"}},
        }

    async def test_without_a_database_healthz_is_ok_and_readyz_is_503(
        self, coffee_web: WebStage
    ) -> None:
        assert await coffee_web.json("/readyz") == {"status": "ready"}
        await coffee_web.app.database.close()
        assert (await coffee_web.get("/healthz")).status_code == 200
        answered = await coffee_web.get("/readyz")
        assert (answered.status_code, answered.headers["Retry-After"]) == (503, "5")
        assert answered.json()["message"] == "The database does not answer."

    async def test_on_a_full_disk_it_is_only_read(
        self, coffee_web: WebStage, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        usage = shutil.disk_usage(".")
        for free, status in ((1 << 20, "reading"), (1 << 30, "ready")):
            full = usage._replace(free=free)
            monkeypatch.setattr("bot.web.operating.shutil.disk_usage", lambda _, full=full: full)
            assert await coffee_web.json("/readyz") == {"status": status}


class TestMetrics:
    async def test_metrics_count_requests_searches_and_judgments(self, coffee_url: str) -> None:
        steps = [scoring(judged_by_words), answer("no JSON at all"), failure(500)]
        async with (
            ModelServer(steps, phrases=naming("quagga")) as model,
            web_stage(judging(coffee_url, model)) as stage,
        ):
            for headline in (HEADLINE, HEADLINE, "coffee harvest", "coffee moon", "zebra"):
                await stage.json("/api/prophecy", headline=headline)
            await stage.problem("/api/nowhere/secret", 404)
            figures = await _figures(stage)
        for name, counts in {
            "presagio_searches_total": {
                "found=something,mode=lexical": 4, "found=nothing,mode=lexical": 1
            },
            "presagio_judgments_total": {
                "outcome=judged": 1, "outcome=cached": 1, "outcome=unjudged": 2
            },
            "presagio_expansions_total": {"outcome=named": 4, "outcome=cached": 1},
            "presagio_stage_seconds_count": {
                "stage=expand": 5, "stage=terms": 5, "stage=retrieve": 5, "stage=judge": 4,
                "stage=whole": 5,
            },
        }.items():  # fmt: skip
            assert {labels: figures[name, labels] for labels in counts} == counts
        assert figures["presagio_model_tokens_total", "kind=prompt"] >= 7000
        assert figures["presagio_model_cost_usd_total", ""] > 0
        assert figures["presagio_model_calls_total", "outcome=failed"] == 2
        assert figures["presagio_model_calls_total", "outcome=answered"] >= 4
        asked = "route=/api/prophecy,status=200"
        assert figures["presagio_http_requests_total", asked] == 5
        assert figures["presagio_http_requests_total", "route=other,status=404"] == 1
        assert not [name for name in figures if "secret" in str(name)]

    async def test_metrics_show_the_age_of_the_last_job_runs(self, coffee_web: WebStage) -> None:
        name = "presagio_job_last_run_age_seconds"
        assert not [key for key in await _figures(coffee_web) if key[0] == name]
        coffee_web.shared.metrics.job_ages = lambda: {"poll": 7200.5, "deliver": 0.1}
        figures = await _figures(coffee_web)
        assert figures[name, "task=poll"] == 7200.5
        assert figures[name, "task=deliver"] == 0.1

    async def test_tell_of_feeds_jobs_and_deliveries(self, coffee_web: WebStage) -> None:
        figures = await _figures(coffee_web)
        assert figures["presagio_feeds", "state=failing"] == 0
        assert figures["presagio_deliveries", "state=owed"] == 0
        async with coffee_web.app.database.connection() as connection:
            await connection.execute(
                "INSERT INTO feed (url, configured_url, next_poll_at, created_at, failures)"
                " VALUES ('http://a/', 'http://a/', now(), now(), 3)"
            )
            await connection.execute(
                "INSERT INTO job_outcome VALUES ('poll', '2024-06-01', 'failed', 7, now(), 'x')"
            )
        figures = await _figures(coffee_web)
        assert figures["presagio_feeds", "state=failing"] == 1
        assert figures["presagio_job_runs_total", "outcome=failed,task=poll"] == 7

    async def test_metrics_exist_with_zero_at_the_start(self, coffee_url: str) -> None:
        environ = {"DATABASE_URL": coffee_url, "PRESAGIO_LLM__BASE_URL": "http://127.0.0.1:1/v1"}
        async with web_stage(environ) as stage:
            figures = await _figures(stage)
        for outcome in ("answered", "failed", "paused", "over budget"):
            assert figures["presagio_model_calls_total", f"outcome={outcome}"] == 0
        assert figures["presagio_judgments_total", "outcome=unjudged"] == 0
        assert figures["presagio_face_listening", "face=slack"] == 0
        assert figures["presagio_build_info", f"version={version('presagio')}"] == 1
        assert figures["process_start_time_seconds", ""] > 0

    async def test_none_falls_at_midnight(self, coffee_url: str) -> None:
        now = NOW
        async with web_stage(coffee_url, now=lambda: now) as stage:
            outcomes = JobOutcomes(stage.app.database)
            await outcomes.count("poll", RunOutcome.DONE, now=now)
            await Ledger(stage.app.database).record(
                Usage(prompt_tokens=5, completion_tokens=3, cost_usd=0.5),
                model="m",
                purpose="judge",
                source=BudgetSource.CONSOLE,
                now=now,
            )
            before = await _figures(stage)
            for days in (1, 100):
                now = NOW + timedelta(days=days)
                await outcomes.forget(now=now)
                after = await _figures(stage)
                assert {name: after[name] for name in before if name[0] in _LASTING} == {
                    name: before[name] for name in before if name[0] in _LASTING
                }
        assert before["presagio_job_runs_total", "outcome=done,task=poll"] == 1


class TestAdmin:
    @pytest.fixture
    def environ(self, coffee_url: str) -> dict[str, str]:
        return {"DATABASE_URL": coffee_url, "WEB_API_KEYS": "k1", "WEB_ADMIN_KEYS": "boss"}

    @pytest.fixture
    async def stage(self, environ: dict[str, str]) -> AsyncIterator[WebStage]:
        async with web_stage(environ) as stage:
            yield stage

    @pytest.mark.parametrize(
        ("method", "path"),
        [("POST", "/api/admin/reload"), ("DELETE", "/api/admin/vectors?model=m")],
    )
    async def test_admin_paths_require_an_admin_key(
        self, stage: WebStage, method: str, path: str
    ) -> None:
        for headers, status in (({}, 401), (speaking("k2"), 401), (speaking("k1"), 403)):
            answered = await stage.client.request(method, path, headers=headers)
            assert answered.status_code == status

    async def test_without_admin_keys_it_opens_to_nobody(self, coffee_web: WebStage) -> None:
        for headers in ({}, speaking(""), speaking("boss")):
            answered = await coffee_web.client.post("/api/admin/reload", headers=headers)
            assert answered.status_code == 401

    async def test_vectors_of_a_model_go(self, stage: WebStage) -> None:
        async with stage.app.database.connection() as connection:
            number = await connection.fetchval(
                "INSERT INTO embedding_model (name, dimensions) VALUES ('old one', 3) RETURNING id"
            )
            await connection.execute(f"CREATE TABLE embedding_{number} (vector text)")
        assert await _clear(stage, "old one") == (200, {"cleared": "old one"})
        status, body = await _clear(stage, "old one")
        assert (status, body["message"]) == (409, "No vectors of a model 'old one' are kept.")
        async with stage.app.database.connection() as connection:
            table = await connection.fetchval("SELECT to_regclass($1)", f"embedding_{number}")
        assert table is None

    async def test_settings_are_followed_as_far_as_that_needs_no_restart(
        self, stage: WebStage, environ: dict[str, str]
    ) -> None:
        hits = (await stage.client.get(_ASKED, headers=speaking("k1"))).json()["hits"]
        assert len(hits) == 3
        stage.settings = _with(
            environ,
            PRESAGIO_SEARCH__MINIMUM_LEXICAL="0.9",
            PRESAGIO_WEB__REQUESTS_PER_MINUTE="2",
            PRESAGIO_WEB__PORT="1234",
        )
        reloaded = await stage.client.post("/api/admin/reload", headers=speaking("boss"))
        assert reloaded.json() == {
            "applied": ["search.minimum_lexical", "web.requests_per_minute"],
            "needs_restart": ["web.port"],
        }
        fewer = await stage.client.get(_ASKED, headers=speaking("k1"))
        assert len(fewer.json()["hits"]) < 3
        statuses = [
            (await stage.client.get("/api/corpora", headers=speaking("k1"))).status_code
            for _ in range(2)
        ]
        assert statuses == [200, 429]

    async def test_a_mistake_in_the_file_changes_nothing(self, stage: WebStage) -> None:
        def broken() -> Settings:
            raise SettingsError("config.toml: [search] limit must be a number.")

        stage.shared.reload_settings = broken
        answered = await stage.client.post("/api/admin/reload", headers=speaking("boss"))
        assert answered.status_code == 400
        assert "limit must be a number" in answered.json()["message"]
        again = await stage.client.get(_ASKED, headers=speaking("k1"))
        assert again.status_code == 200


_ASKED = f"/api/prophecy?headline={HEADLINE}"


def _with(environ: dict[str, str], **changes: str) -> Settings:
    return load_settings(environ=environ | changes)


async def _clear(stage: WebStage, model: str) -> tuple[int, dict[str, object]]:
    answered: httpx.Response = await stage.client.delete(
        "/api/admin/vectors", params={"model": model}, headers=speaking("boss")
    )
    return answered.status_code, answered.json()


async def _figures(stage: WebStage) -> dict[tuple[str, str], float]:
    """Return the figures by name and labels, as Prometheus reads them."""
    answered = await stage.get("/metrics")
    assert answered.headers["content-type"].startswith("text/plain; version=0.0.4")
    return {
        (sample.name, ",".join(f"{k}={v}" for k, v in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(answered.text)
        for sample in family.samples
    }
