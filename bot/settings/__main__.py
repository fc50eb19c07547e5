"""Print config.example.toml: `python -m bot.settings > config.example.toml`."""

import sys

from bot.settings.example import example_toml

sys.stdout.write(example_toml())
