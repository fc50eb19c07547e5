"""`presagio doctor`: each check with ok or the fix, and no secret in anything that is printed."""

import asyncio
import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import pytest
from aiohttp import web

from bot.cli.demo import bundled_file
from bot.cli.doctor import check_worker
from db.corpus.placement import CitusWorker
from db.migrate import Migration, list_migrations
from engine.extras import how_to_install
from tests.bot.command_line import ROOT, ask
from tests.bot.conftest import Invoke
from tests.bot.forking import forked
from tests.database import execute, wait_for
from tests.fakes.pooler import pooler
from tests.fakes.search import Hit, SearchServer
from tests.fakes.stand_in import Answering

PASSWORD, KEY = "hunter2-secret", "sk-or-v1-0123456789-secret"


def checks(invoke: Invoke, code: int) -> dict[str, dict[str, Any]]:
    done = invoke("doctor", "--json")
    assert done.code == code, done
    found = {row["check"]: row for row in done.json_lines}
    assert len(found) == len(done.json_lines)
    assert all(list(row) == ["check", "ok", "detail", "fix"] for row in found.values())
    return found


class TestHealthy:
    def test_everything_is_ok_or_has_a_fix_and_is_explained(
        self, invoke: Invoke, demo: str
    ) -> None:
        found = checks(invoke, 0)
        found.pop("pooler", None)  # there is one if the tests run behind it
        assert [*found] == [
            "settings", "database", "extensions", "migrations", "pgvector", "corpus demo",
            "vectors", "feeds", "jobs", "outbox", "model", "web search", "web", "pictures",
            "documents", "tesseract", "disk", "clock",
        ]  # fmt: skip
        ok = {name: row["ok"] for name, row in found.items()}
        some = ("vectors", "feeds", "jobs", "model", "web search", "web")
        assert [ok.pop(name) for name in some] == [None] * 6
        for of_machine in ("pgvector", "tesseract", "disk"):  # may be missing, or full
            assert ok.pop(of_machine) is not False
        assert set(ok.values()) == {True}
        assert found["clock"]["detail"] == "like that of the database"
        assert found["corpus demo"]["detail"] == "416 documents, statistics exact"
        assert found["model"]["fix"].startswith("Set OPENROUTER_API_KEY")
        for name, row in checks(invoke, 0).items():
            assert (row["fix"] is None) is bool(row["ok"]), name
        guide = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
        rows = re.findall(r"^\| ([a-z ,]+) \|", guide, re.MULTILINE)
        explained = {name for row in rows for name in row.split(", ")} | {"corpus demo"}
        assert set(checks(invoke, 0)) <= explained

    @pytest.mark.usefixtures("no_pictures")
    def test_missing_picture_libraries_are_no_failure(self, invoke: Invoke, demo: str) -> None:
        found = checks(invoke, 0)["pictures"]
        assert found["ok"] is None
        assert found["fix"] == how_to_install("pictures")

    def test_in_words(self, invoke: Invoke, demo: str) -> None:
        done = invoke("doctor")
        assert (done.code, done.err) == (0, "")
        assert "\nok   corpus demo: 416 documents, statistics exact\n" in done.out
        assert "\n--   model: none: answers are not judged\n     Set OPEN" in done.out

    def test_missing_corpus_is_no_failure(self, invoke: Invoke, database: str) -> None:
        assert checks(invoke, 0)["corpora"]["ok"] is None


