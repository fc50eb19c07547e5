"""Reads Meta's exports: posts of Facebook, Instagram and Threads, messages of Messenger.

All JSON writes UTF-8 as if each of its bytes were a character. Messages come in two layouts:
{"participants": [{"name": ...}], "messages": [{"sender_name", "timestamp_ms", "content"}]}, and
that of encrypted chats, {"participants": ["Ana"], "threadName": ..., "messages": [{"senderName",
"timestamp", "text"}]}.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC
from pathlib import PurePosixPath

import orjson
from selectolax.lexbor import LexborHTMLParser, LexborNode

from engine.ingest.fields import (
    as_mapping,
    from_seconds,
    list_strings,
    made_id,
    mapping_at,
    read_mappings,
    read_number,
    read_strings,
    read_written_time,
    string_at,
    text_of,
    zoned_or_utc,
)
from engine.ingest.parsers.html import html_text
from engine.ingest.reader import (
    JsonReader,
    OpenFile,
    Reader,
    Sample,
    change_values,
    is_mine,
    json_arrays,
    members_named,
    role_of,
)
from engine.ingest.records import Defaults, PostFields, RawRecord, Reject
from engine.ingest.sources import Source
from engine.ingest.streams import read_whole
from engine.values import Flag, Kind

_LARGEST_PROFILE, _LARGEST_CHAT, _LARGEST_PAGE = 1_000_000, 64 << 20, 64 << 20  # bytes of a file
_PAGE, _PAGE_NAME = re.compile(rb"uiBoxWhite noborder|_a706"), r"your_posts[\w&]{0,100}\.html"
# Classes of the box of a post, of its heading, its words and its date.
_BOX, _HEADING, _PARAGRAPHS, _DATE = "_3-95", "_a6-h", "._2pin", "._2lem, ._a72d, ._a6-o"
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
_THREADS = "text_post_app_text_posts"
_PARTICIPANTS = re.compile(rb'"participants"\s*:\s*\[')
_SENDER = re.compile(rb'"sender_?[nN]ame"\s*:')
_FOLDERS = r"(?:inbox|archived_threads|e2ee_cutover|filtered_threads|message_requests)"
_MEDIA = ("photos", "videos", "audio_files", "files", "gifs", "media")
_NOTICE_TYPES = ("Subscribe", "Unsubscribe")
_NOTICE = re.compile(r"(?:Liked a message|Reacted \S{1,9} to your message|Le gustó un mensaje)\s*")


def repair_encoding(value: object) -> object:
    """Return a JSON value with all its texts repaired ("cafÃ©" is "café"); sound ones stay."""
    if isinstance(value, str):
        return _repair_text(value)
    if isinstance(value, list):
        return [repair_encoding(item) for item in value]
    if isinstance(value, dict):
        return {_repair_text(str(name)): repair_encoding(item) for name, item in value.items()}
    return value


def _repair_text(text: str) -> str:
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

    def find_owner(self, source: Source, defaults: Defaults) -> str:  # noqa: ARG002
        return (self.find_account(source) if source.packed else None) or ""

    def read_records(self, file: OpenFile) -> Iterator[RawRecord | Reject]:
        citation = file.citation

        def build_payload(value: Mapping[str, object]) -> Mapping[str, object]:
            post = as_mapping(repair_encoding(value))
            identity = self.identify_post(post)
            place = f"{citation}#{identity}"
            return {"id": identity, "post": post, "author": file.owner, "place": place}

        return change_values(self.read_posts(file), build_payload)

    def read_posts(self, file: OpenFile) -> Iterator[RawRecord | Reject]:
        """Yield the posts of one file, in order."""
        return super().read_records(file)

    def identify_post(self, post: Mapping[str, object]) -> str:
        """Return an id that is unique among the posts of the account."""
        raise NotImplementedError

    def read_account(self, profile: Mapping[str, object]) -> str | None:
        """Return the account's name from its profile, or None if it is not there."""
        raise NotImplementedError

    def find_account(self, source: Source) -> str | None:
        """Return the name of the account, if the export has it."""
        for name in members_named(self.profile, source.names()):
            with source.open_ahead(name) as stream:
                try:
                    profile = repair_encoding(orjson.loads(stream.read(_LARGEST_PROFILE)))
                except orjson.JSONDecodeError:
                    continue  # the posts do not depend on it
            if account := self.read_account(as_mapping(profile)):
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

    def identify_post(self, post: Mapping[str, object]) -> str:
        attached = _list_attachments(post)
        files = (str(mapping_at(part, "media").get("uri") or part) for part in attached)
        text = _read_post(post) or str(post.get("title") or "")
        return made_id(str(post.get("timestamp")), text, *files)

    def read_account(self, profile: Mapping[str, object]) -> str | None:
        return string_at(profile.get("profile_v2") or profile.get("profile"), "name", "full_name")

    def post(self, payload: Mapping[str, object]) -> PostFields:
        post = mapping_at(payload, "post")
        attached = _list_attachments(post)
        media = [medium for part in attached if (medium := mapping_at(part, "media"))]
        descriptions, shared = list_strings(media, "description"), list_strings(attached, "text")
        own = _read_post(post) or "\n\n".join(descriptions)
        link = next(iter(_list_strings_within(attached, "external_context", "url")), None)
        words = own or "\n\n".join(shared) or link
        reposted = bool(shared and not own)
        return PostFields(
            text=words or text_of(string_at(post, "title") or ("[media]" if media else None)),
            searched=None if words else "",
            beside=(
                *(("image", text) for text in descriptions if text != words),
                *(("shared", text) for text in shared if not reposted),
                *(("link", t) for t in _list_strings_within(attached, "external_context", "name")),
                *(("place", t) for t in _list_strings_within(attached, "place", "name")),
                *(("event", t) for t in _list_strings_within(attached, "life_event", "title")),
            ),
            created_at=from_seconds(post.get("timestamp")),
            author=string_at(payload, "author"),
            platform=self.name,
            attribution=string_at(payload, "place"),
            flags=Flag.of((Flag.MEDIA, media), (Flag.REPOST, reposted)),
            meta={
                "attachments": [PurePosixPath(str(m.get("uri"))).name for m in media],
                "shared": link,
            },
            mine=not reposted,
        )


