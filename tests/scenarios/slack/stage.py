"""A bot that serves a Slack workspace, and everybody around it, on a database of its own."""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from tests.fakes.slack import Channel, Message, RequestUrl, SlackServer, User
from tests.scenarios.stage import Surroundings, surroundings


@dataclass(kw_only=True)
class SlackStage(Surroundings):
    """What a bot needs in a Slack workspace."""

    slack: SlackServer
    counted: int | None = None  # messages that the test knows of
    alice: User = field(init=False)
    bob: User = field(init=False)
    general: Channel = field(init=False)

    def __post_init__(self) -> None:
        self.alice = self.slack.user("alice")
        self.bob = self.slack.user("bob", locale="es-ES", tz="Europe/Madrid")
        self.general = self.slack.channel("general", [self.alice, self.bob])

    @property
    def platform_environ(self) -> Mapping[str, str]:
        return self.slack.environ

    @asynccontextmanager
    async def serving(
        self, listening: Callable[[], object] | None = None, *, processes: int = 1
    ) -> AsyncIterator[None]:
        """Bots that listen, until the block ends. By then nothing may have been said that
        `replies` did not count."""
        ready = listening or (lambda: len(self.slack.connections) == processes)
        async with self.running(self.slack.until(ready), processes=processes):
            yield
        if self.counted is not None:  # what was under way has been finished
            assert len(self.slack.bot_messages) == self.counted

    def use_requests(self, port: int) -> RequestUrl:
        """Have events come over signed requests to a port."""
        self.environment |= {
            "SLACK_APP_TOKEN": "",
            "SLACK_SIGNING_SECRET": self.slack.signing_secret,
            "PRESAGIO_WEB__PORT": str(port),
        }
        return self.slack.use_http(f"http://127.0.0.1:{port}/slack/events")

    async def reply(self, channel: Channel) -> Message:
        """The bot's first message in a channel."""
        return await channel.until(lambda message: message.author is self.slack.bot)

    async def replies(self, number: int) -> list[Message]:
        """All that the bot has said, which must be so many messages, now and at the end."""
        self.counted = number
        await self.slack.until(lambda: len(self.slack.bot_messages) >= number)
        await self.slack.quiet()
        said = self.slack.bot_messages
        assert len(said) == number, [message.text for message in said]
        return said


@asynccontextmanager
async def slack_staged(database_url: str, slack: SlackServer) -> AsyncIterator[SlackStage]:
    """Stand-ins on a database; the bot does not run yet. No request may break the stand-in."""
    async with slack, surroundings() as (model, web):
        yield SlackStage(database_url=database_url, slack=slack, model=model, web=web)
        assert slack.host.broken == []


async def own_workspace(stage: SlackStage) -> Channel:
    """Let Alice own the bot; return where she talks with it."""
    home = stage.slack.im(stage.alice)
    await stage.alice.commands(home, "/presagio", f"start {await stage.code('slack')}")
    await home.until(lambda message: "You own this bot now." in message.visible)
    return home


async def opens_share(stage: SlackStage, answer: Message) -> None:
    """Press "Share", behind which the picture waits."""
    await stage.alice.clicks(answer, "Share")
    await stage.slack.until(lambda: "Picture" in answer.labels)
