"""What `presagio doctor` says of this machine."""

import socket
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from bot.cli.checks import (
    check_clock,
    check_disk,
    check_page_address,
    check_port,
    check_public_address,
    check_tesseract,
)
from bot.settings import Settings, load_settings
from bot.settings.model import TelegramSettings, WebSettings
from tests.fakes.stand_in import Answering, answer


@pytest.mark.parametrize(
    ("free", "ok"), [(10**12, True), (2 * 10**9, True), (10**9, None), (10**8, False)]
)
def test_disk_check_grades_free_space(tmp_path: Path, free: int, ok: bool | None) -> None:
    found = check_disk(tmp_path, free)
    assert found.ok is ok
    assert found.detail == f"{free / 1e9:,.1f} GB free at {tmp_path}"
    assert ("PRESAGIO_DATA_DIR" in (found.fix or "")) is not ok


def test_disk_of_a_folder_that_is_still_to_come(tmp_path: Path) -> None:
    assert " GB free at " in check_disk(tmp_path / "not" / "yet").detail


@pytest.mark.parametrize(
    ("seconds", "ok", "said"),
    [
        (0.2, True, "like that of h"),
        (-12, True, "12 s behind that of h"),
        (31, False, "31 s ahead of that of h"),
        (-86_400, False, "86,400 s behind that of h"),
    ],
)
def test_clock_check_grades_the_difference(seconds: float, ok: bool, said: str) -> None:
    found = check_clock({"h": timedelta(seconds=seconds)})
    assert (found.ok, found.detail, found.fix is None) == (ok, said, ok)


def test_a_clock_is_wrong_if_any_other_says_so() -> None:
    found = check_clock({"a": timedelta(), "b": timedelta(hours=1)})
    assert (found.ok, found.detail) == (False, "like that of a, 3,600 s ahead of that of b")


def test_tesseract_check_lists_languages() -> None:
    assert check_tesseract(("eng", "spa")).detail == "scans are read: eng, spa"
    assert check_tesseract(()).ok is None


def opened(port: int, **web: object) -> Settings:
    settings = load_settings(environ={})
    chosen = WebSettings(enabled=True, port=port).model_copy(update=web)
    return settings.model_copy(update={"web": chosen})


@pytest.fixture
async def served() -> AsyncIterator[int]:
    """The port of a server that answers as presagio does."""
    async with Answering(answer({"status": "ok", "faces": {}})) as server:
        yield int(server.root.rpartition(":")[2])


class TestPort:
    async def test_port_is_not_checked_if_no_page_is_enabled(self) -> None:
        found = await check_port(load_settings(environ={}))
        assert (found.ok, "presagio serve --web" in (found.fix or "")) == (None, True)
        assert "unless serve has no chat" in found.detail

    async def test_free_port_is_ok(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
        found = await check_port(opened(port))
        assert (found.ok, found.detail) == (True, f"127.0.0.1:{port} is free")

    async def test_that_another_program_has(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("bot.cli.checks._HEALTH_SECONDS", 0.1)  # it will not answer
        with socket.create_server(("127.0.0.1", 0)) as taken:
            taken.setblocking(False)
            port = taken.getsockname()[1]
            found = await check_port(opened(port))
        assert (found.ok, found.detail) == (False, f"127.0.0.1:{port}: address already in use")

    @pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
    async def test_port_served_by_presagio_is_ok(self, served: int, host: str) -> None:
        found = await check_port(opened(served, host=host))
        assert (found.ok, found.detail) == (True, f"presagio serves at {host}:{served}")

    async def test_address_foreign_to_this_machine_fails(self) -> None:
        assert (await check_port(opened(9, host="192.0.2.1"))).ok is False

    async def test_port_zero_is_ok(self) -> None:
        assert (await check_port(opened(0))).ok is True


@pytest.mark.parametrize(
    ("url", "ok"),
    [
        ("", None),
        ("https://bot.example.org/s3cret", True),
        ("https://bot.example.org:8443/s3cret", True),
        ("https://bot.example.org:8080/s3cret", False),
        ("http://bot.example.org/s3cret", False),
        ("https://bot.example.org:x/s3cret", False),
    ],
)
def test_telegram_webhook_url_is_checked_without_printing_its_path(
    url: str, ok: bool | None
) -> None:
    settings = load_settings(environ={}).model_copy(
        update={"telegram": TelegramSettings(webhook_url=url)}
    )
    found = check_public_address(settings)
    assert (found.ok if found else None) is ok
    assert found is None or "s3cret" not in f"{found.detail} {found.fix}"


OPEN = "is open to others, and web.public_url is not set"


@pytest.mark.parametrize(
    ("web", "ok", "said"),
    [
        (WebSettings(host="0.0.0.0"), None, ""),  # no page is opened
        (WebSettings(enabled=True), None, ""),
        (WebSettings(enabled=True, host="localhost"), None, ""),
        (WebSettings(enabled=True, host="::1"), None, ""),
        (
            WebSettings(enabled=True, host="0.0.0.0"),
            None,
            f"0.0.0.0 {OPEN}: asked by localhost and its own addresses",
        ),
        (
            WebSettings(enabled=True, host="::", hosts=("bot",)),
            None,
            f":: {OPEN}: asked by localhost, bot and its own addresses",
        ),
        (
            WebSettings(
                enabled=True, host="192.0.2.1", public_url="https://o.example", hosts=("b",)
            ),
            True,
            "asked by https://o.example, b",
        ),
    ],
)
def test_page_address_check_requires_a_public_url_for_open_hosts(
    web: WebSettings, ok: bool | None, said: str
) -> None:
    found = check_page_address(load_settings(environ={}).model_copy(update={"web": web}))
    assert (found.detail if found else "") == said
    if found:
        assert found.ok is ok
        assert ("web.public_url" in (found.fix or "")) is not ok
