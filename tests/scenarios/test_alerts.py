"""A real Prometheus watches a bot whose model dies, with the rules that are shipped."""

import asyncio
import re
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
import yaml

from tests.network import find_free_port
from tests.patience import PATIENCE
from tests.programs import require_program
from tests.scenarios.stage import HEADLINE, Stage

RULES = Path(__file__).parents[2] / "deploy" / "prometheus" / "alerts.yml"
_PAGE = "The web page is at "


@pytest.fixture
async def page(stage: Stage) -> AsyncIterator[httpx.AsyncClient]:
    """The page of a bot that has a model, and asks it for visitors."""
    stage.environment |= {
        "TELEGRAM_BOT_TOKEN": "",
        "PRESAGIO_WEB__PORT": "0",
        "PRESAGIO_WEB__JUDGE": "true",
    }

    async with stage.running(stage.until_said(_PAGE)):
        (address,) = (said for said in stage.said if said.startswith(_PAGE))
        async with httpx.AsyncClient(base_url=address.removeprefix(_PAGE), timeout=60) as client:
            yield client


@contextmanager
def prometheus(folder: Path, target: str) -> Iterator[str]:
    """Run Prometheus with the rules, hurried; lend its address."""
    program = require_program("prometheus")
    folder.mkdir()
    hurried = re.sub(r"for: \w+", "for: 1s", RULES.read_text())
    (folder / "alerts.yml").write_text(hurried)
    config = {
        "global": dict.fromkeys(
            ("scrape_interval", "scrape_timeout", "evaluation_interval"), "500ms"
        ),
        "rule_files": ["alerts.yml"],
        "scrape_configs": [{"job_name": "presagio", "static_configs": [{"targets": [target]}]}],
    }
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    listen = f"127.0.0.1:{find_free_port()}"
    command = [
        program,
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address={listen}",
    ]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as running:
        try:
            yield f"http://{listen}"
        finally:
            running.terminate()


async def firing(client: httpx.AsyncClient) -> set[str]:
    """Return the names of the alerts that fire."""
    alerts = (await client.get("/api/v1/alerts")).raise_for_status().json()["data"]["alerts"]
    return {alert["labels"]["alertname"] for alert in alerts if alert["state"] == "firing"}


async def value(client: httpx.AsyncClient, query: str) -> float | None:
    """Return the value of a query, or None if Prometheus has none yet."""
    try:
        asked = await client.get("/api/v1/query", params={"query": query})
    except httpx.TransportError:  # it is starting
        return None
    found = asked.json()["data"]["result"] if asked.status_code == 200 else []
    return float(found[0]["value"][1]) if found else None


async def until(client: httpx.AsyncClient, outcome: str, minimum: float) -> None:
    """Wait until Prometheus has seen that many calls with this outcome."""
    query = f'presagio_model_calls_total{{outcome="{outcome}"}}'
    while ((seen := await value(client, query)) is None) or seen < minimum:  # noqa: ASYNC110 - nobody is told
        await asyncio.sleep(0.1)


@pytest.mark.slow
async def test_the_alert_fires_when_the_model_is_dead(
    stage: Stage, page: httpx.AsyncClient, tmp_path: Path
) -> None:
    with prometheus(tmp_path / "alive", page.base_url.netloc.decode()) as address:
        async with httpx.AsyncClient(base_url=address) as watching, asyncio.timeout(2 * PATIENCE):
            await until(watching, "answered", 0)
            await page.get("/api/prophecy", params={"headline": HEADLINE})
            await until(watching, "answered", 1)
            assert await firing(watching) == set()

    await stage.model.__aexit__(None, None, None)
    # Answers of the last ten minutes speak against it, so that another Prometheus looks.
    with prometheus(tmp_path / "dead", page.base_url.netloc.decode()) as address:
        async with httpx.AsyncClient(base_url=address) as watching, asyncio.timeout(2 * PATIENCE):
            await until(watching, "failed", 0)
            number = 0
            while "PresagioModelDead" not in await firing(watching):
                number += 1
                asked = {"headline": f"{HEADLINE} {number}"}
                answered = (await page.get("/api/prophecy", params=asked)).json()
                assert answered["judged"] is False
                await asyncio.sleep(0.2)
            assert await firing(watching) == {"PresagioModelDead"}