class TestFaulty:
    @pytest.mark.usefixtures("unreachable")
    def test_unreachable_database_fails(self, invoke: Invoke) -> None:
        found = checks(invoke, 1)
        assert [*found] == [
            "settings", "database", "model", "web search", "web", "pictures", "documents",
            "tesseract", "disk", "clock",
        ]  # fmt: skip
        assert found["clock"]["ok"] is None
        assert found["database"]["ok"] is False
        assert "Check DATABASE_URL" in found["database"]["fix"]
        done = invoke("doctor")
        assert done.code == 1
        assert "\nFAIL database: postgresql://127.0.0.1:1/x: The database cannot be" in done.out

    def test_pending_migration_fails(
        self, invoke: Invoke, database: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        newer = [*list_migrations(), Migration(9000, "since", "CREATE TABLE since ()")]
        monkeypatch.setattr("db.migrate.list_migrations", lambda: newer)
        found = checks(invoke, 1)
        assert found["migrations"]["fix"] == "Run: presagio init"
        assert found["migrations"]["detail"].startswith("1 of ")
        assert "corpora" not in found

    def test_migrations_of_a_newer_version_fail(self, invoke: Invoke, database: str) -> None:
        newer = "INSERT INTO migration (version, name, checksum) VALUES (9999, 'new', 'x')"
        wait_for(execute(database, newer))
        found = checks(invoke, 1)
        assert found["database"]["ok"] is True
        assert found["migrations"]["fix"].startswith("Upgrade presagio on this machine, or return")

    def test_missing_extension_fails(self, invoke: Invoke, database: str) -> None:
        wait_for(execute(database, "DROP EXTENSION pg_trgm CASCADE"))
        found = checks(invoke, 1)
        assert found["extensions"]["detail"] == "missing: pg_trgm"
        assert found["extensions"]["fix"].startswith("Run: presagio init. If")

    def test_a_database_that_takes_quotes_for_letters(
        self, invoke: Invoke, database: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def reads_none(*_: object) -> bool:
            return False

        monkeypatch.setattr("bot.cli.doctor.reads_quotes", reads_none)
        assert "--lc-ctype=C.UTF-8" in checks(invoke, 1)["letters"]["fix"]

    def test_extensions_that_the_server_lacks(
        self, invoke: Invoke, database: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        wait_for(execute(database, "DROP EXTENSION pg_trgm CASCADE"))

        async def offers_none(*_: object) -> None:
            return None

        monkeypatch.setattr("bot.cli.doctor.offered_extension", offers_none)
        assert "contrib package" in checks(invoke, 1)["extensions"]["fix"]

    def test_missing_vectors_of_the_configured_model_are_reported(
        self, invoke: Invoke, database: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PRESAGIO_EMBEDDINGS__BACKEND", "tfidf")
        assert checks(invoke, 0)["vectors"]["fix"].startswith("They are made after")
        invoke("demo")
        lacking = checks(invoke, 0)["vectors"]
        assert (lacking["ok"], lacking["fix"].endswith("presagio embed")) == (None, True)
        assert "demo lacks tfidf" in lacking["detail"]
        invoke("ingest", str(bundled_file("demo.jsonl")), "--corpus", "again")
        assert "again, demo lack tfidf" in checks(invoke, 0)["vectors"]["detail"]
        invoke("embed")
        assert checks(invoke, 0)["vectors"]["ok"] is True

    def test_wrong_corpus_statistics_fail(self, invoke: Invoke, database: str) -> None:
        invoke("demo")
        wait_for(execute(database, "UPDATE corpus SET tokens = tokens + 1"))
        found = checks(invoke, 1)
        assert found["corpus demo"]["ok"] is False
        assert "kept as 416 and" in found["corpus demo"]["detail"]
        assert found["corpus demo"]["fix"].endswith("presagio corpora drop demo")


@pytest.mark.parametrize(
    ("worker", "ok", "detail"),
    [
        (CitusWorker("one:5432", "17.2", "13.2-1"), True, "Citus 13.2-1; it holds a, c"),
        (CitusWorker("two:5432", "17.2", "13.2-1"), True, "Citus 13.2-1; it holds no corpus"),
        (CitusWorker("one:5432"), False, "does not answer; it holds a, c"),
        (
            CitusWorker("one:5432", "17.2", "13.2-1", 2),
            False,
            "; 2 transactions prepared more than a minute ago",
        ),
    ],
)
def test_worker_check_reports_its_versions_and_corpora(
    worker: CitusWorker, ok: bool, detail: str
) -> None:
    found = check_worker(worker, {"a": "one:5432", "b": "three:5432", "c": "one:5432"})
    assert found.ok is ok
    assert found.detail.endswith(detail)
    assert (found.fix is None) is ok


@pytest.fixture
async def endpoint() -> AsyncIterator[str]:
    """A model endpoint that refuses every key and repeats it in what it says."""

    async def refuse(request: web.Request) -> web.Response:
        text = f"no such key: {request.headers['Authorization']}"
        return web.json_response({"error": {"message": text}}, status=401)

    async with Answering(refuse) as server:
        yield f"{server.root}/v1"


def with_password(url: str) -> str:
    place = urlsplit(url)
    user, _, host = place.netloc.rpartition("@")
    user = user.partition(":")[0] or "postgres"
    return urlunsplit(place._replace(netloc=f"{user}:{PASSWORD}@{host}"))


def with_setting(url: str, name: str, value: str) -> str:
    return f"{url}{'&' if '?' in url else '?'}{name}={value}"


class TestRights:
    def test_a_role_that_does_not_own_the_tables_is_named(
        self, invoke: Invoke, database: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        role = urlsplit(database).path.removeprefix("/")
        wait_for(
            execute(
                database,
                f'CREATE ROLE "{role}"',
                f'GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA public TO "{role}"',
            )
        )
        try:
            assert "rights" not in checks(invoke, 0)
            monkeypatch.setenv("DATABASE_URL", with_setting(database, "role", role))
            every = checks(invoke, 1)
            found, vectors = every["rights"], every["pgvector"]
        finally:
            drop = (f'DROP OWNED BY "{role}"', f'DROP ROLE "{role}"')
            wait_for(execute(database, *drop))
        assert f"the role {role} does not own the tables" in found["detail"]
        assert found["fix"] == "Name the role that ran presagio init in DATABASE_URL"
        if vectors["detail"] != "not on the server":
            assert "not in this database" in vectors["detail"]
            assert "CREATE EXTENSION vector" in vectors["fix"]

    def test_a_server_that_takes_no_writes_is_named(
        self, invoke: Invoke, database: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        read_only = with_setting(database, "default_transaction_read_only", "on")
        monkeypatch.setenv("DATABASE_URL", read_only)
        assert "Name the primary" in checks(invoke, 1)["writes"]["fix"]


class TestSecrets:
    COMMANDS = (
        ["doctor"], ["doctor", "--json"], ["search", "ship"], ["search", "ship", "--json"],
        ["corpora", "list"], ["init"], ["ingest", "/no/such/file"], ["search", "x", "--limit", "0"],
    )  # fmt: skip

    @pytest.fixture(autouse=True)
    def _secrets(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("OPENROUTER_API_KEY", KEY)
        monkeypatch.setenv("PRESAGIO_LLM__BASE_URL", "http://127.0.0.1:1/v1")
        monkeypatch.setenv("PRESAGIO_LLM__RETRIES", "0")
        monkeypatch.setenv("PRESAGIO_LOGGING__LEVEL", "debug")

    def outputs(self, invoke: Invoke, monkeypatch: pytest.MonkeyPatch, url: str) -> str:
        monkeypatch.setenv("DATABASE_URL", url)
        runs = [invoke(*command) for command in self.COMMANDS]
        return "".join(done.out + done.err for done in runs)

    def test_secrets_are_not_printed_when_all_checks_pass(
        self, invoke: Invoke, demo: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        said = self.outputs(invoke, monkeypatch, with_password(demo))
        assert "ok   database: " in said
        assert "****" in said
        assert PASSWORD not in said
        assert KEY not in said

    @pytest.mark.parametrize(
        "url",
        [
            f"postgresql://me:{PASSWORD}@127.0.0.1:1/x",
            f"postgresql://me:{PASSWORD}/@127.0.0.1:1/x",
            f"postgresql://127.0.0.1:1/x?user=me&password={PASSWORD}",
            f"mysql://me:{PASSWORD}@127.0.0.1/x",
        ],
    )
    def test_secrets_are_not_printed_when_the_database_fails(
        self, invoke: Invoke, monkeypatch: pytest.MonkeyPatch, url: str
    ) -> None:
        said = self.outputs(invoke, monkeypatch, url)
        assert "presagio: " in said
        assert PASSWORD not in said
        assert KEY not in said

    async def test_secrets_echoed_by_the_endpoint_are_not_printed(
        self, demo: str, endpoint: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PRESAGIO_LLM__BASE_URL", endpoint)
        examined = await asyncio.to_thread(forked, "doctor")
        assert examined.code == 1
        assert "FAIL model: 127.0.0.1 refuses the key." in examined.out
        found = await asyncio.to_thread(forked, "search", "ship")
        assert found.code == 0
        for done in (examined, found):
            assert KEY not in done.out + done.err


async def test_search_providers_are_asked_once_each(
    demo: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with SearchServer() as search:
        monkeypatch.setenv("PRESAGIO_WEB_SEARCH__PROVIDERS", '["searxng"]')
        address = search.url("searxng").removesuffix("/search")
        monkeypatch.setenv("PRESAGIO_WEB_SEARCH__SEARXNG_URL", address)
        search.found["presagio"] = [Hit("https://e.org/", "A page")]
        assert "ok   web search: searxng" in (await asyncio.to_thread(forked, "doctor")).out
        search.json_allowed = False
        refused = await asyncio.to_thread(forked, "doctor")
        assert refused.code == 1
        assert "FAIL web search: searxng forbids the request (403)" in refused.out
        assert "Allow the format json" in refused.out
    monkeypatch.setenv("PRESAGIO_WEB_SEARCH__PROVIDERS", '["exa"]')
    assert "Set EXA_API_KEY." in (await asyncio.to_thread(forked, "doctor")).out


def test_the_recount_itself_changes_nothing(invoke: Invoke, demo: str) -> None:
    query = "SELECT md5(string_agg(l::text, '' ORDER BY lexeme)) FROM lexeme l"
    before = ask(demo, query)
    invoke("doctor")
    assert ask(demo, query) == before


def test_pooler_without_session_settings_fails_until_init(
    invoke: Invoke, direct_url: str, server_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pooler(direct_url, server_folder) as url:
        monkeypatch.setenv("DATABASE_URL", url)
        found = checks(invoke, 1)["pooler"]
        assert "pg_trgm.similarity_threshold" in found["detail"]
        assert found["fix"].startswith("Run presagio init.")
        invoke("init")
        found = checks(invoke, 0)["pooler"]
        assert (found["ok"], "PgBouncer" in found["detail"]) == (True, True)


async def test_the_clock_is_compared_with_that_of_the_model(
    demo: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def tell_the_time(_: web.Request) -> web.Response:
        date = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
        return web.json_response({"data": []}, headers={"Date": date})

    monkeypatch.setenv("OPENROUTER_API_KEY", KEY)
    async with Answering(tell_the_time) as server:
        monkeypatch.setenv("PRESAGIO_LLM__BASE_URL", f"{server.root}/v1")
        done = await asyncio.to_thread(forked, "doctor")
    assert done.code == 1
    assert re.search(r"FAIL clock: like that of the database, 3,(599|600) s behind", done.out)
    assert "timedatectl set-ntp true" in done.out
