"""The memory of this process stays small."""

from bot.commands.memory import Answer, LocalMemory
from tests.bot.prophecies import NOW, make_hit, make_prophecy


def answer(text: str) -> Answer:
    return Answer(prophecy=make_prophecy(make_hit(), text=text), asked_at=NOW, first=0, last=3)


async def test_the_conversation_silent_longest_is_forgotten() -> None:
    memory = LocalMemory(conversations=2)
    await memory.put("a", answer("first"))
    await memory.put("b", answer("second"))
    await memory.put("a", answer("third"))
    await memory.put("c", answer("fourth"))
    assert await memory.get("a") == answer("third")
    assert await memory.get("b") is None
    assert await memory.get("c") == answer("fourth")
