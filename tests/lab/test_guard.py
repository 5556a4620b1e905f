"""Nobody without the token is answered, by link, cookie or socket."""

import asyncio

import pytest

from c3sim.lab.serve import Guard

PORT, TOKEN = 8350, "right"
HOME = (b"host", b"127.0.0.1:8350")


async def behind(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": []})


def answer(kind="http", query=b"", headers=(HOME,)):
    sent = []

    async def send(message):
        sent.append(message)

    guard = Guard(behind, token=TOKEN, port=PORT)
    scope = {"type": kind, "path": "/", "query_string": query, "headers": list(headers)}
    asyncio.run(guard(scope, None, send))
    return sent[0]


def test_the_link_opens_it_and_leaves_a_cookie():
    first = answer(query=b"token=right&workload=c3-pair")
    assert first["status"] == 200
    (cookie,) = (text for name, text in first["headers"] if name == b"set-cookie")
    assert b"HttpOnly" in cookie and b"SameSite=Strict" in cookie
    again = answer(headers=[HOME, (b"cookie", cookie.split(b";")[0])])
    assert again["status"] == 200 and again["headers"] == []


@pytest.mark.parametrize(
    ("query", "headers"),
    [
        (b"", [HOME]),
        (b"token=wrong", [HOME]),
        (b"token=", [HOME]),
        (b"token=right", [(b"host", b"evil.example:8350")]),  # a name that was bent to this one
        (b"token=right", [HOME, (b"origin", b"http://evil.example")]),
        (b"", [HOME, (b"cookie", b"c3sim-lab-8350=wrong")]),
        (b"", [HOME, (b"cookie", b"c3sim-lab-8351=right")]),  # of another laboratory
    ],
)
def test_anybody_else_is_refused(query, headers):
    assert answer(query=query, headers=headers)["status"] == 403
    assert answer("websocket", query, headers)["type"] == "websocket.close"


def test_the_first_of_many_pages_does_not_wait_for_all_nor_for_a_slow_reader():
    """What is made in steps, each of which lets others go on, went in step: a hundred pages asked
    for at once were all answered after the last was made.
    """
    told = []

    async def steps(scope, receive, send):
        for _ in range(4):
            told.append("step")
            await asyncio.sleep(0)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"page"})

    async def send(message):
        if message["type"] == "http.response.body":
            told.append("page")
            await asyncio.sleep(0.01)  # until it is read

    async def both():
        guard = Guard(steps, token=TOKEN, port=PORT)
        scope = {"type": "http", "path": "/", "query_string": b"token=right", "headers": [HOME]}
        await asyncio.gather(guard(scope, None, send), guard(scope, None, send))
        told.append("read")

    asyncio.run(both())
    assert told == [*["step"] * 4, "page"] * 2 + ["read"]
