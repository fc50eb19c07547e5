"""The OpenAPI document holds: whatever is sent, nothing is answered that it does not describe."""

import asyncio
import os
import sysconfig
from pathlib import Path
from typing import Any

import httpx
import pytest

from bot.web.application import create_application
from bot.web.failures import Problem
from db.pool import Database
from tests.bot.web.stage import WebStage, web_stage
from tests.bot.web.test_service import served
from tests.db.loading import load_texts
from tests.fakes.model import ModelServer, scoring
from tests.fakes.writer import JudgeAndWriter
from tests.scenarios.stage import judged_by_words

pytestmark = pytest.mark.slow

PROGRAM = Path(sysconfig.get_path("scripts")) / "schemathesis"
CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,"
    "response_schema_conformance,negative_data_rejection,positive_data_acceptance,"
    "unsupported_method,ignored_auth"
)
OPERATIONS = {
    ("/api/search", "get"): {200, 400, 401, 403, 404, 409, 429, 503},
    ("/api/find", "get"): {200, 400, 401, 403, 404, 409, 429, 503},
    ("/api/prophecy", "get"): {200, 400, 401, 403, 404, 409, 429, 503},
    ("/api/ask", "get"): {200, 400, 401, 403, 404, 409, 429, 503},
    ("/api/compose", "post"): {200, 400, 401, 403, 404, 409, 413, 415, 429, 503},
    ("/api/corpora", "get"): {200, 400, 401, 403, 429, 503},
    ("/api/documents/{corpus}", "get"): {200, 400, 401, 403, 404, 409, 429, 503},
    ("/api/documents/{corpus}/{id}", "get"): {200, 400, 401, 403, 404, 429, 503},
    ("/api/admin/vectors", "delete"): {200, 400, 401, 403, 409, 429, 503},
    ("/api/admin/reload", "post"): {200, 400, 401, 403, 429, 503},
    ("/healthz", "get"): {200},
    ("/readyz", "get"): {200, 503},
    ("/metrics", "get"): {200, 400, 401, 403, 429, 503},
}


async def test_every_status_is_described_with_an_example(coffee_web: WebStage) -> None:
    written = create_application(coffee_web.shared).openapi()
    documented = {
        (path, method): operation["responses"]
        for path, operations in written["paths"].items()
        for method, operation in operations.items()
    }
    operation_ids = {
        operation["operationId"]
        for operations in written["paths"].values()
        for operation in operations.values()
    }
    statuses = {key: {int(status) for status in responses} for key, responses in documented.items()}
    assert statuses == OPERATIONS
    assert operation_ids == {
        *("search", "find", "prophecy", "ask", "compose", "corpora", "documents", "document"),
        *("clear_vectors", "reload_settings", "healthz", "readyz", "metrics"),
    }
    composed = documented["/api/compose", "post"]["200"]["content"]
    assert set(composed) == {"application/json", "text/event-stream"}
    for responses in documented.values():
        for status, response in responses.items():
            if status != "200":
                assert list(response["content"]) == ["application/problem+json"]
                described = response["content"]["application/problem+json"]
                assert described["schema"] == {"$ref": "#/components/schemas/Problem"}
                Problem.model_validate(described["example"])
                assert described["example"]["status"] == int(status)
            if status in {"429", "503"}:
                assert "Retry-After" in response["headers"]


@pytest.mark.parametrize(("keys", "optional"), [({}, True), ({"WEB_API_KEYS": "k"}, False)])
async def test_openapi_security_matches_the_required_keys(
    coffee_url: str, keys: dict[str, str], optional: bool
) -> None:
    async with web_stage({"DATABASE_URL": coffee_url} | keys) as web:
        paths = (await web.json("/openapi.json"))["paths"]
        for (path, method), statuses in OPERATIONS.items():
            expected: list[dict[str, list[str]]] = [{"HTTPBearer": []}]
            if optional and not path.startswith("/api/admin"):
                expected.append({})
            described = paths[path][method].get("security")
            assert described == (expected if 401 in statuses else None), path
        assert (await web.get("/api/corpora")).status_code == (200 if optional else 401)


@pytest.mark.parametrize("keys", [{}, {"WEB_API_KEYS": "k"}], ids=["open", "keys"])
async def test_fuzzed_requests_get_only_documented_responses(
    coffee_url: str, tmp_path: Path, keys: dict[str, str]
) -> None:
    environ = {"DATABASE_URL": coffee_url, "WEB_ADMIN_KEYS": "boss"} | keys
    database = await Database.open(coffee_url)
    await load_texts(database, "second", ["coffee by the sea"])
    await database.close()
    rates: dict[str, Any] = {"requests_per_minute": "-1", "answers_per_minute": "-1"}
    async with (
        ModelServer([JudgeAndWriter(scoring(judged_by_words))]) as model,
        served({**environ, "PRESAGIO_LLM__BASE_URL": model.base_url}, **rates) as one,
    ):
        running = await asyncio.create_subprocess_exec(
            PROGRAM, "run", f"{one.service.address}openapi.json",
            "--header", "Authorization: Bearer boss", "--checks", CHECKS,
            "--max-examples", "8", "--seed", "1", "--no-color",
            cwd=tmp_path, env=dict(os.environ), stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
        async with asyncio.timeout(180):
            said, _ = await running.communicate()
        assert running.returncode == 0, said.decode()[-4000:]
        assert b"Tested: 13" in said
        async with httpx.AsyncClient() as client:  # nothing that was sent has broken it
            assert (await client.get(f"{one.service.address}readyz")).status_code == 200
