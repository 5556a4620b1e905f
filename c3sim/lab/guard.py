"""Who may ask the laboratory: whoever knows its token, from this computer, on its own page."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, MutableMapping
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import parse_qs

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Asgi = Callable[[Message, Receive, Send], Awaitable[None]]
REFUSED = b"403: this needs the link that c3sim lab printed; it carries the token.\n"


class Guard:
    """Lets requests and sockets through to *app* that have the *token*, in the link or in the
    cookie that the link leaves behind. Any other one is answered with 403, and so is one that was
    sent to another name than the loopback address or by the page of another site.
    """

    def __init__(self, app: Asgi, *, token: str, port: int) -> None:
        self.app, self.token = app, token
        self.cookie = f"c3sim-lab-{port}"
        self.hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}

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

        async def answer(message: Message) -> None:
            if in_link and message["type"] == "http.response.start":
                kept = f"{self.cookie}={self.token}; Path=/; HttpOnly; SameSite=Strict"
                message["headers"] = [*message["headers"], (b"set-cookie", kept.encode())]
            await send(message)

        await self.app(scope, receive, answer)

    def _of_cookie(self, text: str) -> str:
        found = SimpleCookie(text).get(self.cookie)
        return "" if found is None else found.value

    def _at_home(self, headers: Message) -> bool:
        """Whether the request names this server, and comes from its page or from no page."""
        host, origin = headers.get("host", ""), headers.get("origin")
        return host in self.hosts and (origin is None or origin == f"http://{host}")

    async def _refuse(self, scope: Message, send: Send) -> None:
        if scope["type"] == "websocket":  # before it is accepted: the handshake is answered 403
            await send({"type": "websocket.close", "code": 1008})
            return
        kind = [(b"content-type", b"text/plain; charset=utf-8")]
        await send({"type": "http.response.start", "status": 403, "headers": kind})
        await send({"type": "http.response.body", "body": REFUSED})
