"""No word of a private archive is shown by the page, the API, MCP, a chat or a composition."""

from pathlib import Path

import orjson
from mcp import Client

from bot.app import App
from bot.cli.ingest import IngestOptions, ingest_files, open_sources
from bot.console.screen import Output
from bot.web.mcp import create_tool_server
from engine.errors import PresagioError
from tests.bot.command_line import write_tweets
from tests.bot.web.stage import WebStage, web_stage
from tests.engine.ingest.formats import (
    test_chatgpt,
    test_meta,
    test_telegram_html,
    test_whatsapp,
)
from tests.engine.ingest.test_private import CHATS, FOREIGN
from tests.scenarios.stage import staged

WORD = "zanzibar"
READ: dict[str, bytes] = {
    "korean.txt": f"2023. 3. 12. 오후 8:11 - Ana: {WORD} one\n".encode(),
    "arabic.txt": f"١٢/٣/٢٠٢٣، ٨:١١ م - Ana: {WORD} two\n".encode(),
    "greek.txt": f"12/3/23, 8:11 μ.μ. - Ana: {WORD} three\n".encode("utf-16"),
    "old.txt": f"09/12/2012 17:03:48: Ana: {WORD}\n".encode(),
    "above.txt": f"A chat\n\n12/03/2023, 20:11 - Ana: {WORD}\n12/03/2023, 20:12 - Bob: x".encode(),
    "ios.txt": test_whatsapp.IOS.replace("storm", WORD).encode(),
    "messages.html": test_telegram_html.page(test_telegram_html.WORDS.replace("flood", WORD)),
    "conversations.json": orjson.dumps([test_chatgpt.TALK]).replace(b"dam hold", WORD.encode()),
    "message_1.json": orjson.dumps(test_meta.CHAT).replace(b"see this", WORD.encode()),
    "chats.csv": f"sender,date,message\nAna,2020-01-01 10:00,{WORD}\n".encode(),
}
REFUSED: dict[str, bytes] = {
    **{f"{name}.txt": f"{chat}{WORD}".encode() for name, chat in CHATS.items()},
    **{f"{name}.html": f"<p>{chat}{WORD}</p>".encode() for name, chat in CHATS.items()},
    **{f"{name}.json": content() for name, content in FOREIGN.items()},
}


async def ingest(app: App, file: Path) -> bool:
    """Ingest a file as the command does; tell whether it was stored."""
    options = IngestOptions(yes=True)
    try:
        async with open_sources([str(file)], options, app.settings.ingest) as sources:
            await ingest_files(app, sources, options, output=Output.of_process())
    except PresagioError as error:
        assert error.fix, file
        return False
    return True


async def ask_everywhere(stage: WebStage) -> dict[str, str]:
    """What the page, the API and MCP say about the word, without the question itself."""
    said = {}
    for path, asked in {
        "/": {"q": WORD},
        "/ask": {"q": WORD},
        "/search": {"q": WORD},
        "/corpora": {},
        "/compose": {},
        "/api/search": {"q": WORD},
        "/api/search?corpus=personal": {"q": WORD},
        "/api/ask": {"question": WORD},
        "/api/corpora": {},
    }.items():
        said[path] = (await stage.get(path, **asked)).text
    composed = await stage.client.post("/api/compose", json={"prompt": WORD, "corpus": "personal"})
    said["compose"] = composed.text
    async with Client(create_tool_server(stage.shared)) as client:
        for tool, given in (
            ("search", {"q": WORD}),
            ("search", {"q": WORD, "corpus": "personal"}),
            ("ask", {"question": WORD}),
            ("corpora", {}),
        ):
            said[f"{tool} {given}"] = str((await client.call_tool(tool, given)).content)
    return said


async def test_no_word_of_a_private_archive_is_public(database: str, tmp_path: Path) -> None:
    async with web_stage(database) as stage:
        await ingest(stage.app, write_tweets(tmp_path / "public.jsonl", range(3)))
        for name, content in READ.items():
            (tmp_path / name).write_bytes(content)
            assert await ingest(stage.app, tmp_path / name), name
        for name, content in REFUSED.items():
            (tmp_path / name).write_bytes(content)
            assert not await ingest(stage.app, tmp_path / name), name
        async with stage.app.database.connection() as connection:
            kinds = await connection.fetch(
                "SELECT kind, count(*) FILTER (WHERE text ILIKE $1) AS number"
                " FROM corpus LEFT JOIN document ON corpus_id = corpus.id GROUP BY kind",
                f"%{WORD}%",
            )
        assert {row["kind"]: row["number"] for row in kinds} == {"tweets": 0, "personal": len(READ)}
        for where, said in (await ask_everywhere(stage)).items():
            for telling in ("Ana:", "Ana Paz", "It may not", "Bob Boat", "personal:"):
                assert telling not in said, where
    async with staged(database) as stand_in, stand_in.serving():
        alice = stand_in.telegram.user("Alice")
        home = stand_in.telegram.private_chat(alice)
        for asked in (f"/find {WORD}", f"{WORD} floods the harbour at last", "/corpus"):
            answer = await (await alice.says(home, asked)).answer()
            for telling in ("Ana", "Bob Boat", "personal"):
                assert telling not in answer.text, asked
