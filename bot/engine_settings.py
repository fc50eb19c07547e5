"""What the parts of the engine are told by the settings."""

from importlib.metadata import version
from typing import TYPE_CHECKING

from bot.embedders import mode_of
from bot.settings import Settings
from bot.settings.searching import named_worth
from engine.answer.answer import AnswerSettings
from engine.llm.settings import LlmSettings
from engine.prophecy.prophecy import ProphecySettings
from engine.prophecy.score import ProphecyProfile
from engine.query.find import FindSettings
from engine.query.profiles import KindProfile
from engine.ranking.bm25 import Bm25
from engine.types import Flag, Kind

if TYPE_CHECKING:
    from engine.fetch.client import FetchSettings


def prophecy_settings(settings: Settings) -> ProphecySettings:
    """Translate [search] and [score]."""
    score = settings.score
    return ProphecySettings(
        mode=mode_of(settings.search.mode),
        candidates=settings.search.candidates,
        candidates_of_both=settings.search.candidates_of_both,
        candidates_with_phrases=settings.search.candidates_with_phrases,
        expansion=settings.search.expansion == "auto",
        duplicate_similarity=score.duplicate_similarity,
        exclude_recent_months=settings.search.exclude_recent_months,
        profile=ProphecyProfile(
            weights={
                "judgment": score.judgment,
                "lexical": score.lexical,
                "age": score.age,
                "semantic": score.semantic,
            },
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
    from engine.fetch.client import FetchSettings  # noqa: PLC0415 - brings the HTTP client

    return FetchSettings(
        version=version("presagio"),
        contact=settings.fetch.user_agent_contact,
        allow_networks=tuple(str(network) for network in settings.fetch.allow_networks),
    )


def has_model(settings: LlmSettings) -> bool:
    """Tell whether a model can be asked: OpenRouter needs a key, a local server does not."""
    return settings.api_key is not None or not settings.is_openrouter


def find_settings(settings: Settings) -> FindSettings:
    """Translate [personal], [social], [published], and what [search] and [score] say of finds."""
    return FindSettings(
        duplicate_similarity=settings.score.duplicate_similarity,
        bm25=Bm25(settings.search.k1, settings.search.b),
        profiles={
            Kind.PERSONAL: _personal(settings),
            Kind.SOCIAL: _social(settings),
            Kind.PUBLISHED: _published(settings),
        },
    )


def _personal(settings: Settings) -> KindProfile:
    chosen = settings.personal
    return KindProfile(
        weights={
            "lexical": chosen.lexical,
            "recency": chosen.recency,
            "role": chosen.role,
            "thread": chosen.thread,
        },
        decay_days=chosen.decay_days,
    )


def _social(settings: Settings) -> KindProfile:
    chosen = settings.social
    return KindProfile(
        weights={
            "lexical": chosen.lexical,
            "recency": chosen.recency,
            "engagement": chosen.engagement,
            "hashtags": chosen.hashtags,
        },
        decay_days=chosen.decay_days,
        engagement_full=chosen.engagement_full,
    )


def _published(settings: Settings) -> KindProfile:
    chosen = settings.published
    return KindProfile(
        weights={"lexical": chosen.lexical, "authority": chosen.authority},
        authorities=dict(filter(None, map(named_worth, chosen.authorities))),
        authority_otherwise=chosen.authority_otherwise,
    )
