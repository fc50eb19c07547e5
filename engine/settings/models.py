"""Settings for language models, embeddings and writing from evidence."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from engine.settings import UNLIMITED, HttpUrl, Section
from engine.vectors import Prefixes

Voice = Literal["plain", "dry"]  # of what is written
Share = Annotated[float, Field(ge=0, le=1)]
REMOTE_BATCH = 128  # texts per request to an endpoint, unless set otherwise


class ComposeSettings(Section):
    """How tweets are written from evidence: presagio compose. Models left empty are llm.model."""

    queries: int = Field(5, ge=1, le=5, description="The most searches of the web for a request.")
    internal_boost: float = Field(
        1.5, ge=1, le=10, description="What a text of a corpus weighs beside one of the web."
    )
    passages: int = Field(8, ge=1, le=20, description="Passages that the evidence is taken from.")
    passage_length: int = Field(
        2400, ge=200, le=10_000, description="Characters of a passage that the model sees."
    )
    evidence_model: str = Field(
        "", description="Model that says what to look for on the web, and takes facts from it."
    )
    write_model: str = Field("", description="Model that writes.")
    voice: Voice = Field(
        "plain", description="How it writes: plain, or dry, with an understated wit."
    )
    check: bool = Field(
        True, description="Whether a model compares each sentence with what it cites."
    )
    check_model: str = Field("", description="Model that compares; a cheaper one may do.")
    daily: int = Field(
        20, ge=-1, description="Times a day (UTC) that a person in a chat may ask; -1 no limit."
    )


def _unlimited_or_not_negative(amount: float) -> float:
    if amount < 0 and amount != UNLIMITED:
        raise ValueError("must be 0 or more, or -1 for no limit")
    return amount


Money = Annotated[float, AfterValidator(_unlimited_or_not_negative)]


class LlmSettings(Section):
    """The language model that judges: OpenRouter or any server that speaks the same protocol."""

    base_url: HttpUrl = Field(
        "https://openrouter.ai/api/v1",
        description="Address of the endpoint, without /chat/completions.",
    )
    model: str = Field("openai/gpt-5-mini", min_length=1, description="Model that is asked first.")
    fallback_models: tuple[str, ...] = Field(
        (), description="Models that answer in its place when it cannot, in this order."
    )
    reasoning_effort: Literal["", "minimal", "low", "medium", "high"] = Field(
        "minimal", description="How long the model may think; empty leaves it to the model."
    )
    read_timeout: float = Field(
        30, gt=0, description="Seconds to wait for the next part of an answer."
    )
    total_timeout: float = Field(
        45, gt=0, description="Seconds for one question, its retries included."
    )
    max_completion_tokens: int = Field(
        4000, ge=1, description="Longest answer; tokens spent on thinking count."
    )
    retries: int = Field(2, ge=0, le=10, description="Times that a failed call is repeated.")
    private_corpora: tuple[str, ...] = Field(
        (),
        description="Corpora of the kind personal that may be sent to the endpoint where it is on"
        " another machine. Without a name here they are not judged, answered or sampled there.",
    )
    daily_tokens: int = Field(
        2_000_000,
        ge=UNLIMITED,
        description="Tokens a day (UTC) that may be used; 0 makes no calls, -1 has no limit.",
    )
    daily_usd: Money = Field(
        1.0, description="US dollars a day (UTC) that may be spent; 0 makes no calls, -1 no limit."
    )
    web_share: Share = Field(
        0.2,
        description="The most of a day's tokens and dollars (0 to 1) that visitors of the web page,"
        " and of the API without a key, may use. They are judged only where web.judge is true.",
    )
    api_share: Share = Field(0.5, description="The same of programs that give the API a key.")
    chat_share: Share = Field(0.7, description="The same of all chats together.")
    posts_reserve: Share = Field(
        0.3, description="What these three leave of it to the daily posts; 0 where there are none."
    )


class EmbeddingSettings(Section):
    """Where vectors come from, which find texts of similar meaning. presagio embed makes them;
    those of several models may be kept side by side."""

    backend: Literal["auto", "null", "tfidf", "local", "remote"] = Field(
        "auto",
        description="null makes none; tfidf counts words; local runs a model on this machine;"
        " remote asks an endpoint like OpenAI's. auto is local where presagio[local] is"
        " installed, else null.",
    )
    model: str = Field(
        "",
        description="local: empty for the model of presagio[local], model2vec:NAME or"
        " sentence-transformers:NAME. remote: the endpoint's name for it.",
    )
    base_url: HttpUrl = Field(
        "https://api.openai.com/v1",
        description="remote: address of the endpoint, without /embeddings.",
    )
    dimensions: int = Field(
        0, ge=0, le=4000, description="remote: length of a vector; 0 leaves it to the model."
    )
    query_prefix: str = Field("", description='What the model wants before a question ("query: ").')
    document_prefix: str = Field("", description='The same before a document ("passage: ").')
    batch: int = Field(
        0,
        ge=0,
        le=2048,
        description="Texts that the model is given at once; a question to a local one waits for"
        " them. 0 is 128 in one request for remote, 8 for local.",
    )
    at_once: int = Field(
        4,
        ge=1,
        le=64,
        description="remote: requests at once; fewer while the endpoint asks to slow down.",
    )
    timeout: float = Field(30, gt=0, description="remote: seconds for one request.")
    usd_per_million_tokens: float = Field(
        0, ge=0, description="remote: what it costs, where the endpoint does not say."
    )
    private_corpora: tuple[str, ...] = Field(
        (),
        description="remote: corpora of the kind personal whose texts, and what is asked of them,"
        " may be sent to an endpoint on another machine.",
    )
    at_ingest: bool = Field(
        False,
        description="Whether presagio ingest makes vectors of the corpus it filled, however long it"
        " takes. Those of presagio[local] it makes anyway if that takes less than a minute.",
    )
    keep_up: bool = Field(
        True,
        description="Whether presagio serve makes, a little at a time, the vectors that are"
        " missing. An endpoint gets texts only of corpora that it has vectors of already, until"
        " half of llm.daily_usd is spent.",
    )

    @property
    def prefixes(self) -> Prefixes:
        """The prefixes that the model expects before texts."""
        return Prefixes(query=self.query_prefix, document=self.document_prefix)


class RerankSettings(Section):
    """How the passages for a text are put in order. The key of an endpoint is RERANK_API_KEY."""

    backend: Literal["bm25+e5", "bm25", "remote", "cross-encoder"] = Field(
        "bm25+e5",
        description="bm25 compares words; bm25+e5 meaning too, where embeddings are local and"
        " presagio[local] is installed; remote asks an endpoint; cross-encoder runs a model on this"
        " machine.",
    )
    base_url: HttpUrl = Field(
        "https://api.cohere.com/v2",
        description="remote: address of the endpoint, without /rerank. Cohere, Jina, vLLM and Text"
        " Embeddings Inference are understood.",
    )
    model: str = Field(
        "",
        description="remote: the endpoint's name for the model. cross-encoder: its name in"
        " sentence-transformers.",
    )
    timeout: float = Field(5, gt=0, description="remote: seconds for one request.")
    seconds: float = Field(
        0.3,
        ge=0,
        le=30,
        description="bm25+e5: seconds for comparing the meaning of pages of the web and other"
        " texts without a stored vector; if they do not suffice for all, words alone decide.",
    )
    usd_per_search: float = Field(
        0, ge=0, description="remote: what a request costs, in US dollars."
    )
    private_corpora: tuple[str, ...] = Field(
        (),
        description="remote: corpora of the kind personal whose texts may be sent to an endpoint"
        " on another machine. Others are ordered on this one.",
    )


class GlossarySettings(Section):
    """Groups of words that mean the same; presagio glossary manages them."""

    weight: float = Field(
        0.7, ge=0, le=1, description="find: what an alias weighs beside a word as typed."
    )
    headline_weight: float = Field(
        0.4, ge=0, le=1, description="Headlines: the same; 0 looks for no aliases."
    )
    protected: tuple[str, ...] = Field(
        (),
        description="Names of products and projects that are ordinary words too: they match exactly"
        " and have no alias.",
    )
    approve_sure: bool = Field(
        False, description="Whether pairs that the model is sure of hold without a person's word."
    )
