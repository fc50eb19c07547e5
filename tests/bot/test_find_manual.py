"""docs/find.md: its equivalences hold, its examples run, its filters are those there are."""

import itertools
import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

import orjson
import pytest

from db.corpus.corpora import Corpora
from db.pool import Database
from db.search.find import DialectIndex
from engine.query.filters import KINDS
from engine.query.find import Finder
from engine.query.parser import MAX_PARTS, parse_query
from tests.bot.command_line import Done
from tests.bot.conftest import Invoke
from tests.database import Clones, wait_for
from tests.db.loading import load_texts

MANUAL = (Path(__file__).parents[2] / "docs" / "find.md").read_text(encoding="utf-8")
WORDS = ("A", "B", "C", "D")


def rows(heading: str) -> list[tuple[str, str]]:
    """Return the cells of the table below a header row."""
    table = MANUAL.partition(f"| {heading} |\n")[2].partition("\n\n")[0]
    cells = [re.split(r"(?<!\\) \| ", row.strip("| ")) for row in table.splitlines()[1:]]
    return [(left.strip(), right.strip()) for left, right in cells]


MEANINGS = [(left.replace("\\|", "|"), right.strip("`")) for left, right in rows("meaning | query")]
MEANINGS += [("(A & B) | C", "A OR C B OR C")]
SAME = [(left.strip("`"), right.strip("`")) for left, right in rows("one | other")]
EXAMPLES = re.findall(r"^presagio (find .*)$", MANUAL, re.MULTILINE)


def test_the_manual_holds_what_is_read_from_it() -> None:
    assert (len(MEANINGS), len(SAME), len(EXAMPLES)) == (8, 9, 4)
    assert "`A OR C B OR C`" in MANUAL


@pytest.fixture(scope="module")
def subsets_url(_clones: Clones) -> Iterator[str]:
    """A database with one text for each set of the four words."""

    async def fill(url: str) -> None:
        database = await Database.open(url)
        await load_texts(database, "subsets", [" ".join(subset) or "none" for subset in subsets()])
        await database.close()

    with _clones.clone() as url:
        wait_for(fill(url))
        yield url


def subsets() -> list[Sequence[str]]:
    return [combination for size in range(5) for combination in itertools.combinations(WORDS, size)]


@pytest.mark.parametrize(("meaning", "query"), MEANINGS)
async def test_a_query_means_what_the_manual_says(
    subsets_url: str, meaning: str, query: str
) -> None:
    database = await Database.open(subsets_url)
    corpus = await Corpora(database).get("subsets")
    found = await Finder(DialectIndex(database)).find(corpus, parse_query(query), limit=100)
    formula = meaning.replace("!", " not ").replace("&", " and ").replace("|", " or ").strip()
    expected = {
        " ".join(subset) or "none"
        for subset in subsets()
        if eval(formula, {word: word in subset for word in WORDS})
    }
    assert {hit.document.candidate.text for hit in found.hits} == expected
    await database.close()


@pytest.mark.parametrize(("one", "other"), SAME)
def test_the_manual_s_pairs_are_the_same_query(one: str, other: str) -> None:
    assert parse_query(one) == parse_query(other)


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_examples_find_something(invoke: Invoke, demo: str, example: str) -> None:
    done: Done = invoke(*shlex.split(example))
    assert done.code == 0
    if "--json" in example:
        assert orjson.loads(done.out)["hits"]
    else:
        assert "in demo: " in done.out


@pytest.mark.parametrize("name", [*KINDS, "@ana", "#coffee"])
def test_every_filter_is_in_the_table(name: str) -> None:
    assert f"`{name}:" in MANUAL if name in KINDS else f"`{name}`" in MANUAL


def test_manual_states_the_limit_of_query_parts() -> None:
    assert f"At most {MAX_PARTS} parts" in MANUAL
