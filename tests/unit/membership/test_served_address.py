"""Which of several servers has the address of the Archive."""

from __future__ import annotations

from pathlib import Path

from ibi.membership.store.archive_state import ServedAddress

HERE, THERE = "http://127.0.0.1:8001", "http://127.0.0.1:8002"


def test_the_first_server_has_it_until_it_ends(tmp_path: Path) -> None:
    first, second = ServedAddress(tmp_path / "data"), ServedAddress(tmp_path / "data")
    assert first.claim(HERE) == HERE
    assert second.claim(THERE) == HERE
    second.release()  # which it has not
    assert second.claim(THERE) == HERE
    first.release()
    first.release()
    assert second.claim(THERE) == THERE
    assert first.claim(HERE) == THERE
    second.release()


def test_servers_of_one_address_agree(tmp_path: Path) -> None:
    first, second = ServedAddress(tmp_path), ServedAddress(tmp_path)
    assert [server.claim(HERE) for server in (first, second)] == [HERE, HERE]
    first.release()


def test_a_shorter_address_leaves_nothing_of_a_longer_one(tmp_path: Path) -> None:
    # A process that was killed leaves its URL behind.
    (tmp_path / "served-address").write_text(f"{HERE}/a/much/longer/path")
    first, second = ServedAddress(tmp_path), ServedAddress(tmp_path)
    assert first.claim(THERE) == THERE
    assert second.claim(HERE) == THERE
    first.release()
