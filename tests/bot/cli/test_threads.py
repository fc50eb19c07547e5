"""`presagio corpora threads` and `thread`."""

from pathlib import Path

import pytest

from tests.bot.command_line import write_chat, write_tweets
from tests.bot.conftest import Invoke


@pytest.fixture
def chat(invoke: Invoke, database: str, tmp_path: Path) -> str:
    """A personal corpus with one chat; the name of its thread."""
    name = write_chat(tmp_path / "WhatsApp Chat with Bob.txt")
    assert invoke("ingest", str(tmp_path / f"{name}.txt"), "--author", "Ana").code == 0
    return "Bob"


def test_threads_are_listed(invoke: Invoke, chat: str) -> None:
    row = {
        "thread": chat,
        "title": "Bob",
        "documents": 3,
        "authors": 2,
        "oldest": "2020-12-31T23:58:00+00:00",
        "newest": "2021-01-01T00:10:00+00:00",
    }
    assert invoke("corpora", "threads", "personal", "--json").json == row
    head, line = invoke("corpora", "threads", "personal").out.splitlines()
    assert head.split() == list(row)
    assert line.split() == [str(value) for value in row.values()]


def test_a_thread_is_shown_in_order(invoke: Invoke, chat: str) -> None:
    done = invoke("corpora", "thread", "personal", chat)
    assert done.out.splitlines() == [
        "2020-12-31 23:58  Ana",
        "    Will it rain?",
        "2020-12-31 23:59  Bob",
        "    A storm,",
        "    they say",
        "2021-01-01 00:10  Ana",
        "    <Media omitted>",
    ]
    assert done.err == ""


def test_as_json_each_message_says_where_it_stands(invoke: Invoke, chat: str) -> None:
    messages = invoke("corpora", "thread", "personal", chat, "--json").json_lines
    assert [message["role"] for message in messages] == ["me", "others", "me"]
    last = messages[2]
    assert last["attribution"] == f"WhatsApp Chat with Bob.txt#{last['id']}"
    assert (last["flags"], last["created_at"]) == (["media"], "2021-01-01T00:10:00+00:00")


def test_a_long_thread_says_that_there_is_more(invoke: Invoke, chat: str) -> None:
    done = invoke("corpora", "thread", "personal", chat, "--limit", "2", "--json")
    assert len(done.json_lines) == 2
    assert done.err == "These are the first 2; --limit shows more.\n"
    assert invoke("corpora", "thread", "personal", chat, "--limit", "3").err == ""


def test_an_unknown_thread_is_told_with_the_way_to_the_known(invoke: Invoke, chat: str) -> None:
    complaint = invoke("corpora", "thread", "personal", "Eve").complaint()
    assert complaint == (
        "Corpus 'personal' has no thread 'Eve'. List them with: presagio corpora threads personal"
    )


def test_a_corpus_without_threads_says_so(invoke: Invoke, database: str, tmp_path: Path) -> None:
    invoke("ingest", str(write_tweets(tmp_path / "a.jsonl", range(2))))
    done = invoke("corpora", "threads", "tweets")
    assert (done.code, done.out, done.err) == (0, "", "Corpus 'tweets' has no threads.\n")
