"""Settings of the web page, the HTTP API and the port that they share with webhooks."""

from pydantic import Field

from engine.settings.section import Rate, Section


class WebSettings(Section):
    """The web page and the HTTP API. Keys that they ask for are WEB_API_KEYS and WEB_ADMIN_KEYS,
    several with commas between them."""

    enabled: bool = Field(
        False, description="Whether presagio serve opens them; presagio serve --web does anyway."
    )
    host: str = Field(
        "127.0.0.1",
        description="Address to listen on. Whoever reaches it can read what the corpora hold.",
    )
    port: int = Field(
        8080,
        ge=0,
        le=65535,
        description="Port to listen on, for the webhooks of Telegram and Slack too; 0 takes a free"
        " one.",
    )
    public_url: str = Field(
        "",
        pattern=r"^(https?://[^\s?#]+)?$",
        description="Address at which people reach the page, such as https://omen.example.org; in"
        " Slack, links to it are shown as cards.",
    )
    page: bool = Field(
        True, description="Whether there is a page; it asks for no key. Without it, the API alone."
    )
    mcp: bool = Field(
        False,
        description="Whether agents find the questions of the API as tools at /mcp (Model Context"
        " Protocol), with its keys and limits. Needs the extra mcp.",
    )
    judge: bool = Field(
        False,
        description="Whether a model judges and answers for those who give no key: anybody on the"
        " page, and in the API unless there are WEB_API_KEYS. llm.web_share bounds what it costs.",
    )
    corpora: tuple[str, ...] = Field(
        (),
        description="The only corpora that are shown; empty = all but those of kind personal.",
    )
    examples: tuple[str, ...] = Field(
        (),
        description="Headlines for visitors to try; empty = those posted or approved, or a stock.",
    )
    votes: bool = Field(True, description="Whether visitors of the page may vote.")
    wall: tuple[str, ...] = Field(
        (),
        description="Chats whose best-voted prophecies everybody may see on the page without your"
        ' approval, such as "slack:C0123". Those of visitors wait for presagio wall approve.',
    )
    wall_voters: int = Field(
        0,
        ge=0,
        description="Visitors of one day whose votes show a prophecy without your approval; 0 = no"
        " number does.",
    )
    allow_origins: tuple[str, ...] = Field(
        (), description='Pages that may use the API from a browser, such as "https://example.org".'
    )
    trusted_proxies: tuple[str, ...] = Field(
        (), description="Addresses of proxies that are believed when they say who asks."
    )
    requests_per_minute: Rate = Field(
        120, description="Requests of one address a minute; -1 = no limit."
    )
    answers_per_minute: Rate = Field(
        20, description="The same of what may ask a model or count a vote; -1 = no limit."
    )
