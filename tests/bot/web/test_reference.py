"""The page of the API shows what there is, with examples that are answered."""

import itertools
import json
import shlex

from bot.web.application import create_application
from bot.web.failures import Problem
from bot.web.reference import list_prose
from tests.bot.web.stage import ADDRESS, WebStage, web_stage
from tests.bot.web.test_pages import one, read, texts

SAID = (".operation h3", ".operation > p", ".fields dd")


async def test_every_operation_is_there_with_its_parameters_and_an_example(
    coffee_web: WebStage,
) -> None:
    document = create_application(coffee_web.shared).openapi()
    page = read(await coffee_web.get("/docs"))
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            section = one(
                page, f"section[aria-labelledby='{method.upper()}{path.replace('/', '-')}']"
            )
            assert operation["summary"] in section.text()
            named = {node.text() for node in section.css(".operation > .fields dt code")}
            assert {each["name"] for each in operation.get("parameters", ())} <= named
            command = shlex.split(one(section, "pre").text())
            assert command[0] == "curl"
            assert any(word.startswith(ADDRESS) for word in command)
            if "-d" in command:
                assert json.loads(command[command.index("-d") + 1])["corpora"] == ["demo"]
    assert len(page.css("section.operation")) == 14, "with that of errors"
    groups = [[str(a.attributes["href"]) for a in each.css("a")] for each in page.css(".index ul")]
    assert [len(each) for each in groups] == [9, 5]
    assert "#GET-api-search" in groups[0] and "#GET-metrics" in groups[1]
    for link in itertools.chain(*groups):
        assert page.css(link.replace("{", r"\{").replace("}", r"\}")), link
    Problem.model_validate(json.loads(texts(page, "[aria-labelledby=errors] pre")[0]))


async def test_links_of_the_reference_work(coffee_web: WebStage) -> None:
    page = read(await coffee_web.get("/docs"))
    links = [str(link.attributes["href"]) for link in page.css(".operation > p > a")]
    assert "/api/corpora" in links
    assert len(links) == 10
    for link in links:
        assert (await coffee_web.get(link)).status_code == 200, link


async def test_examples_of_the_reference_are_answered(demo_web: WebStage) -> None:
    page = read(await demo_web.get("/docs"))
    links = [str(link.attributes["href"]) for link in page.css(".operation > p > a")]
    asked = [link for link in links if link.startswith("/api/") and "q=" in link]
    assert len(asked) == 4
    for link in asked:
        answer = (await demo_web.get(link)).json()
        assert answer.get("hits") or answer.get("sources"), link


async def test_a_spanish_reader_reads_spanish_but_for_names(coffee_web: WebStage) -> None:
    document = create_application(coffee_web.shared).openapi()
    prose = {text.replace("`", "") for text in list_prose(document)}
    for language, shown in (("en", True), ("es", False)):
        page = read(await coffee_web.get("/docs", lang=language))
        said = {text for kind in SAID for text in texts(page, kind)}
        assert {any(text.startswith(each) for text in said) for each in prose} == {shown}
        assert page.css("main [lang]") == []
    kinds = {text.rpartition(" ")[2] for text in texts(page, ".fields dt .quiet")}
    assert not kinds & {"text", "list", "boolean", "integer", "number", "object"}


async def test_reference_examples_include_a_key_if_required(coffee_url: str) -> None:
    async with web_stage({"DATABASE_URL": coffee_url, "WEB_API_KEYS": "k"}) as web:
        page = read(await web.get("/docs"))
        assert all("Bearer KEY" in node.text() for node in page.css("[id='GET-api-find'] ~ pre"))
        assert not page.css("a[href^='/api/']")


async def test_reference_is_available_without_an_archive(web: WebStage) -> None:
    assert "corpus=NAME" in (await web.get("/docs")).text
