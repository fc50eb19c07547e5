"""What the program tells about itself on stderr."""

import json
import logging
from datetime import UTC, datetime

from bot.settings.model import LoggingSettings

# httpx writes whole URLs, and a token may be part of one; stamina repeats what presagio.llm says.
_QUIET = {"httpx": logging.WARNING, "httpcore": logging.WARNING, "stamina": logging.ERROR}


class JsonFormatter(logging.Formatter):
    """One JSON object a record."""

    def format(self, record: logging.LogRecord) -> str:
        said = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            said["exception"] = self.formatException(record.exc_info)
        return json.dumps(said, ensure_ascii=False)


def configure_logging(settings: LoggingSettings) -> None:
    """Send records of the chosen level and above to stderr, in the chosen format."""
    handler = logging.StreamHandler()
    handler.setFormatter(
        JsonFormatter()
        if settings.format == "json"
        else logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s")
    )
    logging.basicConfig(level=settings.level.upper(), handlers=[handler], force=True)
    for name, level in _QUIET.items():
        logging.getLogger(name).setLevel(level)
