"""What worker processes have in common: forked processes count, wait and publish as one."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable, Iterator
from threading import Thread

import pytest

from ibi.jobs.limits import FREE, Attempts
from ibi.server.worker_state import ALONE, SharedRows, WorkerShare, WorkerState

NOW = 1_800_000_000


def in_child(work: Callable[[], object]) -> int:
    """A forked process that does the work, and ends with 0 if it succeeded."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        work()
        code = 0
    finally:
        os._exit(code)


def wait_for(*pids: int) -> None:
    assert [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids] == [0] * len(pids)


def publish_all(state: WorkerState, slot: int, texts: Iterable[bytes]) -> None:
    for text in texts:
        state.figures.publish(slot, text)


@pytest.fixture
def state() -> Iterator[WorkerState]:
    found = WorkerState(2)
    found.occupy(0)
    found.occupy(1)
    yield found
    found.close()


class TestWishes:
    def test_a_wish_counts_once_in_all_workers_and_again_after_the_window(self, state: WorkerState) -> None:
        one, other = state.recent(0), state.recent(1)
        assert one.is_first(("item", "client"), NOW)
        assert not other.is_first(("item", "client"), NOW + 1)
        assert not one.is_first(("item", "client"), NOW + 29)
        assert other.is_first(("item", "client"), NOW + 30)
        assert one.is_first(("item", "another"), NOW)
        assert len(one) == 2

    def test_of_workers_at_the_same_time_one_counts(self, state: WorkerState) -> None:
        """Each wish is claimed by both at once, thousands of times over."""
        counts = [os.pipe(), os.pipe()]
        go, gone = os.pipe(), 2000

        def count(slot: int) -> None:
            recent = state.recent(slot)
            os.read(go[0], 1)
            number = sum(recent.is_first(("wish", each), NOW) for each in range(gone))
            os.write(counts[slot][1], b"%d\n" % number)

        pids = [in_child(lambda slot=slot: count(slot)) for slot in (0, 1)]  # type: ignore[misc]
        os.write(go[1], b"..")
        wait_for(*pids)
        assert sum(int(os.read(reader, 20)) for reader, _ in counts) == gone
        for descriptor in (*counts[0], *counts[1], *go):
            os.close(descriptor)

    def test_a_claim_of_a_worker_that_died_keeps_no_other_from_counting(self, state: WorkerState) -> None:
        one, other = state.recent(0), state.recent(1)
        assert other.is_first("wish", NOW)
        # As if it had been killed between its claim and its count, and had the claim seen by the other at that moment.
        place = next(at for at, word in enumerate(other._own) if word)
        other._own[place] = other._own[place] & ~3 | 1
        assert not one._loses_to(1, other._own, place, other._own[place], other._own[place])

    def test_a_key_counts_so_often_over_all_workers(self, state: WorkerState) -> None:
        one, other = state.recent(0), state.recent(1)
        one._most_counted = other._most_counted = 5
        assert [each.is_within_share("key") for each in (one, other, one, one, other, other, one)] == [True] * 5 + [
            False
        ] * 2
        assert other.is_within_share("another key")

    def test_a_slot_that_is_used_later_is_seen(self, state: WorkerState) -> None:
        one = state.recent(0)
        assert one.is_first("wish", NOW)
        state.occupy(4)
        assert not state.recent(4).is_first("wish", NOW)
        assert state.recent(4).is_first("later", NOW)
        assert not one.is_first("later", NOW)


