"""Several worker processes behind one port: what is one for all of them, and what becomes of those that end."""

from __future__ import annotations

import os
import re
import signal
import socket
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection, HTTPException
from itertools import cycle, islice
from pathlib import Path

import pytest

from tests.support.ibi_command import IbiCommand
from tests.support.worker_server import WorkerServer, ask, is_running, wait_until, workers_up

EDGE = "edge-of-the-parts"
BROWSER = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"


def deposit_body(number: int) -> str:
    return (
        f'--{EDGE}\r\nContent-Disposition: form-data; name="item"\r\nContent-Type: application/json\r\n\r\n'
        f'{{"metadata": {{"title": "Item {number}"}}}}\r\n'
        f'--{EDGE}\r\nContent-Disposition: form-data; name="file"; filename="text.txt"\r\n'
        f"Content-Type: text/plain\r\n\r\nitem {number}\r\n--{EDGE}--\r\n"
    )


def deposit(connection: HTTPConnection, token: str, number: int) -> str:
    """The repository name of a new item."""
    status, _, body = ask(
        connection,
        "POST",
        "/api/items",
        deposit_body(number),
        Authorization=f"Bearer {token}",
        Content_Type=f"multipart/form-data; boundary={EDGE}",
    )
    assert status == 201, body
    return str(body["rep"])


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerServer]:
    home = tmp_path_factory.mktemp("workers")
    with workers_up(IbiCommand(home, log=home / "log.txt")) as running:
        yield running


@pytest.fixture(scope="module")
def token(server: WorkerServer) -> str:
    return server.ibi("token", "create", "--scope", "admin").out.strip()


def test_connections_are_spread_and_the_metrics_are_the_sum(server: WorkerServer) -> None:
    before = server.counted("ibi_http_requests_total")
    places = Counter[int | None]()
    for _ in range(120):
        with closing(server.connection()) as connection:
            assert ask(connection, "GET", "/healthz")[0] == 200
            places[server.worker_of(connection)] += 1
    assert set(places) == set(server.workers())
    assert min(places.values()) > 30  # of 120, in all but one of ten million runs
    for worker in server.workers():
        with closing(server.connect_to(worker)) as connection:
            text = ask(connection, "GET", "/metrics")[2].decode()
        counted = sum(
            map(float, re.findall(r'^ibi_http_requests_total{.*route="/healthz".*} (.*)$', text, re.MULTILINE))
        )
        assert counted == 120
    assert server.counted("ibi_http_requests_total") >= before + 122


def test_a_double_click_counts_once_whichever_worker_is_asked(server: WorkerServer, token: str) -> None:
    one, other = (server.connect_to(worker) for worker in server.workers())
    with closing(one), closing(other):
        reps = [deposit(one, token, number) for number in range(20)]
        for rep in reps:
            barrier = threading.Barrier(2)

            def click(connection: HTTPConnection, rep: str = rep, barrier: threading.Barrier = barrier) -> None:
                barrier.wait(60)
                assert ask(connection, "GET", f"/col/{rep}/doc/text.txt", User_Agent=BROWSER)[0] == 200

            threads = [threading.Thread(target=click, args=(each,)) for each in (one, other)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(60)

        def downloads(connection: HTTPConnection, rep: str) -> int:
            body = ask(connection, "GET", f"/api/items/{rep}/usage", Authorization=f"Bearer {token}")[2]
            return sum(day["downloads"] for day in body["days"])

        # A worker writes its counts together: when a later one is seen by the other worker, all are.
        for by, seen_by in ((one, other), (other, one)):
            marker = deposit(by, token, 21)
            assert ask(by, "GET", f"/col/{marker}/doc/text.txt", User_Agent=BROWSER)[0] == 200
            wait_until(lambda: downloads(seen_by, marker) == 1, "a count")  # noqa: B023
        assert [downloads(one, rep) for rep in reps] == [1] * len(reps)


def test_the_sixth_wrong_password_waits_whichever_worker_is_asked(server: WorkerServer) -> None:
    """In turns at two workers. Counted apart, the eleventh would be the first that has to wait; together it is the
    sixth, or one of the next three on a machine that takes seconds for what takes milliseconds."""
    server.ibi("person", "create", "ada", "--role", "librarian")
    kind, body, statuses = "application/x-www-form-urlencoded", "to=&name=ada&password=wrong", list[int]()
    connections = [server.connect_to(worker) for worker in server.workers()]
    for connection in islice(cycle(connections), 10):
        statuses.append(ask(connection, "POST", "/sign-in", body, Content_Type=kind, Origin=server.url)[0])
        if statuses[-1] != 403:
            break
    for connection in connections:
        connection.close()
    assert statuses[:5] == [403] * 5
    assert 429 in statuses[5:9]


def test_a_revoked_token_and_a_deleted_item_are_seen_by_all(server: WorkerServer, token: str) -> None:
    revoked = server.ibi("token", "create", "--scope", "deposit", "--json").out
    identity, secret = re.findall(r'"(?:id|token)": ?"([^"]*)"', revoked)
    if identity.startswith("ibi_"):
        identity, secret = secret, identity
    connections = [server.connect_to(worker) for worker in server.workers()]
    try:
        rep = deposit(connections[0], secret, 1)
        for each in connections:
            assert ask(each, "GET", f"/col/{rep}/doc/text.txt")[0] == 200
        assert ask(connections[0], "DELETE", f"/api/tokens/{identity}", Authorization=f"Bearer {token}")[0] == 200
        for each in connections:
            assert ask(each, "GET", "/api/archive", Authorization=f"Bearer {secret}")[0] == 401
        assert ask(connections[0], "DELETE", f"/api/items/{rep}?reason=x", Authorization=f"Bearer {token}")[0] == 200
        for each in connections:
            wait_until(lambda each=each: ask(each, "GET", f"/col/{rep}/doc/text.txt")[0] == 410)  # type: ignore[misc]
    finally:
        for each in connections:
            each.close()


class Load:
    """Clients that deposit one after the other, over connections of which some belong to workers that are killed."""

    def __init__(self, server: WorkerServer, token: str, clients: int) -> None:
        self.server, self.token = server, token
        self.acknowledged: list[str] = []
        self.refused: list[object] = []
        self.broken = 0
        self._ending = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(number,)) for number in range(clients)]

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        for thread in self._threads:
            thread.join(60)

    def _run(self, number: int) -> None:
        connection = self.server.connection()
        while not self._ending.is_set():
            try:
                self.acknowledged.append(deposit(connection, self.token, number))
            except AssertionError as error:
                self.refused.append(error)
            except (OSError, HTTPException):
                self.broken += 1  # it was that of a worker that is gone
                connection.close()
                connection = self.server.connection()
        connection.close()


