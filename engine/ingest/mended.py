"""Text of Facebook and Instagram: UTF-8 whose bytes were written as if each were a character."""


def mended(value: object) -> object:
    """Return a JSON value with all its texts mended ("cafÃ©" is "café"); sound ones stay."""
    if isinstance(value, str):
        return _mended_text(value)
    if isinstance(value, list):
        return [mended(item) for item in value]
    if isinstance(value, dict):
        return {_mended_text(str(name)): mended(item) for name, item in value.items()}
    return value


def _mended_text(text: str) -> str:
    if text.isascii():
        return text
    try:
        return text.encode("latin-1").decode()
    except UnicodeError:
        return text  # it was sound
