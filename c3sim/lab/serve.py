"""The server of the laboratory: its port, its link, its end."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import os
import secrets
import socket
import tempfile
import webbrowser
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import AsyncExitStack
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import parse_qs

from c3sim.errors import InputError
from c3sim.lab.bench import Bench
from c3sim.lab.choice import Choice, Opened, from_query

HOST = "127.0.0.1"
FIRST_PORT, TRIED = 8350, 20
TITLE = "c3sim lab"
SERVER: dict[str, Any] = {
    **{"favicon": "data:,", "uvicorn_logging_level": "error"},
    **dict.fromkeys(("show", "reload", "tailwind", "show_welcome_message"), False),
    # nothing is packed on its way within one computer: a packer takes 0.3 MB of each tab
    **{"ws_per_message_deflate": False, "gzip_middleware_factory": None},
}
MISSING = "c3sim lab needs NiceGUI; install it with: pip install 'c3sim[lab]'"


def serve(
    choice: Choice, port: int | None, browser: bool, say: Callable[[str], None], opened: Opened
) -> None:
    """Open the laboratory on *choice* and serve it until it is interrupted.

    *port*: left out, the first free one from 8350 on; *browser*: whether to open one; *say* takes
    what a person has to read; *opened*: what a file of the reader's own is opened as. Raises
    InputError: the extra is missing, the port is taken.
    """
    port = free_port(port)
    token = secrets.token_urlsafe(16)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["NICEGUI_STORAGE_PATH"] = folder  # nothing is left in the reader's folder
        try:
            import nicegui  # noqa: F401
        except ImportError:
            raise InputError(MISSING) from None
        _serve(choice, port, token, browser, say, opened)


def free_port(port: int | None) -> int:
    """*port*, or the first free one. Raises InputError where it is taken."""
    for tried in range(FIRST_PORT, FIRST_PORT + TRIED) if port is None else (port,):
        with contextlib.suppress(OSError), socket.socket() as found:
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            found.bind((HOST, tried))
            return tried
    ports = str(port) if port else f"{FIRST_PORT} to {FIRST_PORT + TRIED - 1}"
    raise InputError(f"port {ports} is taken on {HOST}; choose another one", "--port")


async def listening(port: int) -> None:
    """Wait until the server answers there: its start is told before it does."""
    while True:
        try:
            _, writer = await asyncio.open_connection(HOST, port)
        except OSError:
            await asyncio.sleep(0.02)
        else:
            writer.close()
            return


def _serve(
    choice: Choice, port: int, token: str, browser: bool, say: Callable[[str], None], opened: Opened
) -> None:
    from nicegui import app, background_tasks, ui
    from starlette.requests import Request

    from c3sim.lab.page import Lab, head

    def link(shown: Choice) -> str:
        return f"http://{HOST}:{port}/?token={token}&{shown.query()}"

    bench = Bench()

    def page(request: Request) -> None:
        asked = request.url.query
        shown = from_query(asked) if "workload=" in asked else choice
        Lab(shown, link, bench, opened)

    ui.add_head_html(head(), shared=True)
    page.__annotations__["request"] = Request  # FastAPI reads it; the name is local
    ui.page("/", title=TITLE, dark=None, language="en-US")(page)
    app.add_middleware(Guard, token=token, port=port)

    async def tell() -> None:
        await listening(port)
        say(f"c3sim lab: {link(choice)}")
        say("only this computer can open it; end it with Ctrl-C")
        if browser:
            webbrowser.open(link(choice))

    app.on_startup(lambda: background_tasks.create(tell()))
    try:
        ui.run(host=HOST, port=port, title=TITLE, **SERVER)
    except KeyboardInterrupt:
        pass
    finally:
        bench.close()
        say("c3sim lab: ended")


# Who may ask the laboratory: whoever knows its token, from this computer, on its own page.


Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Asgi = Callable[[Message, Receive, Send], Awaitable[None]]
REFUSED = b"403: this needs the link that c3sim lab printed; it carries the token.\n"


class Guard:
    """Lets requests and sockets through to *app* that have the *token*, in the link or in the
    cookie that the link leaves behind. Any other one is answered with 403, and so is one that was
    sent to another name than the loopback address or by the page of another site. Pages are made
    one after the other: of a hundred asked for at once the first does not wait for all.
    """

    def __init__(self, app: Asgi, *, token: str, port: int) -> None:
        self.app, self.token = app, token
        self.cookie = f"c3sim-lab-{port}"
        self.hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self.turn = asyncio.Lock()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        headers = {name.decode().lower(): text.decode("latin-1") for name, text in scope["headers"]}
        in_link = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token", [""])[-1]
        given = in_link or self._of_cookie(headers.get("cookie", ""))
        if not (
            self._at_home(headers) and hmac.compare_digest(given.encode(), self.token.encode())
        ):
            await self._refuse(scope, send)
            return

        async with AsyncExitStack() as turn:
            if scope["type"] == "http" and scope["path"] == "/":
                await turn.enter_async_context(self.turn)

            async def answer(message: Message) -> None:
                if in_link and message["type"] == "http.response.start":
                    kept = f"{self.cookie}={self.token}; Path=/; HttpOnly; SameSite=Strict"
                    message["headers"] = [*message["headers"], (b"set-cookie", kept.encode())]
                if message["type"] == "http.response.body":
                    await turn.aclose()  # made; nobody waits until it is read
                await send(message)

            await self.app(scope, receive, answer)

    def _of_cookie(self, text: str) -> str:
        found = SimpleCookie(text).get(self.cookie)
        return "" if found is None else found.value

    def _at_home(self, headers: Message) -> bool:
        """True if the request names this server, and comes from its page or from no page."""
        host, origin = headers.get("host", ""), headers.get("origin")
        return host in self.hosts and (origin is None or origin == f"http://{host}")

    async def _refuse(self, scope: Message, send: Send) -> None:
        if scope["type"] == "websocket":  # before it is accepted: the handshake is answered 403
            await send({"type": "websocket.close", "code": 1008})
            return
        kind = [(b"content-type", b"text/plain; charset=utf-8")]
        await send({"type": "http.response.start", "status": 403, "headers": kind})
        await send({"type": "http.response.body", "body": REFUSED})