def _read_post(post: Mapping[str, object]) -> str | None:
    return "\n\n".join(list_strings(post.get("data"), "post")) or None


def _list_attachments(post: Mapping[str, object]) -> list[Mapping[str, object]]:
    groups = read_mappings(post.get("attachments"))
    return [part for group in groups for part in read_mappings(group.get("data"))]


def _list_strings_within(items: list[Mapping[str, object]], *path: str) -> list[str]:
    return [text for item in items if (text := string_at(item, *path))]


class FacebookHtmlReader(Reader):
    """Reads the posts of one's own timeline from Facebook's pages (`your_posts_1.html`).

    A post is a box with a heading ("Ana updated her status."), words, and a date without a zone,
    which is taken as UTC.
    """

    name = "facebook-html"
    kinds = (Kind.SOCIAL,)
    pattern = _PAGE_NAME

    def recognises(self, sample: Sample) -> bool:
        named = members_named(_PAGE_NAME, [sample.name])
        return bool(named and _PAGE.search(sample.head))

    def read_records(self, file: OpenFile) -> Iterator[RawRecord | Reject]:
        page = LexborHTMLParser(read_whole(file.stream, _LARGEST_PAGE).decode("utf-8", "replace"))
        for number, date in enumerate(page.css(_DATE), start=1):
            box = _find_box(date)
            if box is None or any(inner != date for inner in date.css(_DATE)):
                continue  # a date within a date is the one that counts
            written = " ".join(date.text(deep=True).split())
            words = "\n\n".join(_read_paragraphs(box))
            identity = made_id(written, words)
            payload = {
                "id": identity,
                "text": words,
                "date": written,
                "media": box.css_first("img") is not None,
                "place": f"{file.citation}#{identity}",
            }
            raw = f"{written}\0{words}".encode()
            yield RawRecord(file.label, number, "record", raw, payload)

    def post(self, payload: Mapping[str, object]) -> PostFields:
        media = payload.get("media") is True
        words = string_at(payload, "text")
        return PostFields(
            text=words or text_of("[photo]" if media else None),
            searched=None if words else "",
            created_at=read_written_time(payload.get("date"), zone=UTC, is_day_first=None),
            platform="facebook",
            attribution=string_at(payload, "place"),
            flags=Flag.of((Flag.MEDIA, media)),
            mine=True,
        )


