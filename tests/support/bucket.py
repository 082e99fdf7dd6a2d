"""A server that speaks S3, on this machine, for backups."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection

import pytest


@contextmanager
def bucket(variables: pytest.MonkeyPatch) -> Iterator[str]:
    """A bucket, as `ibi backup` takes its name; the environment leads to it."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        variables.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        variables.setenv("AWS_REGION", "us-east-1")
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            variables.setenv(name, "test")
        with closing(HTTPConnection(host, port, timeout=30)) as connection:
            name = f"backup-{secrets.token_hex(8)}"  # all servers in a process have the same buckets
            connection.request("PUT", f"/{name}")
            assert connection.getresponse().status == 200
        yield f"s3://{name}/daily/ibi"
    finally:
        server.stop()
