"""What the pages of administrators cost at a hundred thousand items that were all verified and used, with a million
lines in the audit log."""

from __future__ import annotations

import http.client
import json
import re
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from hashlib import sha256
from pathlib import Path

from bench.catalogue import own
from bench.figure import Figure, figure_table
from bench.search import Words, filled
from bench.serving import Client, ibi_up
from ibi.items.store.catalogue.catalog import SqliteCatalog
from ibi.items.store.catalogue.integrity import SqliteIntegrity
from ibi.people.service.account_admin import PersonAdmin
from ibi.people.service.secret_hasher import SecretHasher
from ibi.people.store.people import SqlitePeople
from ibi.storage.columns import label_key
from ibi.storage.machine import MachineClocks
from ibi.usage.store import SqliteUsageLog

__all__ = ["figures"]

ITEMS, LINES, ASKED, AIM = 100_000, 1_000_000, 20, 50.0
"""The aim is in milliseconds of the server's processors."""
PAGES: Sequence[tuple[str, str]] = (
    ("overview", "/admin"),
    ("Archives", "/admin/archives"),
    ("fixity", "/admin/fixity"),
    ("usage", "/admin/usage"),
    ("audit trail, newest lines", "/admin/audit"),
    ("audit trail of one item, bounded", "/admin/audit?label=lab.br/bench/2026/line-1"),
    ("audit trail by day", "/admin/audit?until=2020-01-05"),
    ("storage", "/admin/storage"),
    ("settings", "/admin/settings"),
)


def figures() -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="ibi-bench-") as home:
        data = Path(home) / "data"
        with ibi_up(data):
            pass  # the Archive is begun
        filled(data / "catalogue.sqlite", ITEMS, Words.invented())
        own(data)
        _use_and_verify(data)
        _write_audit_log(data)
        return list(_pages(data))


def _use_and_verify(data: Path) -> None:
    """Each item verified once, and used on one day of this month and one of the last."""
    with closing(SqliteCatalog(data / "catalogue.sqlite")) as catalog:
        names = [item.rep for item in catalog.items()]
    with closing(SqliteIntegrity(data / "catalogue.sqlite")) as ledger:
        ledger.record_all([(str(name), ()) for name in names], int(time.time()))
    SqliteUsageLog(data / "usage.sqlite").close()
    today = int(time.time()) // 86_400
    with closing(sqlite3.connect(data / "usage.sqlite")) as file:
        for day, month in ((today, _month(0)), (today - 31, _month(1))):
            rows = [(label_key(name), number % 97) for number, name in enumerate(names)]
            file.executemany(f"INSERT OR REPLACE INTO usage VALUES (?, {day}, 1, ?, 0, 0)", rows)
            file.executemany(f"INSERT OR REPLACE INTO item_months VALUES ({month}, ?, 1, ?, 0, 0)", rows)
            origins = [(f"lab{archive}.br/x", each) for archive in range(20) for each in ("direct", "search", "web")]
            file.executemany(f"INSERT OR REPLACE INTO origin_months VALUES ({month}, ?, ?, 5, 7, 1, 2)", origins)
        file.commit()


def _month(ago: int) -> int:
    now = time.gmtime()
    return now.tm_year * 12 + now.tm_mon - 1 - ago


def _write_audit_log(data: Path) -> None:
    """A chain as `ibi.people.store.audit_log` writes it, a minute a line from 2020 on."""
    (data / "audit").mkdir(mode=0o700, exist_ok=True)
    previous, began, lines = "0" * 64, 1_577_836_800, []
    for number in range(1, LINES + 1):
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(began + number * 60))
        fields = {"number": number, "at": at, "account": "person:ana", "token": None, "from": "192.0.2.1"}
        fields |= {"act": "publish", "subject": f"lab.br/bench/2026/line-{number}", "detail": "", "previous": previous}
        line = json.dumps(fields, separators=(",", ":")).encode()
        previous = sha256(line).hexdigest()
        lines.append(line + b"\n")
    (data / "audit" / "audit.log").write_bytes(b"".join(lines))
    (data / "audit" / "head").write_text(f"{LINES:020d} {previous}\n", encoding="ascii")


def _pages(data: Path) -> Iterator[Figure]:
    with ibi_up(data) as server:
        cookie = _signed_in(data, server.port)
        with Client(server) as client:
            for name, path in PAGES:
                request = b"GET %b HTTP/1.1\r\nHost: localhost\r\nCookie: %b\r\n\r\n" % (path.encode(), cookie)
                client.send([request] * 2)  # templates are read, and the first of everything is dearer
                spent = client.send([request] * ASKED).cpu_each / 1e3
                yield Figure(f"{name}, 10⁵ items", spent, "ms CPU", None, f"< {AIM:g} ms", spent < AIM)


def _signed_in(data: Path, port: int) -> bytes:
    with closing(SqlitePeople(data)) as people, closing(SecretHasher()) as hasher:
        admin = PersonAdmin(people, MachineClocks(), hasher)
        admin.create("bench", "admin", "nine flying rivers")
    with closing(http.client.HTTPConnection("127.0.0.1", port)) as connection:
        form = "name=bench&password=nine+flying+rivers"
        connection.request("POST", "/sign-in", form, {"Content-Type": "application/x-www-form-urlencoded"})
        answer = connection.getresponse()
        cookies = " ".join(answer.headers.get_all("set-cookie") or ())
    found = re.search(r"(ibi-session=[^;]+)", cookies)
    assert found is not None, cookies
    return found[1].encode()


if __name__ == "__main__":
    measured = figures()
    print(figure_table(measured))
    sys.exit(0 if all(figure.is_met for figure in measured) else 1)