def _find_box(date: LexborNode) -> LexborNode | None:
    node = date.parent
    while node is not None and _BOX not in (node.attributes.get("class") or "").split():
        node = node.parent
    return node


def _read_paragraphs(box: LexborNode) -> list[str]:
    """Return the paragraphs of a box, without the heading, which is the first of several."""
    texts = [html_text(node.html or "") for node in box.css(_PARAGRAPHS)]
    if len(texts) > 1 and box.css_first(f".{_HEADING}") is None:
        texts = texts[1:]
    return [text for text in texts if text]


class InstagramReader(MetaReader):
    """Reads posts. Stories and reels are in other files and are not read."""

    name = "instagram"
    pattern = r"posts_\d+\.json"
    profile = r"personal_information\.json"

    def fits(self, value: Mapping[str, object]) -> bool:
        media = read_mappings(value.get("media"))
        return any({"uri", "creation_timestamp"} <= medium.keys() for medium in media)

    def identify_post(self, post: Mapping[str, object]) -> str:
        return made_id(str(_read_post_time(post)), *_list_files(post.get("media"))[:1])

    def read_account(self, profile: Mapping[str, object]) -> str | None:
        """Return the user name, whose label is in the language of the account."""
        names = (
            string_at(field, "value")
            for user in read_mappings(profile.get("profile_user"))
            for label, field in mapping_at(user, "string_map_data").items()
            if label.casefold() in _USER_NAMES
        )
        return next(filter(None, names), None)

    def post(self, payload: Mapping[str, object]) -> PostFields:
        post = mapping_at(payload, "post")
        media, files = read_mappings(post.get("media")), _list_files(post.get("media"))
        caption = next(iter(list_strings([post, *media], "title")), None)
        stand_in = "[video]" if files and files[0].endswith(_VIDEO) else "[photo]"
        return PostFields(
            text=caption or stand_in,
            searched=None if caption else "",
            created_at=from_seconds(_read_post_time(post)),
            author=string_at(payload, "author"),
            platform=self.name,
            attribution=string_at(payload, "place"),
            flags=Flag.of((Flag.MEDIA, media)),
            meta={"attachments": files},
            mine=True,
        )


def _read_post_time(post: Mapping[str, object]) -> object:
    media = read_mappings(post.get("media"))
    return post.get("creation_timestamp") or (media[0].get("creation_timestamp") if media else None)


def _list_files(items: object) -> list[str]:
    return [PurePosixPath(place).name for place in list_strings(items, "uri")]


class ThreadsReader(InstagramReader):
    """Reads posts and replies, which lie in the export of the account at Instagram."""

    name = "threads"
    pattern = r"threads_and_replies\.json"

    def recognises(self, sample: Sample) -> bool:
        return f'"{_THREADS}"'.encode() in sample.head

    def read_posts(self, file: OpenFile) -> Iterator[RawRecord | Reject]:
        return json_arrays(file.label, file.stream, _THREADS)

    def identify_post(self, post: Mapping[str, object]) -> str:
        media = read_mappings(post.get("media"))
        titles = list_strings([post, *media], "title")
        return made_id(str(_read_post_time(post)), *titles, *_list_files(media)[:1])

    def post(self, payload: Mapping[str, object]) -> PostFields:
        fields = super().post(payload)
        media = read_mappings(mapping_at(payload, "post").get("media"))
        answers = any(mapping_at(medium, "text_app_post").get("is_reply") for medium in media)
        # A post of words alone is a medium without a file.
        flags = Flag.of((Flag.MEDIA, fields.meta["attachments"]), (Flag.REPLY, answers))
        return replace(fields, flags=flags)


