"""Pictures and videos: brought from an export, shown on the page, and nothing else sent."""

import os
import shutil
import tarfile
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from bot.media import LARGEST, Media, MediaLeftOut, files_in, make_folder
from bot.settings import load_settings
from db.pool import Database
from engine.errors import InputError
from engine.values import Corpus, Flag, Kind
from tests.bot.conftest import Invoke
from tests.bot.forking import forked
from tests.bot.web.stage import WebStage, web_stage
from tests.bot.web.test_pages import one, read, texts
from tests.db.loading import document, load

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)
MP4 = bytes(4) + b"ftypisom" + bytes(20)
FILES = {
    "1-Ab_c-D.png": PNG,
    "1-film.mp4": MP4,
    "2-photo.JPG": b"\xff\xd8\xff" + bytes(20),
    "3-unknown.png": PNG,
    "1-page.html": b"<script>alert(1)</script>",
    "1-lie.png": b"<svg onload=alert(1)>",
    "notes.txt": b"mine",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The media folder of an export, with what does not belong there."""
    folder = tmp_path / "tweets_media"
    folder.mkdir()
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
    (folder / "1-secret.png").symlink_to("/etc/passwd")
    (folder / "1-folder.png").mkdir()
    return folder


@pytest.fixture
async def coffee(database_url: str) -> Corpus:
    """Two texts."""
    database = await Database.open(database_url)
    corpus = await load(
        database, "demo", [document("1", "coffee", flags=Flag.MEDIA), document("2", "tea")]
    )
    await database.close()
    return corpus


@pytest.fixture
async def stage(coffee: Corpus, database_url: str, folder: Path) -> AsyncIterator[WebStage]:
    """The page of these texts with their media."""
    async with web_stage({"DATABASE_URL": database_url}) as stage:
        Media(stage.settings.data_dir).bring(coffee, files_in(str(folder)), {"1", "2"})
        yield stage
        Media(stage.settings.data_dir).drop(coffee)


def test_only_displayable_files_of_known_texts_are_imported(folder: Path, tmp_path: Path) -> None:
    corpus, media = a_corpus(), Media(tmp_path)
    brought = media.bring(corpus, files_in(str(folder)), {"1", "2"})
    assert (brought.files, brought.texts) == (3, 2)
    assert brought.left_out == {MediaLeftOut.TEXT: 1, MediaLeftOut.TYPE: 2, MediaLeftOut.NAME: 1}
    assert [(file.name, file.media_type) for file in media.of(corpus, "1")] == [
        ("Ab_c-D.png", "image/png"),
        ("film.mp4", "video/mp4"),
    ]
    assert [file.name for file in media.of(corpus, "2")] == ["photo.jpg"]
    assert media.bring(corpus, files_in(str(folder)), {"1", "2"}) == brought
    assert not media.of(replace(corpus, id=2), "1")
    media.drop(corpus)
    assert not media.of(corpus, "1")


def test_what_is_too_large_is_left_out(tmp_path: Path) -> None:
    folder = tmp_path / "export"
    folder.mkdir()
    with (folder / "1-a.mp4").open("wb") as file:
        file.write(MP4)
        file.truncate(LARGEST + 1)
    brought = Media(tmp_path).bring(a_corpus(), files_in(str(folder)), {"1"})
    assert (brought.files, brought.left_out) == (0, {MediaLeftOut.SIZE: 1})


@pytest.mark.parametrize("id", ["../1", "..", "1/../../x", "", "abc", "1\0"])
def test_text_id_cannot_escape_the_media_folder(tmp_path: Path, id: str) -> None:  # noqa: A002 - its name
    (tmp_path / "x.png").write_bytes(PNG)
    assert not Media(tmp_path / "data").of(a_corpus(), id)
    assert Media(tmp_path / "data").path(a_corpus(), id, "x.png") is None


def test_a_folder_that_is_not_there_is_said() -> None:
    with pytest.raises(InputError, match="/nowhere cannot be read: no such file"):
        files_in("/nowhere")


async def test_document_page_shows_its_media(stage: WebStage) -> None:
    page = read(await stage.get("/documents/demo/1"))
    assert "With a picture or a video" in texts(page, ".when")[0]
    picture, video = one(page, "img.media"), one(page, "video.media")
    assert picture.attributes["alt"]
    for node, media_type, content in ((picture, "image/png", PNG), (video, "video/mp4", MP4)):
        sent = await stage.get(str(node.attributes["src"]))
        assert (sent.headers["content-type"], sent.content) == (media_type, content)
        assert sent.headers["x-content-type-options"] == "nosniff"
        assert "content-encoding" not in sent.headers
    assert "media-src 'self'" in sent.headers["content-security-policy"]
    part = await stage.client.get(str(video.attributes["src"]), headers={"Range": "bytes=4-7"})
    assert (part.status_code, part.content) == (206, b"ftyp")


@pytest.mark.parametrize(
    "path",
    [
        "demo/1/page.html",
        "demo/1/lie.png",
        "demo/1/.film.mp4.part",
        "demo/1/..%2F2%2Fphoto.jpg",
        "demo/..%2F1/Ab_c-D.png",
        "demo/3/unknown.png",
        "nowhere/1/film.mp4",
        "demo/1/..",
    ],
)
async def test_other_media_paths_are_not_found(stage: WebStage, path: str) -> None:
    assert (await stage.client.get(f"/media/{path}")).status_code == 404


async def test_media_of_a_deleted_text_are_not_served(stage: WebStage) -> None:
    async with stage.app.database.connection() as connection:
        await connection.execute("DELETE FROM document WHERE external_id = '1'")
    assert (await stage.get("/media/demo/1/film.mp4")).status_code == 404


async def test_media_of_a_hidden_corpus_are_not_served(stage: WebStage, database_url: str) -> None:
    environ = {"DATABASE_URL": database_url, "PRESAGIO_WEB__CORPORA": '["other"]'}
    async with web_stage(environ) as hidden:
        assert (await hidden.get("/media/demo/1/film.mp4")).status_code == 404


def rights_below(folder: Path) -> set[int]:
    """Return the rights of all that is in a folder."""
    return {path.stat().st_mode & 0o777 for path in folder.rglob("*")}


@pytest.mark.usefixtures("coffee", "database")
def test_data_files_are_accessible_only_to_their_owner(folder: Path, tmp_path: Path) -> None:
    """Run as a process of its own: what its umask lets others do is part of the start."""
    data = load_settings().data_dir
    data.mkdir(parents=True, exist_ok=True)
    data.chmod(0o755)
    bad = tmp_path / "bad.jsonl"
    bad.write_text(
        '{"id": "1"}\n{"id": "7", "text": "tea", "created_at": "2011-01-01T00:00:00Z"}\n'
    )
    assert forked("corpora", "media", "demo", str(folder)).code == 0
    assert "1 record rejected" in forked("ingest", str(bad), "--corpus", "demo").err
    assert (data / "rejects" / "demo.jsonl").exists()
    assert rights_below(data) == {0o700, 0o600}


@root_only
def test_media_imported_by_root_belong_to_the_data_owner(folder: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    os.chown(data, 65534, 65534)
    media, archive = Media(data), tmp_path / "media.tar"
    media.bring(a_corpus(), files_in(str(folder)), {"1", "2"})
    assert {path.stat().st_uid for path in data.rglob("*")} == {65534}
    media.pack(archive)
    with media.unpack_archive(archive):
        pass
    assert {path.stat().st_uid for path in data.rglob("*")} == {65534}
    assert media.files() == 3


@pytest.mark.usefixtures("coffee")
def test_media_command_imports_files_and_drop_removes_them(
    invoke: Invoke, folder: Path, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", database_url)
    brought = invoke("corpora", "media", "demo", str(folder))
    assert brought.out == "3 files of 2 texts are with demo now.\n"
    assert "Left out: 1, of texts that the corpus does not hold." in brought.err
    assert invoke("corpora", "media", "demo", str(folder), "--json").json == {
        "name": "demo",
        "files": 3,
        "texts": 2,
        "left_out": {"text": 1, "type": 2, "name": 1},
    }
    assert invoke("corpora", "media", "nowhere", str(folder)).code != 0
    assert invoke("corpora", "media", "demo", str(folder / "nowhere")).code != 0
    assert invoke("corpora", "drop", "demo", "--yes").code == 0


def a_corpus() -> Corpus:
    """A corpus that no database holds."""
    return Corpus(
        id=1, name="demo", kind=Kind.TWEETS, language="simple", author=None, url_template=None,
        documents=2, tokens=2, languages=(),
    )  # fmt: skip


def test_files_are_part_of_a_backup(
    coffee: Corpus, database: str, folder: Path, invoke: Invoke, tmp_path: Path
) -> None:
    media = Media(load_settings().data_dir)
    media.bring(coffee, files_in(str(folder)), {"1", "2"})
    before = media.of(coffee, "1")
    dump, archive = str(tmp_path / "presagio.dump"), str(tmp_path / "media.tar")
    assert "3 pictures and videos of texts are not in it" in invoke("backup", dump).err
    done = invoke("backup", dump, "--media", archive)
    assert done.out.splitlines()[1] == f"Wrote {archive} (3 pictures and videos)."
    assert Path(archive).stat().st_mode & 0o777 == 0o600
    media.drop(coffee)
    done = invoke("restore", dump, "--media", archive, "--replace", "--json")
    assert done.json["media"] == 3
    assert media.of(coffee, "1") == before
    media.drop(coffee)
    assert invoke("restore", dump, "--replace", "--json").json.get("media") is None


def packed(file: Path, name: str, *, link: str = "") -> Path:
    """Write an archive with one member."""
    with tarfile.open(file, "w") as archive:
        member = tarfile.TarInfo(name)
        member.type, member.linkname = (tarfile.SYMTYPE, link) if link else (tarfile.REGTYPE, "")
        archive.addfile(member)
    return file


@pytest.mark.parametrize("name", ["../1/2/a.png", "/1/2/a.png", "1/2/.a.png", "1/2/a.sh/b.png"])
def test_media_archive_with_foreign_paths_is_refused(tmp_path: Path, name: str) -> None:
    media = Media(tmp_path / "data")
    for file in (
        packed(tmp_path / "a.tar", name),
        packed(tmp_path / "b.tar", "1/2/a.png", link="/"),
    ):
        with (
            pytest.raises(InputError, match="something else than pictures"),
            media.unpack_archive(file),
        ):
            pass
    assert list((tmp_path / "data").iterdir()) == []


def test_a_damaged_archive_leaves_the_files_alone(
    coffee: Corpus, folder: Path, tmp_path: Path
) -> None:
    media = Media(tmp_path / "data")
    media.bring(coffee, files_in(str(folder)), {"1"})
    archive = tmp_path / "media.tar"
    assert media.pack(archive) == 2
    archive.write_bytes(archive.read_bytes()[:600])
    with pytest.raises(InputError, match="cannot be read"), media.unpack_archive(archive):
        pass
    assert len(media.of(coffee, "1")) == 2
    with pytest.raises(InputError, match="cannot be written"):
        media.pack(tmp_path / "missing" / "media.tar")


def test_an_archive_that_cannot_take_its_place_is_an_input_error(
    coffee: Corpus, folder: Path, tmp_path: Path
) -> None:
    media, archive = Media(tmp_path / "data"), tmp_path / "media.tar"
    media.bring(coffee, files_in(str(folder)), {"1"})
    media.pack(archive)
    with pytest.raises(InputError, match="cannot be read"), media.unpack_archive(archive):
        for unpacked in (tmp_path / "data").glob(".media.*/fresh"):
            shutil.rmtree(unpacked)
    assert len(media.of(coffee, "1")) == 2


def test_folders_that_root_makes_belong_to_who_owns_the_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[tuple[Path, int, int]] = []
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr("os.chown", lambda *of, **_: given.append(of))
    owner = (tmp_path.stat().st_uid, tmp_path.stat().st_gid)
    make_folder(tmp_path / "media" / "1", within=tmp_path)
    make_folder(tmp_path / "media" / "1", within=tmp_path)
    assert given == [(tmp_path / "media", *owner), (tmp_path / "media" / "1", *owner)]
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    make_folder(tmp_path / "rejects", within=tmp_path)
    assert (tmp_path / "rejects").is_dir()
    assert len(given) == 2


def test_media_unpacked_by_root_belong_to_the_data_owner(
    coffee: Corpus, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    media, archive = Media(tmp_path / "data"), tmp_path / "media.tar"
    media.bring(coffee, files_in(str(folder)), {"1"})
    media.pack(archive)
    given: list[str] = []
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr("os.chown", lambda path, *_, **__: given.append(path.name))
    with media.unpack_archive(archive):
        pass
    names = ["fresh", str(coffee.id), "1", "Ab_c-D.png", "film.mp4"]
    assert given == names  # the first is then renamed