class TestRows:
    def test_attempts_are_those_of_all_workers(self, state: WorkerState) -> None:
        begin = Attempts(rows=state.sign_ins).begin
        wait_for(*(in_child(lambda: begin(("name", "ada"), 10.0)) for _ in range(FREE)))
        attempts = Attempts(rows=state.sign_ins)
        assert attempts.wait(("name", "ada"), 10.0) == 1.0
        assert attempts.wait(("name", "bob"), 10.0) == 0.0
        attempts.note_success(("name", "ada"))
        assert attempts.wait(("name", "ada"), 10.0) == 0.0
        assert len(attempts) == 1

    def test_the_row_that_was_written_longest_ago_gives_way(self, state: WorkerState) -> None:
        rows = state.offers
        rows.put("kept", (1.0,), 3600.0)
        for number in range(70_000):
            rows.put(number, (float(number), 0.5))
        assert len(rows) <= 65_536
        assert rows.get(69_999) == (69_999.0, 0.5, 0.0, 0.0)
        assert rows.get("kept") == (1.0, 0.0, 0.0, 0.0)
        rows.drop(69_999)
        assert rows.get(69_999) is None

    def test_a_row_for_which_all_others_have_to_be_kept_is_refused(self, state: WorkerState) -> None:
        rows, number = state.offers, 8192
        while rows.put(number, (0.0,), 3600.0):
            number += 8192  # all in one bucket
        assert number == 9 * 8192
        assert rows.put(8192, (1.0,), 3600.0)
        assert rows.get(8192) == (1.0, 0.0, 0.0, 0.0)

    def test_letters_that_strangers_ask_for_drop_no_row_of_a_sign_in_or_an_account(self, state: WorkerState) -> None:
        state.sign_ins.put(("name", "ada"), (5.0,))
        state.accounts.put(("code", "ada"), (5.0,))
        for number in range(10_000):
            state.letters.put(("letter", f"x{number}"), (1.0,))
        assert state.sign_ins.get(("name", "ada")) is not None
        assert state.accounts.get(("code", "ada")) is not None

    def test_a_worker_that_is_killed_gives_the_lock_back(self, state: WorkerState) -> None:
        held = os.pipe()

        def hold() -> None:
            with state.sign_ins.alone():
                os.write(held[1], b".")
                signal.pause()

        pid = in_child(hold)
        os.read(held[0], 1)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        with state.sign_ins.alone():
            state.sign_ins.put("subject", (1.0,))
        for descriptor in held:
            os.close(descriptor)

    def test_threads_of_one_worker_take_turns(self, state: WorkerState) -> None:
        def add() -> None:
            for _ in range(500):
                with state.offers.alone():
                    (number, *_) = state.offers.get("sum") or (0.0,)
                    state.offers.put("sum", (number + 1,))

        threads = [Thread(target=add) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert state.offers.get("sum") == (2000.0, 0.0, 0.0, 0.0)


class TestFigures:
    def test_what_was_published_last_stays_after_the_worker(self, state: WorkerState) -> None:
        assert state.figures.read(1) is None
        texts = b"first", b"second " * 100_000, b""
        wait_for(in_child(lambda: publish_all(state, 1, texts)))
        assert (state.figures.version(1), state.figures.read(1)) == (3, b"")
        wait_for(in_child(lambda: state.figures.publish(1, b"of the next worker")))
        assert state.figures.read(1) == b"of the next worker"

    def test_a_reader_beside_a_writer_gets_whole_figures(self, state: WorkerState) -> None:
        texts = [bytes([number]) * (1000 * number) for number in range(1, 60)]
        pid = in_child(lambda: publish_all(state, 0, texts * 20))
        seen = set()
        while os.waitpid(pid, os.WNOHANG) == (0, 0):
            if (content := state.figures.read(0)) is not None:
                seen.add(content)
        assert seen <= set(texts)

    def test_a_worker_that_is_asked_too_often_is_not_waited_for(self, state: WorkerState) -> None:
        for _ in range(10_000):
            state.figures.ask(1)
        assert state.figures.calls(1).recv(1) == b"?"


def test_bounds_are_divided_and_rounded_up(state: WorkerState) -> None:
    share = WorkerShare(state, 1)
    assert [share.divide(bound) for bound in (0, 1, 2, 3, 256)] == [0, 1, 1, 2, 128]
    assert [ALONE.divide(bound) for bound in (0, 1, 256)] == [0, 1, 256]
    assert share.secret == state.secret
    assert ALONE.secret is None
    assert state.silence(0) < 60


class TestLocks:
    def test_threads_of_two_workers_that_want_two_locks_all_get_them(self, state: WorkerState) -> None:
        """Each thread takes one lock at a time, but the kernel sees two processes that wait for each other."""
        rounds = 3000

        def add(rows: SharedRows) -> None:
            for _ in range(rounds):
                with rows.alone():
                    rows.put("sum", ((rows.get("sum") or (0.0,))[0] + 1,))

        def work() -> None:
            failures: list[BaseException] = []

            def add_or_tell(rows: SharedRows) -> None:
                try:
                    add(rows)
                except OSError as error:
                    failures.append(error)

            threads = [Thread(target=add_or_tell, args=(rows,)) for rows in (state.sign_ins, state.refusals)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert not failures

        wait_for(in_child(work), in_child(work))

        assert [(rows.get("sum") or (0.0,))[0] for rows in (state.sign_ins, state.refusals)] == [2 * rounds] * 2
