"""External upload: an address, the bytes, and the message that shows the file."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from aiohttp import web

from tests.fakes.slack.chat import check_reach
from tests.fakes.slack.conversation import Channel
from tests.fakes.slack.faults import FaultPlan, before_processing
from tests.fakes.slack.host import Host
from tests.fakes.slack.web_api import Method, WebApi, required
from tests.fakes.slack.wire import Json, Refusal
from tests.fakes.slack.workspace import Workspace
from tests.fakes.stand_in import cut


@dataclass(eq=False)
class Upload:
    """One file on its way: `content` is None until the bytes have come."""

    id: str
    filename: str
    length: int
    alt_text: str
    content: bytes | None = None
    title: str = ""
    unread: int = 0  # how many messages that name it are refused before Slack has read it

    @property
    def shown(self) -> Json:
        title = self.title or self.filename
        return {"id": self.id, "name": self.filename, "title": title, "size": self.length}


@dataclass
class Files:
    """Takes files for the bot."""

    workspace: Workspace
    api: WebApi
    faults: FaultPlan
    host: Host
    uploads: dict[str, Upload] = field(default_factory=dict)
    shared: dict[str, bytes] = field(default_factory=dict)  # by people
    unread: int = 0  # of each upload from now on

    def methods(self) -> Mapping[str, Method]:
        return {
            "files.getUploadURLExternal": self.get_url,
            "files.completeUploadExternal": self.complete,
        }

    def get_url(self, arguments: Json) -> Json:
        filename, length = required(arguments, "filename", "length")
        file_id = self.workspace.fresh_id("F")
        alt_text = str(arguments.get("alt_txt", ""))
        self.uploads[file_id] = Upload(file_id, filename, int(length), alt_text, unread=self.unread)
        return {"upload_url": f"http://{self.host.address}/upload/v1/{file_id}", "file_id": file_id}

    async def receive(self, request: web.Request) -> web.StreamResponse:
        """The bytes, as the body itself."""
        fault = self.faults.take("upload")
        if fault and (answer := await before_processing(fault, request)):
            return answer
        upload = self.uploads.get(request.match_info["file_id"])
        content = await request.read()
        if upload is None or len(content) != upload.length:
            return web.Response(status=400, text="the length differs or nothing was announced")
        upload.content = content
        if fault and fault.drop_after:
            return cut(request)
        return web.Response(text=f"OK - {len(content)}")

    def share(self, name: str, content: bytes) -> Json:
        """Keep a file of a person, and return what a message says of it."""
        file_id = self.workspace.fresh_id("F")
        self.shared[file_id] = content
        address = f"http://{self.host.address}/files-pri/{file_id}/download"
        shown = {"id": file_id, "name": name, "title": name, "size": len(content)}
        return shown | {"url_private_download": address, "url_private": address}

    async def send(self, request: web.Request) -> web.StreamResponse:
        """A file to who may read it; to anybody else a page to log in."""
        allowed = self.api.app.scopes is None or "files:read" in self.api.app.scopes
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        content = self.shared.get(request.match_info["file_id"])
        if not allowed or content is None or token != self.api.bot_token:
            return web.Response(text="<html>Log in</html>", content_type="text/html")
        return web.Response(body=content, content_type="application/octet-stream")

    def complete(self, arguments: Json) -> Json:
        files = arguments.get("files")
        if not isinstance(files, list) or not files:
            raise Refusal("invalid_arguments")
        channels = [self._writable(name) for name in _channel_ids(arguments)]
        uploads = [self._finished(file) for file in files]
        for channel in channels:
            self.workspace.post(
                channel,
                self.workspace.bot,
                str(arguments.get("initial_comment") or ""),
                thread_ts=arguments.get("thread_ts"),
                files=[upload.shown for upload in uploads],
            )
        return {"files": [upload.shown for upload in uploads]}

    def require_shown(self, blocks: object) -> None:
        """Refuse blocks that name a file that is not there, or that Slack has not read yet."""
        for number, block in enumerate(blocks if isinstance(blocks, list) else ()):
            if not isinstance(block, dict) or "slack_file" not in block:
                continue
            upload = self.uploads.get(block["slack_file"]["id"])
            if upload is None or upload.content is None or upload.unread > 0:
                if upload is not None:
                    upload.unread -= 1
                fault = f"invalid slack file [json-pointer:/blocks/{number}/slack_file]"
                raise Refusal("invalid_blocks", errors=[fault])

    def _finished(self, file: Json) -> Upload:
        upload = self.uploads.get(file["id"])
        if upload is None or upload.content is None:
            raise Refusal("file_not_found")
        upload.title = file.get("title", "")
        return upload

    def _writable(self, name: str) -> Channel:
        channel = self.workspace.channel(name)
        if self.workspace.bot not in channel.members:
            check_reach(channel, self.api)
            raise Refusal("not_in_channel")  # chat:write.public does not reach to files
        return channel


def _channel_ids(arguments: Json) -> list[str]:
    several = str(arguments.get("channels") or "").split(",")
    return [name for name in [arguments.get("channel_id"), *several] if name]
