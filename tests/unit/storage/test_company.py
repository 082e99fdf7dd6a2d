"""Threads that are waited for, and threads that are not."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from ibi.storage import company as company_module
from ibi.storage.company import Company

LONG = 60


@pytest.fixture
def company(monkeypatch: pytest.MonkeyPatch) -> Company:
    """One that waits longer than any test takes."""
    monkeypatch.setattr(company_module, "_PATIENCE", LONG)
    return Company()


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as pool:
        yield pool


def gathering(pool: ThreadPoolExecutor, company: Company) -> Future[None]:
    """One who has come, and waits for the others."""
    begun = threading.Event()

    def gather() -> None:
        company.arrive()
        begun.set()
        company.gather()

    waiting = pool.submit(gather)
    assert begun.wait(LONG)
    return waiting


def test_alone_one_waits_for_nobody(company: Company) -> None:
    company.gather()
    with company:
        company.arrive()
        company.gather()


def test_members_are_waited_for_until_they_come(company: Company, pool: ThreadPoolExecutor) -> None:
    company.join()
    company.join()
    waiting = gathering(pool, company)
    assert not waiting.done()
    company.arrive()
    waiting.result(LONG)


def test_or_until_they_leave(company: Company, pool: ThreadPoolExecutor) -> None:
    company.join()
    company.join()
    waiting = gathering(pool, company)
    assert not waiting.done()
    company.leave()
    waiting.result(LONG)


def test_who_was_served_has_to_come_again(company: Company, pool: ThreadPoolExecutor) -> None:
    company.join()
    company.arrive()
    company.depart()
    company.join()
    waiting = gathering(pool, company)
    assert not waiting.done()
    company.arrive()
    waiting.result(LONG)


def test_nobody_is_waited_for_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(company_module, "_PATIENCE", 0)
    company = Company()
    with company:
        company.gather()


def test_a_member_that_fails_is_one_no_more(company: Company) -> None:
    with pytest.raises(ZeroDivisionError), company:
        raise ZeroDivisionError
    company.gather()
