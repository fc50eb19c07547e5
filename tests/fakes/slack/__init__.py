"""A stand-in for Slack over real sockets on loopback.

    async with SlackServer() as slack:
        alice = slack.user("alice", tz="America/Argentina/Buenos_Aires", admin=True)
        general = slack.channel("general", members=[alice])
        ...  # connect an app with slack.base_url, slack.bot_token and slack.app_token
        await alice.mentions_bot(general, "Pope visits Cuba")
        reply = await general.until(lambda message: message.author is slack.bot)
        await alice.clicks(reply, "more")

It speaks the Web API, Socket Mode, response_url, external upload and signed HTTP events. What it
is to do wrong: `fail`, `refuse_connections`, `disconnect`, `Connection.drop` and `.frozen`. What it
was asked: `calls`, `envelopes`, `bot_messages`, and the messages of each channel.
"""

from tests.fakes.slack.app import App
from tests.fakes.slack.conversation import Channel, Message, Person
from tests.fakes.slack.delivery import Ack, Attempt, Envelope, Timing
from tests.fakes.slack.faults import Fault
from tests.fakes.slack.mrkdwn import Link, Seen
from tests.fakes.slack.people import User
from tests.fakes.slack.request_url import RequestUrl, Signing
from tests.fakes.slack.server import SlackServer
from tests.fakes.slack.socket_mode import Connection
from tests.fakes.slack.web_api import Call

__all__ = [
    "Ack",
    "App",
    "Attempt",
    "Call",
    "Channel",
    "Connection",
    "Envelope",
    "Fault",
    "Link",
    "Message",
    "Person",
    "RequestUrl",
    "Seen",
    "Signing",
    "SlackServer",
    "Timing",
    "User",
]
