"""Every background job of a server with all its parts: a step that raises is logged, counted and shown, and the next
one runs."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, cast

import pytest
from structlog.testing import capture_logs

from ibi.app.cli import server as cli_server
from ibi.app.server import opening
from ibi.following.model.subscription import Follow, FollowKind, FollowTarget, SourceAddress
from ibi.following.model.webhook import Webhook
from ibi.following.store.follows import SqliteFollows
from ibi.following.store.subscriptions import SqliteWebhooks
from ibi.jobs.failing_jobs_file import FailingJobsFile
from ibi.jobs.runner import Job, JobRunner
from ibi.server.server import Server, listen
from ibi.settings import load_settings
from tests.support.running_server import RunningServer

COMMON = {
    "IBI_MINT_HOST": "jobs.example.org",
    "IBI_MINT_IP": "192.0.2.7",
    "IBI_MINT_SANDBOX": "true",
    "IBI_PUBLIC_URL": "http://archive.invalid",
    "IBI_ARCHIVE_DUMP": "03:00",
    "IBI_ARCHIVE_REVIEW": "true",
    "IBI_MAIL_SERVER": "127.0.0.1:9",
    "IBI_MAIL_SENDER": "ibi@example.org",
    "IBI_ARCHIVE_ADMIN_EMAIL": "ana@example.org",
}
ARCHIVE_JOBS = {
    *(
        "audit log",
        "claims",
        "copies",
        "drafts",
        "dump",
        "follows",
        "load during verification",
        "mint log",
        "minting",
        "own address",
    ),
    *(
        "beliefs",
        "reader requests",
        "state copies",
        "texts",
        "transfers",
        "usage",
        "verification",
        "webhooks",
    ),
}
SERVERS = {
    "an Archive with its own resolver": (
        {},
        ARCHIVE_JOBS
        | {
            "claim proofs",
            "dispute mail",
            "failures on record",
            "inclusion retries",
            "own holders of Copies",
            "second claims",
        },
    ),
    "an Archive with a resolver elsewhere": (
        {"IBI_RESOLVER": "http://127.0.0.1:9", "IBI_ARCHIVE_REGISTRATION_KEY": "1234567890"},
        ARCHIVE_JOBS | {"membership", "register"},
    ),
}


SOURCE = SourceAddress("http://127.0.0.1:9")
"""The Archive that is followed: nothing is there."""


class Planted(Exception):
    """The error of a test."""


class SpoiltRunner(JobRunner):
    """The first step of every job raises; which jobs had another one is noted."""

    made: ClassVar[list[SpoiltRunner]] = []

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.failed: set[str] = set()
        self.went_on: set[str] = set()
        self.may_go_on = threading.Event()
        self.made.append(self)

    def add(self, *jobs: Job) -> None:
        for job in jobs:
            self._spoil(job)
        super().add(*jobs)

    def _spoil(self, job: Job) -> None:
        whole = job.step
        job.first, job.first_rest, job.longest_rest = 0.0, 0.05, 0.05

        def fail_at_first() -> None:
            if not self.may_go_on.is_set() or job.name not in self.failed:
                self.failed.add(job.name)
                raise Planted(job.name)
            self.went_on.add(job.name)

        def block() -> float | None:
            fail_at_first()
            return cast("Callable[[], float | None]", whole)()

        async def step() -> float | None:
            fail_at_first()
            return await cast("Callable[[], Awaitable[float | None]]", whole)()

        job.step = block if job.is_blocking else step


@contextmanager
def served(data: Path, variables: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Iterator[RunningServer]:
    """The server of `ibi up`, in a thread of this process."""
    servers: list[Server] = []
    started = threading.Event()

    class Noticed(Server):
        def __init__(self, app: Any, *, ready: Callable[[str], None], **options: Any) -> None:
            def tell(url: str) -> None:
                ready(url)
                started.set()

            super().__init__(app, ready=tell, **options)
            servers.append(self)

    monkeypatch.setattr(cli_server, "Server", Noticed)
    monkeypatch.setattr(opening, "JobRunner", SpoiltRunner)
    settings = load_settings({"data": str(data), "lock_dir": str(data.parent / "locks")}, {**COMMON, **variables})
    listener = listen("127.0.0.1", 0)
    thread = threading.Thread(target=cli_server._serve, args=(settings, listener))
    thread.start()
    try:
        assert started.wait(60)
        yield RunningServer(f"http://127.0.0.1:{listener.getsockname()[1]}", servers[0])
    finally:
        for runner in SpoiltRunner.made:
            runner.may_go_on.set()
        for each in servers:
            each.should_exit = True
        thread.join(60)
        assert not thread.is_alive()


def until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize("name", SERVERS)
def test_every_job_whose_step_raises_is_told_of_and_goes_on(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    variables, expected = SERVERS[name]
    data = tmp_path / "data"
    webhooks = SqliteWebhooks(data)
    webhooks.add(Webhook(id="one", url="https://b.example", secret=b"s", created=1, epoch="e", position=0))
    webhooks.close()
    follows = SqliteFollows(data)
    for target in (FollowTarget(FollowKind.ALL), FollowTarget(FollowKind.SEARCH, "rain")):
        follows.add(Follow(id=target.kind.value, target=target, source=SOURCE, created=1))
    follows.close()
    SpoiltRunner.made.clear()
    later = {"webhook one", f"follow {SOURCE.url}", "follow search"}
    first, expected = expected, expected | later  # those come with the first steps of others
    with capture_logs() as logs, served(data, variables, monkeypatch) as server:
        (runner,) = SpoiltRunner.made
        until(lambda: runner.failed == first)
        until(lambda: {each.name for each in FailingJobsFile(data).all()} == first)
        runner.may_go_on.set()
        until(lambda: runner.went_on == expected)
        assert {job.name for job in runner.jobs} == expected
        # A step that waits for others, or for ever, says nothing yet.
        until(lambda: len(FailingJobsFile(data).all()) <= 3)
        _, text = server.ask("GET", "/metrics")
        failures = dict(re.findall(r'ibi_job_failures_total\{job="([^"]+)"\} (\S+)', text.decode()))
        assert failures.pop("event loop") == "0.0"
        assert set(failures) == expected
        assert all(float(number) >= 1 for number in failures.values())
        assert 'ibi_job_last_success_seconds{job="verification"}' in text.decode()
    told = [each for each in logs if each["event"] == "a job failed"]
    assert {each["job"] for each in told} == expected
    assert all(isinstance(each["exc_info"], Planted) and each["exc_info"].__traceback__ for each in told)
