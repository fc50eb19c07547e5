"""docs/web.md, docs/api.md and the figures of docs/operating.md are what there is."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.settings.model import WebSettings
from bot.web.application import create_application
from bot.web.schemas import AskParameters, ProphecyParameters, SearchParameters
from bot.web.searching import MAXIMUM
from tests.bot.web.stage import WebStage, web_stage

DOCS = Path(__file__).parents[2] / "docs"
PAGE, MANUAL, OPERATING = (
    (DOCS / name).read_text(encoding="utf-8") for name in ("web.md", "api.md", "operating.md")
)
EXAMPLES = re.findall(r'^curl "http://127\.0\.0\.1:8080(/[^"]+)"$', MANUAL, re.MULTILINE)
ROWS = dict(re.findall(r"^\| `\w+ (/\S+)` \| (.*) \|$", MANUAL, re.MULTILINE))


@pytest.fixture
async def web(demo: str) -> AsyncIterator[WebStage]:
    async with web_stage(demo) as stage:
        yield stage


def test_the_manual_holds_what_is_read_from_it() -> None:
    assert (len(EXAMPLES), len(ROWS)) == (6, 13)
    web = WebSettings()
    assert all(f"http://{web.host}:{web.port}/" in text for text in (PAGE, MANUAL))
    assert f"ask {web.requests_per_minute} times a minute, and {web.answers_per_minute}" in PAGE
    assert f"of more than {MAXIMUM} the best {MAXIMUM} are listed" in PAGE


@pytest.mark.parametrize("example", EXAMPLES)
async def test_the_examples_find_something(web: WebStage, example: str) -> None:
    answer = await web.json(example)
    for found in ("hits", "sources", "corpora"):
        assert answer.get(found, True)


async def test_every_path_and_status_is_in_the_tables(web: WebStage) -> None:
    written = create_application(web.shared).openapi()["paths"]
    assert set(ROWS) == set(written)
    statuses = {
        status
        for operations in written.values()
        for operation in operations.values()
        for status in operation["responses"]
    }
    assert set(re.findall(r"^\| (\d{3}) \|", MANUAL, re.MULTILINE)) == statuses - {"200"}


@pytest.mark.parametrize(
    ("path", "parameters"),
    [
        ("/api/search", SearchParameters),
        ("/api/prophecy", ProphecyParameters),
        ("/api/ask", AskParameters),
    ],
)
def test_every_parameter_is_in_the_table(
    path: str, parameters: type[SearchParameters | ProphecyParameters | AskParameters]
) -> None:
    named = set(re.findall(r"`(\w+)`", ROWS[path]))
    older = {"headline", "question"}  # names of what is asked, which stay
    assert named == {"q" if name in older else name for name in parameters.model_fields}
    limit = parameters.model_fields["limit"]
    low, high = (getattr(one, name) for one, name in zip(limit.metadata, ("ge", "le"), strict=True))
    assert f"`limit` ({limit.default}; {low}-{high})" in ROWS[path]


async def test_operating_page_lists_exactly_the_exported_metrics(demo: str) -> None:
    documented = set(re.findall(r"`(presagio_\w+)`", OPERATING))
    environ = {"DATABASE_URL": demo, "PRESAGIO_LLM__BASE_URL": "http://127.0.0.1:1/v1"}
    async with web_stage(environ) as web:
        text = (await web.get("/metrics")).text
    there = set(re.findall(r"^# TYPE (presagio_\w+) ", text, re.MULTILINE))
    assert documented == {name for name in there if not name.endswith("_created")}
