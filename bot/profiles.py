"""The settings of how finds are ranked, as the engine wants them."""

from bot.settings import Settings
from bot.settings.kinds import named_worth
from engine.bm25 import Bm25
from engine.find import FindSettings
from engine.profiles import KindProfile
from engine.types import Kind


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
