"""What the parts of the engine are told by the settings."""

from importlib.metadata import version
from typing import TYPE_CHECKING

from bot.meaning import mode_of
from bot.settings import Settings
from engine.answer import AnswerSettings
from engine.llm_settings import LlmSettings
from engine.prophecy import ProphecySettings
from engine.score import Profile
from engine.types import Flag

if TYPE_CHECKING:
    from engine.feeds.fetch import FetchSettings


def prophecy_settings(settings: Settings) -> ProphecySettings:
    """Translate [search] and [score]."""
    score = settings.score
    return ProphecySettings(
        mode=mode_of(settings.search.mode),
        candidates=settings.search.candidates,
        candidates_of_both=settings.search.candidates_of_both,
        duplicate_similarity=score.duplicate_similarity,
        exclude_recent_months=settings.search.exclude_recent_months,
        profile=Profile(
            judgment=score.judgment,
            lexical=score.lexical,
            age=score.age,
            semantic=score.semantic,
            age_full_years=score.age_full_years,
            factors={
                Flag.REPOST: score.repost,
                Flag.QUOTE: score.quote,
                Flag.TRUNCATED: score.truncated,
            },
            short=score.short,
            minimum_judgment=settings.search.minimum_judgment,
            minimum_lexical=settings.search.minimum_lexical,
            minimum_semantic=settings.search.minimum_semantic,
        ),
    )


def answer_settings(settings: Settings) -> AnswerSettings:
    """Translate [answer]."""
    chosen = settings.answer
    return AnswerSettings(
        uncited=chosen.uncited,
        passage_length=chosen.passage_length,
        quotes=chosen.quotes,
    )


def llm_settings(settings: Settings) -> LlmSettings:
    """Translate [llm] and its key. Raises SettingsError."""
    llm, key = settings.llm, settings.secrets.openrouter_api_key
    return LlmSettings(
        api_key=key.get_secret_value() if key else None,
        base_url=llm.base_url,
        model=llm.model,
        fallback_models=llm.fallback_models,
        reasoning_effort=llm.reasoning_effort or None,
        connect_timeout=llm.connect_timeout,
        read_timeout=llm.read_timeout,
        total_timeout=llm.total_timeout,
        max_completion_tokens=llm.max_completion_tokens,
        retries=llm.retries,
        breaker_failures=llm.breaker_failures,
        breaker_pause=llm.breaker_pause,
        private_corpora=frozenset(llm.private_corpora),
    )


def fetch_settings(settings: Settings) -> "FetchSettings":
    """Translate [fetch]."""
    from engine.feeds.fetch import FetchSettings  # noqa: PLC0415 - brings the HTTP client

    return FetchSettings(
        version=version("presagio"),
        contact=settings.fetch.user_agent_contact,
        allow_networks=tuple(str(network) for network in settings.fetch.allow_networks),
    )


def has_model(settings: LlmSettings) -> bool:
    """Tell whether a model can be asked: OpenRouter needs a key, a local server does not."""
    return settings.api_key is not None or not settings.is_openrouter