def test_workers_killed_under_load_lose_nothing_and_are_replaced(server: WorkerServer, token: str) -> None:
    kills = int(os.environ.get("SOAK_WORKER_KILLS", "20"))
    falls: list[tuple[float, float]] = []
    with Load(server, token, 4) as load:
        counted = 0.0
        for number in range(kills):
            wait_until(lambda: len(server.workers()) == 2, "a replacement")
            victim, other = server.workers()[number % 2], server.workers()[1 - number % 2]
            with closing(server.connect_to(other)) as kept:
                so_far = len(load.acknowledged)
                os.kill(victim, signal.SIGKILL)
                assert ask(kept, "GET", "/healthz")[0] == 200  # it sees nothing of it
                wait_until(lambda far=so_far: len(load.acknowledged) > far + 4, "a deposit")  # type: ignore[misc]
                now = server.counted("ibi_http_requests_total")
                falls += [(counted, now)] if now < counted else []
                counted = now
                wait_until(lambda gone=victim: gone not in server.workers(), "an end")  # type: ignore[misc]
                assert ask(kept, "GET", "/healthz")[0] == 200
        wait_until(lambda: len(server.workers()) == 2, "a replacement")
    assert not load.refused
    assert not falls
    assert load.broken <= kills * 4
    assert len(set(load.acknowledged)) == len(load.acknowledged)
    with closing(server.connection()) as connection:
        for rep in load.acknowledged:
            assert ask(connection, "GET", f"/col/{rep}/doc/text.txt")[0] == 200


def test_a_reload_replaces_every_worker_and_fails_no_request(server: WorkerServer) -> None:
    before, ending = server.workers(), threading.Event()
    failures: list[object] = []
    answers = Counter[int]()

    def ask_on() -> None:
        connection = server.connection()
        while not ending.is_set():
            try:
                status, headers, _ = ask(connection, "GET", "/")
                answers[status] += 1
                if headers.get("connection") == "close":
                    connection.close()
            except (OSError, HTTPException) as error:
                failures.append(error)
                return
        connection.close()

    threads = [threading.Thread(target=ask_on) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        with closing(server.connect_to(before[0])):  # one that is idle is closed after a while
            server.reload()
            wait_until(lambda: not set(before) & set(server.workers()), "a replacement")
        wait_until(lambda: len(server.workers()) == 2, "two workers")
    finally:
        ending.set()
        for thread in threads:
            thread.join(60)
    assert not failures
    assert set(answers) == {200}


def test_a_supervisor_that_is_killed_leaves_no_worker_and_a_free_port(tmp_path: Path) -> None:
    with workers_up(IbiCommand(tmp_path)) as server:
        workers, held = server.workers(), server.connection()
        server.process.kill()
        server.process.wait(30)
        wait_until(lambda: not any(map(is_running, workers)), "the end of all workers")
        held.close()
        with socket.socket() as free:
            free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            free.bind(("127.0.0.1", server.port))
            free.listen()


@pytest.mark.parametrize("workers", ["1", "2"])
def test_the_service_manager_is_told_how_the_server_stands(tmp_path: Path, workers: str) -> None:
    told = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    told.bind(str(tmp_path / "notify"))
    told.settimeout(60)
    variables = {"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "200000"}
    with told, workers_up(IbiCommand(tmp_path), workers, **variables) as server:

        def hear(state: bytes) -> None:
            while state not in told.recv(4096).splitlines():
                pass

        hear(b"READY=1")
        hear(b"WATCHDOG=1")
        before = server.workers()
        assert len(before) == int(workers)
        server.reload()
        hear(b"RELOADING=1")
        hear(b"READY=1")
        wait_until(lambda: not set(before) & set(server.workers()), "a replacement")
        (server.ibi.data / "ibi.toml").write_text("not a setting")  # what cannot be read changes nothing
        server.reload()
        hear(b"RELOADING=1")
        hear(b"READY=1")
        with closing(server.connection()) as connection:
            assert ask(connection, "GET", "/healthz")[0] == 200
        server.process.send_signal(signal.SIGTERM)
        hear(b"STOPPING=1")
        assert server.process.wait(30) == 0
