"""Who is there in that week, where, and in which language they read."""

from dataclasses import dataclass, field

from tests.fakes import slack
from tests.fakes.telegram import Chat, Topic, User
from tests.scenarios.seats import SlackSeat, TelegramSeat
from tests.scenarios.week.stage import Week

# What the bot says there is in this language, and in this one alone; "" means that of whoever asks.
LANGUAGES = {
    "Alice": "en",
    "Friends": "",
    "Daily Omen": "en",
    "Eve's": "en",
    "Luz": "es",
    "Vecinos": "es",
    "Foro": "es",
    "#general": "",
    "#noticias": "es",
}


@dataclass
class People:
    """Everybody's seats: Alice owns the bot on Telegram, Carol on Slack."""

    week: Week
    topic: Topic = field(init=False)

    def __post_init__(self) -> None:
        telegram, workspace = self.week.telegram, self.week.slack
        alice, bob, eve = (telegram.user(name) for name in ("Alice", "Bob", "Eve"))
        luz = telegram.user("Luz", language="es")
        carla, zoe = (telegram.user(name) for name in ("Carla", "Zoe"))
        dani = telegram.user("Dani", language="es")
        friends = telegram.group(
            "Friends", admins=[alice], members=[bob, carla, dani, zoe], privacy_mode=False
        )
        vecinos = telegram.group("Vecinos", admins=[luz], privacy_mode=False)
        foro = telegram.group("Foro", admins=[luz], forum=True, privacy_mode=False)
        own = telegram.group("Eve's", admins=[eve], privacy_mode=False)
        self.topic = foro.topic("Noticias")
        self.omen = telegram.channel("Daily Omen", username="daily_omen", admins=[alice])
        self.alice = self._on_telegram(alice, telegram.private_chat(alice))
        self.bob_with_friends = self._on_telegram(bob, friends)
        self.carla = self._on_telegram(carla, friends)
        self.dani = self._on_telegram(dani, friends)
        self.zoe = self._on_telegram(zoe, friends)
        self.alice_with_friends = self._on_telegram(alice, friends)
        self.luz_with_neighbours = self._on_telegram(luz, vecinos)
        self.luz_in_the_topic = self._on_telegram(luz, foro, self.topic)
        self.eve_at_home = self._on_telegram(eve, own)
        carol = workspace.user("carol", admin=True)
        dave = workspace.user("dave")
        erin, frank, gina = (workspace.user(name) for name in ("erin", "frank", "gina"))
        ines = workspace.user("inés", locale="es-ES", tz="Europe/Madrid")
        dora = workspace.user("dora", locale="es-ES", tz="Europe/Madrid")
        general = workspace.channel("general", [carol, dave, erin, frank, ines])
        noticias = workspace.channel("noticias", [dora, carol])
        self.carol = self._on_slack(carol, workspace.im(carol))
        self.carol_in_general = self._on_slack(carol, general)
        self.dave = self._on_slack(dave, general)
        self.erin = self._on_slack(erin, general)
        self.frank = self._on_slack(frank, general)
        self.ines = self._on_slack(ines, general)
        self.gina = gina
        self.dora = self._on_slack(dora, workspace.im(dora))
        self.dora_in_the_channel = self._on_slack(dora, noticias)

    def languages(self) -> dict[str, str]:
        """Return the language of each chat, as the transcript names it."""
        direct = {f"#{self.carol.channel.name}": "en", f"#{self.dora.channel.name}": "es"}
        return LANGUAGES | direct

    def _on_telegram(self, user: User, chat: Chat, topic: Topic | None = None) -> TelegramSeat:
        week = self.week
        return TelegramSeat(
            seconds=week.clock.seconds,
            passing=week.passing,
            server=week.telegram,
            user=user,
            chat=chat,
            topic=topic,
        )

    def _on_slack(self, user: slack.User, channel: slack.Channel) -> SlackSeat:
        week = self.week
        return SlackSeat(
            seconds=week.clock.seconds,
            passing=week.passing,
            server=week.slack,
            user=user,
            channel=channel,
        )