class MessengerReader(Reader):
    """Reads the messages of Messenger and Instagram, one chat a file (`message_1.json`)."""

    name = "messenger"
    kinds = (Kind.PERSONAL,)
    pattern = rf"messages/{_FOLDERS}/[^/]+/message_\d+\.json|[^/]+_\d+\.json"

    def recognises(self, sample: Sample) -> bool:
        return bool(_PARTICIPANTS.search(sample.head) and _SENDER.search(sample.head))

    def find_owner(self, source: Source, defaults: Defaults) -> str:
        if defaults.author or not source.packed:
            return defaults.author or ""
        accounts = (reader.find_account(source) for reader in (FacebookReader(), InstagramReader()))
        return next(filter(None, accounts), "")

    def read_records(self, file: OpenFile) -> Iterator[RawRecord | Reject]:
        try:
            chat = as_mapping(repair_encoding(orjson.loads(read_whole(file.stream, _LARGEST_CHAT))))
        except orjson.JSONDecodeError:
            yield Reject(file=file.label, line=1, reason="not valid JSON, or larger than 64 MB")
            return
        context = _read_context(chat, file)
        for number, message in enumerate(read_mappings(chat.get("messages")), start=1):
            words = _read_message(message)
            is_notice = message.get("type") in _NOTICE_TYPES or _NOTICE.fullmatch(words or "")
            if message.get("is_unsent") is True or is_notice:
                continue
            key = (context["thread"], _read_time(message), _read_sender(message))
            said = words or _list_message_files(message)
            identity = made_id(*map(str, key), str(said))
            payload = {"message": message, **context, "id": identity}
            yield RawRecord(file.label, number, "record", orjson.dumps(payload), payload)

    def post(self, payload: Mapping[str, object]) -> PostFields:
        message = mapping_at(payload, "message")
        words, files = _read_message(message), _list_message_files(message)
        sender, chat = _read_sender(message), string_at(payload, "title")
        mine = is_mine(payload.get("owner"), sender)
        shared = string_at(message, "share", "share_text")
        return PostFields(
            text=words
            or string_at(message, "share", "link")
            or text_of("[photo]" if files else None),
            searched=None if words else "",
            beside=(("shared", shared),) if shared else (),
            created_at=zoned_or_utc(_read_time(message)),
            author=sender,
            title=chat,
            role=role_of(mine),
            platform=string_at(payload, "platform"),
            thread=string_at(payload, "thread"),
            attribution=f"{payload.get('file')}#{payload.get('id')}",
            tags=(),
            mentions=(),
            engagement=len(read_mappings(message.get("reactions"))),
            flags=Flag.of((Flag.MEDIA, files)),
            meta={
                "channel": chat,
                "attachments": files,
                "participants": payload.get("participants"),
            },
            mine=mine,
        )


def _read_context(chat: Mapping[str, object], file: OpenFile) -> dict[str, object]:
    people = chat.get("participants")
    named = list_strings(people, "name") or read_strings(people)
    title = string_at(chat, "title") or string_at(chat, "threadName")
    path = string_at(chat, "thread_path") or title or ", ".join(named)
    return {
        "title": title,
        "thread": PurePosixPath(path).name,
        "participants": named,
        "platform": "instagram" if "instagram" in file.name.casefold() else "messenger",
        "file": file.citation,
        "owner": file.owner,
    }


def _read_sender(message: Mapping[str, object]) -> str | None:
    return string_at(message, "sender_name") or string_at(message, "senderName")


def _read_message(message: Mapping[str, object]) -> str | None:
    return string_at(message, "content") or string_at(message, "text")


def _read_time(message: Mapping[str, object]) -> int | None:
    """Return milliseconds since 1970."""
    return read_number(message.get("timestamp_ms") or message.get("timestamp")) or None


def _list_message_files(message: Mapping[str, object]) -> list[str]:
    media = [item for kind in _MEDIA for item in read_mappings(message.get(kind))]
    return _list_files([*media, message.get("sticker")])


READERS: tuple[Reader, ...] = (
    FacebookHtmlReader(),
    MessengerReader(),
    FacebookReader(),
    InstagramReader(),
    ThreadsReader(),
)
