"""Typed settings: defaults, config.toml, environment. Every mistake in them is one clear line."""

from bot.settings.database import masked_url
from bot.settings.load import load_settings
from bot.settings.model import Settings

__all__ = ["Settings", "load_settings", "masked_url"]
