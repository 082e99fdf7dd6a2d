"""A mail server on loopback that does as it is told, and keeps what it gets. It shares no code with what it tests."""

from __future__ import annotations

import asyncio
import base64
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["CERTIFICATE", "MailServer", "mail_server", "trusting"]

CERTIFICATE = Path(__file__).with_name("mail_server.pem")
"""Key and certificate of 127.0.0.1, believed by nobody but these tests."""


def trusting() -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(CERTIFICATE))


@dataclass
class MailServer:
    """`answers` replace what is said to a command; None says nothing at all, and b"" hangs up."""

    answers: Mapping[str, bytes | None] = field(default_factory=dict)
    starttls: bool = True
    tls: bool = False
    port: int = 0
    commands: list[str] = field(default_factory=list)
    secured: list[bool] = field(default_factory=list)
    """For each command, whether the way was private."""
    users: list[tuple[str, str]] = field(default_factory=list)
    senders: list[str] = field(default_factory=list)
    recipients: list[str] = field(default_factory=list)
    messages: list[bytes] = field(default_factory=list)

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        private = self.tls
        try:
            await self._say(writer, "greeting", b"220 mail.example.org ESMTP")
            while line := (await reader.readline()).decode("ascii").rstrip("\r\n"):
                verb = line.partition(" ")[0].upper()
                self.commands.append(line)
                self.secured.append(private)
                await self._say(writer, verb, self._answer(verb, line, private=private))
                if verb == "STARTTLS" and self.starttls:
                    await self._secure(reader, writer)
                    private = True
                elif verb == "DATA":
                    self.messages.append(await reader.readuntil(b"\r\n.\r\n"))
                    await self._say(writer, "message", b"250 it is in good hands")
                elif verb == "QUIT":
                    return
        except (ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
            pass
        finally:
            writer.transport.abort()

    def _answer(self, verb: str, line: str, *, private: bool) -> bytes:
        match verb:
            case "EHLO":
                extensions = [b"AUTH PLAIN"] + ([b"STARTTLS"] if self.starttls and not private else [])
                return b"".join(b"250-%s\r\n" % each for each in [b"mail.example.org", *extensions]) + b"250 HELP"
            case "STARTTLS":
                return b"220 go ahead" if self.starttls else b"502 not here"
            case "AUTH":
                _, user, password = base64.b64decode(line.split(" ")[2]).decode().split("\0")
                self.users.append((user, password))
                return b"235 welcome"
            case "MAIL":
                self.senders.append(line)
                return b"250 go on"
            case "RCPT":
                self.recipients.append(line)
                return b"250 go on"
            case "DATA":
                return b"354 go on"
            case "QUIT":
                return b"221 bye"
        return b"250 fine"

    async def _say(self, writer: asyncio.StreamWriter, verb: str, usual: bytes) -> None:
        said = self.answers.get(verb, usual)
        if said == b"":
            raise ConnectionError
        if said is not None:
            writer.write(said + b"\r\n")
            await writer.drain()

    async def _secure(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await writer.start_tls(_context())


def _context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    return context


@contextmanager
def mail_server(
    answers: Mapping[str, bytes | None] | None = None, *, starttls: bool = True, tls: bool = False
) -> Iterator[MailServer]:
    """Up when entered, in a thread of its own."""
    server = MailServer(answers or {}, starttls=starttls, tls=tls)
    started, stop = threading.Event(), asyncio.Event()
    loop = asyncio.new_event_loop()

    async def run() -> None:
        listening = await asyncio.start_server(server.talk, "127.0.0.1", 0, ssl=_context() if tls else None)
        server.port = listening.sockets[0].getsockname()[1]
        started.set()
        await stop.wait()
        listening.close()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()

    thread = threading.Thread(target=lambda: loop.run_until_complete(run()))
    thread.start()
    try:
        assert started.wait(30)
        yield server
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(30)
        assert not thread.is_alive()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()
