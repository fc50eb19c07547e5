"""What `presagio setup` is to set up, and the checks of it against the services themselves."""

from collections.abc import Mapping
from dataclasses import dataclass

from bot.cli.ingest_actions import IngestOptions, open_sources
from bot.console.output import Output
from bot.settings import Settings

ACCESS = ("owner", "open")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What to set up; "" leaves it as it is."""

    archive: tuple[str, ...] = ()
    corpus: str = ""
    author: str = ""
    name: str = ""
    model_key: str = ""
    model_url: str = ""
    model: str = ""
    telegram_token: str = ""
    slack_bot_token: str = ""
    slack_app_token: str = ""
    access: str = ""
    new_owner: bool = False
    yes: bool = False

    @property
    def settings(self) -> Mapping[tuple[str, str], str]:
        """The settings to write, by section and key."""
        wanted = {
            ("llm", "base_url"): self.model_url,
            ("llm", "model"): self.model,
            ("chat", "access"): self.access,
        }
        return {place: value for place, value in wanted.items() if value}

    @property
    def secrets(self) -> Mapping[str, str]:
        """The secrets to write, by their variables."""
        wanted = {
            "OPENROUTER_API_KEY": self.model_key,
            "TELEGRAM_BOT_TOKEN": self.telegram_token,
            "SLACK_BOT_TOKEN": self.slack_bot_token,
            "SLACK_APP_TOKEN": self.slack_app_token,
        }
        return {name: value for name, value in wanted.items() if value}


class Checks:
    """Checks answers against the services themselves. `names` is what the bots are called."""

    def __init__(self, settings: Settings, output: Output) -> None:
        self._settings = settings
        self._output = output
        self.names: dict[str, str] = {}

    async def all(self, wishes: Wishes) -> None:
        """Check everything that is to be set. Raises PresagioError."""
        for check in (self.archive, self.model, self.telegram, self.slack):
            await check(wishes)

    async def archive(self, wishes: Wishes) -> None:
        """Recognise the files. Raises InputError, UsageError."""
        if wishes.archive:
            options = IngestOptions(author=wishes.author or None)
            async with open_sources(wishes.archive, options, self._settings.ingest) as sources:
                for one in sources:
                    self._output.remark(f"archive: {one.name} is {one.format}")

    async def model(self, wishes: Wishes) -> None:
        """Ask the model for a word. Raises ModelError."""
        if not (wishes.model_key or wishes.model_url):
            return
        from engine.llm.check import check_model
        from engine.llm.endpoint import chat_endpoint

        changed = {"base_url": wishes.model_url, "model": wishes.model}
        llm = self._settings.llm.model_copy(
            update={key: value for key, value in changed.items() if value}
        )
        endpoint = chat_endpoint(llm, wishes.model_key or None)
        self._output.remark(f"model: {await check_model(endpoint)}")

    async def telegram(self, wishes: Wishes) -> None:
        """Ask Telegram who the bot is. Raises FaceFailed."""
        if wishes.telegram_token:
            from bot.telegram.client import check_telegram

            chosen = self._settings.telegram
            said = await check_telegram(wishes.telegram_token, chosen.api_base, chosen.webhook_url)
            self.names["telegram"] = said.partition(",")[0]
            self._output.remark(f"telegram: {said}")

    async def slack(self, wishes: Wishes) -> None:
        """Ask Slack who the bot is. Raises FaceFailed."""
        if wishes.slack_bot_token:
            from bot.slack.client import check_slack

            base = self._settings.slack.api_base
            said = await check_slack(wishes.slack_bot_token, wishes.slack_app_token, "", base)
            self.names["slack"] = said.partition(",")[0]
            self._output.remark(f"slack: {said}")
