"""Reads posts from the JSON exports of Facebook, Instagram and Threads.

All write UTF-8 as if each of its bytes were a character.
"""

import io
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

import orjson

from engine.ingest.dates import (
    as_mapping,
    from_seconds,
    made_id,
    read_mappings,
    read_string,
    text_of,
)
from engine.ingest.reader import (
    JsonObject,
    JsonReader,
    Reader,
    Sample,
    json_objects,
    members_named,
    parse_objects,
)
from engine.ingest.records import Defaults, PostFields, Reject, SourceRecord, build_fingerprint
from engine.ingest.sources import Source
from engine.ingest.streams import named_arrays
from engine.values import Flag, Kind

_LARGEST_PROFILE = 1_000_000  # bytes
_SHOWN = frozenset(("media", "external_context", "place", "life_event", "text"))
_USER_NAMES = frozenset(
    (
        "username", "nombre de usuario", "nom d’utilisateur", "nom d'utilisateur", "benutzername",
        "nome utente", "nome de usuário", "nome de utilizador", "gebruikersnaam", "kullanıcı adı",
        "имя пользователя", "nazwa użytkownika", "användarnamn", "brukernavn", "brugernavn",
        "käyttäjätunnus", "felhasználónév", "όνομα χρήστη", "nama pengguna", "tên người dùng",
        "ユーザーネーム", "사용자 이름", "用户名", "用戶名稱", "اسم المستخدم", "nom d'usuari",
    )
)  # fmt: skip
_VIDEO = (".mp4", ".mov", ".webm")
_POSTS = "text_post_app_text_posts"


def repair_encoding(value: object) -> object:
    """Return a JSON value with all its texts repaired ("cafÃ©" is "café"); sound ones stay."""
    if isinstance(value, str):
        return _mended_text(value)
    if isinstance(value, list):
        return [repair_encoding(item) for item in value]
    if isinstance(value, dict):
        return {_mended_text(str(name)): repair_encoding(item) for name, item in value.items()}
    return value


def _mended_text(text: str) -> str:
    if text.isascii():
        return text
    try:
        return text.encode("latin-1").decode()
    except UnicodeError:
        return text  # it was sound


class MetaReader(JsonReader):
    """Reads the posts of one of the exports. Subclasses name the account and identify posts."""

    kinds = (Kind.SOCIAL,)
    profile: str  # pattern of the file that names the account

    def records(
        self, source: Source, names: Sequence[str], defaults: Defaults
    ) -> Generator[SourceRecord | Reject]:
        author = self.find_owner(source) if source.packed else None
        digest = build_fingerprint(defaults, self.name, author or "")
        for name in names:
            file = source.citation(name)
            with source.open(name) as stream:
                for item in self.read_posts(source.label(name), stream):
                    if isinstance(item, Reject):
                        yield item
                        continue
                    post = as_mapping(repair_encoding(item.value))
                    identity = self.identity(post)
                    payload = {"post": post, "author": author, "place": f"{file}#{identity}"}
                    yield item.record(self.name, identity, digest(item.raw), payload)

    def read_posts(self, label: str, stream: io.BufferedReader) -> Iterator[JsonObject | Reject]:
        """Yield the posts of one file, in order."""
        return json_objects(label, stream)

    def identity(self, post: Mapping[str, object]) -> str:
        """Return an id that is unique among the posts of the account."""
        raise NotImplementedError

    def account(self, profile: Mapping[str, object]) -> str | None:
        """Return the account's name from its profile, or None if it is not there."""
        raise NotImplementedError

    def find_owner(self, source: Source) -> str | None:
        """Return the name of the account, if the export has it."""
        for name in members_named(self.profile, source.names()):
            with source.open_ahead(name) as stream:
                try:
                    profile = as_mapping(
                        repair_encoding(orjson.loads(stream.read(_LARGEST_PROFILE)))
                    )
                except orjson.JSONDecodeError:
                    continue  # the posts do not depend on it
            if account := self.account(profile):
                return account
        return None


class FacebookReader(MetaReader):
    """Reads the posts on one's own timeline."""

    name = "facebook"
    pattern = r"your_posts[\w&]*\.json"
    profile = r"profile_information\.json"

    def fits(self, value: Mapping[str, object]) -> bool:
        return "timestamp" in value and (
            any("post" in part for part in read_mappings(value.get("data")))
            or any(part.keys() & _SHOWN for part in _list_attachments(value))
        )

    def identity(self, post: Mapping[str, object]) -> str:
        files = (str(_read_media(part).get("uri") or part) for part in _list_attachments(post))
        text = _read_words(post) or str(post.get("title") or "")
        return made_id(str(post.get("timestamp")), text, *files)

    def account(self, profile: Mapping[str, object]) -> str | None:
        details = as_mapping(profile.get("profile_v2") or profile.get("profile"))
        return read_string(as_mapping(details.get("name")).get("full_name"))

    def post(self, payload: Mapping[str, object]) -> PostFields:
        post = as_mapping(payload.get("post"))
        attached, media = (
            _list_attachments(post),
            [m for a in _list_attachments(post) if (m := _read_media(a))],
        )
        descriptions = [d for m in media if (d := read_string(m.get("description")))]
        described = "\n\n".join(descriptions)
        others = [words for a in attached if (words := read_string(a.get("text")))]
        own = _read_words(post) or described
        links = [read_string(as_mapping(a.get("external_context")).get("url")) for a in attached]
        link = next(filter(None, links), None)
        words = own or "\n\n".join(others) or link
        reposted = bool(others and not own)
        return PostFields(
            text=words or text_of(read_string(post.get("title")) or ("[media]" if media else None)),
            searched=None if words else "",
            beside=(
                *(("image", text) for text in descriptions if text != words),
                *(("shared", text) for text in others if not reposted),
                *(("link", text) for a in attached if (text := _describe_link(a))),
                *(("place", text) for a in attached if (text := _name_of_place(a))),
                *(("event", text) for a in attached if (text := _name_of_event(a))),
            ),
            created_at=from_seconds(post.get("timestamp")),
            author=read_string(payload.get("author")),
            platform=self.name,
            attribution=read_string(payload.get("place")),
            flags=(Flag.MEDIA if media else Flag.NONE) | (Flag.REPOST if reposted else Flag.NONE),
            meta={
                "attachments": [PurePosixPath(str(m.get("uri"))).name for m in media],
                "shared": link,
            },
            mine=not reposted,
        )


