"""`presagio site`: pages that a server of files shows."""

import re
from pathlib import Path

from tests.bot.command_line import write_chat
from tests.bot.conftest import Invoke

_LINK = re.compile(r'(?:href|src)="([^"#]+)"')


def test_every_link_leads_to_a_page_and_nothing_needs_a_server(
    invoke: Invoke, demo: str, tmp_path: Path
) -> None:
    site = tmp_path / "public"
    done = invoke("site", str(site))
    pages = list(site.rglob("*.html"))
    assert done.out == f"{site}: {len(pages):,} pages.\n"
    assert {site / "index.html", site / "wall/index.html", site / "corpora/demo/index.html"} < {
        *pages
    }
    assert list(site.glob("corpora/demo/2014/*/index.html"))
    for page in pages:
        written = page.read_text()
        assert "<form" not in written
        for link in _LINK.findall(written):
            if not link.startswith(("https://", "http://")):
                assert (page.parent / link).resolve().is_file(), (page, link)


def test_what_is_private_is_not_written(invoke: Invoke, database: str, tmp_path: Path) -> None:
    write_chat(tmp_path / "WhatsApp Chat with Bob.txt")
    invoke("ingest", str(tmp_path / "WhatsApp Chat with Bob.txt"), "--author", "Ana")
    written_once, written_again = (invoke("site", str(tmp_path / "public")) for _ in range(2))
    assert written_once == written_again
    assert written_again.code == 0
    written = " ".join(page.read_text() for page in (tmp_path / "public").rglob("*.html"))
    assert "personal" not in written
    assert "rain" not in written


def test_a_folder_with_other_files_is_left_alone(invoke: Invoke, demo: str, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").touch()
    assert "holds other files" in invoke("site", str(tmp_path)).complaint()
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]
