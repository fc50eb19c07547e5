"""A headline and the tweets that foretold it; /more of them."""

from dataclasses import replace

from bot.commands.memory import Answer
from bot.commands.registry import Command, Request, Services
from bot.prophecy_reply import EXAMPLE, prophecy_reply
from bot.reply import Reply

_PAGES = 4  # answers' worth of hits asked for at once: /more costs no second search


async def _prophesy(request: Request, services: Services) -> Reply:
    if not request.text:
        return Reply(text=f"Send me a headline, such as: {EXAMPLE}", ephemeral=True)
    prophecy = await services.prophesy(
        request.text, corpus=services.corpus, limit=services.limit * _PAGES, now=request.now
    )
    answer = Answer(prophecy=prophecy, asked_at=request.now, first=0, last=services.limit)
    await services.memory.put(request.conversation_id, answer)
    return prophecy_reply(prophecy, answer.page, now=request.now)


async def _more(request: Request, services: Services) -> Reply:
    answer = await services.memory.get(request.conversation_id)
    if answer is None:
        return Reply(text="Send me a headline first.", ephemeral=True)
    turned = replace(answer, first=answer.last, last=answer.last + services.limit)
    if not turned.page:
        return Reply(text="That is all I found.", ephemeral=True)
    await services.memory.put(request.conversation_id, turned)
    return prophecy_reply(turned.prophecy, turned.page, now=turned.asked_at)


PROPHECY = Command(
    name="prophecy",
    aliases=("p",),
    summary="find old tweets that foretold a headline; plain text does the same",
    usage="/prophecy HEADLINE",
    example=f"/prophecy {EXAMPLE}",
    handler=_prophesy,
)
MORE = Command(
    name="more",
    summary="show the next tweets for the last headline",
    usage="/more",
    example="/more",
    handler=_more,
)