def _describe_link(part: Mapping[str, object]) -> str | None:
    return read_string(as_mapping(part.get("external_context")).get("name"))


def _name_of_place(part: Mapping[str, object]) -> str | None:
    return read_string(as_mapping(part.get("place")).get("name"))


def _name_of_event(part: Mapping[str, object]) -> str | None:
    return read_string(as_mapping(part.get("life_event")).get("title"))


def _read_words(post: Mapping[str, object]) -> str | None:
    texts = (read_string(part.get("post")) for part in read_mappings(post.get("data")))
    return "\n\n".join(filter(None, texts)) or None


def _list_attachments(post: Mapping[str, object]) -> list[Mapping[str, object]]:
    groups = read_mappings(post.get("attachments"))
    return [part for group in groups for part in read_mappings(group.get("data"))]


def _read_media(part: Mapping[str, object]) -> Mapping[str, object]:
    return as_mapping(part.get("media"))


class InstagramReader(MetaReader):
    """Reads posts. Stories and reels are in other files and are not read."""

    name = "instagram"
    pattern = r"posts_\d+\.json"
    profile = r"personal_information\.json"

    def fits(self, value: Mapping[str, object]) -> bool:
        return any(
            {"uri", "creation_timestamp"} <= m.keys() for m in read_mappings(value.get("media"))
        )

    def identity(self, post: Mapping[str, object]) -> str:
        return made_id(str(_read_post_time(post)), *_list_file_names(post)[:1])

    def account(self, profile: Mapping[str, object]) -> str | None:
        """Return the user name, whose label is in the language of the account."""
        values = (
            as_mapping(u.get("string_map_data")) for u in read_mappings(profile.get("profile_user"))
        )
        names = (
            read_string(as_mapping(field).get("value"))
            for value in values
            for label, field in value.items()
            if label.casefold() in _USER_NAMES
        )
        return next(filter(None, names), None)

    def post(self, payload: Mapping[str, object]) -> PostFields:
        post = as_mapping(payload.get("post"))
        media, files = read_mappings(post.get("media")), _list_file_names(post)
        captions = (read_string(item.get("title")) for item in (post, *media))
        caption = next(filter(None, captions), None)
        stand_in = "[video]" if files and files[0].endswith(_VIDEO) else "[photo]"
        return PostFields(
            text=caption or stand_in,
            searched=None if caption else "",
            created_at=from_seconds(_read_post_time(post)),
            author=read_string(payload.get("author")),
            platform=self.name,
            attribution=read_string(payload.get("place")),
            flags=Flag.MEDIA if media else Flag.NONE,
            meta={"attachments": files},
            mine=True,
        )


def _read_post_time(post: Mapping[str, object]) -> object:
    media = read_mappings(post.get("media"))
    return post.get("creation_timestamp") or (media[0].get("creation_timestamp") if media else None)


def _list_file_names(post: Mapping[str, object]) -> list[str]:
    places = (read_string(media.get("uri")) for media in read_mappings(post.get("media")))
    return [PurePosixPath(place).name for place in places if place]


class ThreadsReader(InstagramReader):
    """Reads posts and replies, which lie in the export of the account at Instagram."""

    name = "threads"
    pattern = r"threads_and_replies\.json"

    def recognises(self, sample: Sample) -> bool:
        return f'"{_POSTS}"'.encode() in sample.head

    def read_posts(self, label: str, stream: io.BufferedReader) -> Iterator[JsonObject | Reject]:
        for _header, pieces in named_arrays(stream, _POSTS):
            yield from parse_objects(label, "record", pieces)

    def identity(self, post: Mapping[str, object]) -> str:
        titles = (
            read_string(item.get("title")) for item in (post, *read_mappings(post.get("media")))
        )
        return made_id(
            str(_read_post_time(post)), *filter(None, titles), *_list_file_names(post)[:1]
        )

    def post(self, payload: Mapping[str, object]) -> PostFields:
        fields = super().post(payload)
        media = read_mappings(as_mapping(payload.get("post")).get("media"))
        answers = any(as_mapping(item.get("text_app_post")).get("is_reply") for item in media)
        # A post of words alone is a medium without a file.
        flags = Flag.MEDIA if fields.meta["attachments"] else Flag.NONE
        return replace(fields, flags=flags | (Flag.REPLY if answers else Flag.NONE))


READERS: tuple[Reader, ...] = (
    FacebookReader(),
    InstagramReader(),
    ThreadsReader(),
)
