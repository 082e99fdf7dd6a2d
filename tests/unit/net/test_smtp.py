"""Letters through a mail server."""

from __future__ import annotations

import socket
from email import message_from_bytes
from email.header import decode_header, make_header

import pytest

from ibi.net.smtp import MailNotSent, MailSecurity, SmtpMailer
from ibi.standard.errors import InvalidMessage
from ibi.standard.mail import Letter
from tests.support.mail_server import MailServer, mail_server, trusting

LETTER = Letter("ana@example.org", "Cadastro confirmado — Ávila", "Olá, Ana.\n.\nAté logo.\n")
PASSWORD = "correct horse"


def mailer(
    server: MailServer, security: MailSecurity = MailSecurity.NONE, *, user: str | None = None, timeout: float = 30
) -> SmtpMailer:
    password = None if user is None else PASSWORD
    return SmtpMailer(
        "127.0.0.1", server.port, "register@example.org", security, user, password, timeout, trust=trusting()
    )


def test_a_letter_arrives_as_it_was_written() -> None:
    with mail_server() as server:
        mailer(server).send(LETTER)
    assert server.senders[0].startswith("mail FROM:<register@example.org>")
    assert server.recipients == ["rcpt TO:<ana@example.org>"]
    (raw,) = server.messages
    message = message_from_bytes(raw.removesuffix(b".\r\n").replace(b"\r\n..", b"\r\n."))
    assert message["From"] == "register@example.org"
    assert message["To"] == "ana@example.org"
    assert str(make_header(decode_header(message["Subject"]))) == LETTER.subject
    assert message["Message-ID"].endswith("@example.org>")
    assert message["Auto-Submitted"] == "auto-generated"
    assert message["Date"]
    payload = message.get_payload(decode=True)
    assert isinstance(payload, bytes)
    assert payload.decode().replace("\r\n", "\n") == LETTER.text


@pytest.mark.parametrize("security", [MailSecurity.STARTTLS, MailSecurity.TLS])
def test_user_and_password_travel_in_private(security: MailSecurity) -> None:
    with mail_server(tls=security is MailSecurity.TLS) as server:
        mailer(server, security, user="ibi").send(LETTER)
    assert server.users == [("ibi", PASSWORD)]
    private = {
        command.split()[0].upper() for command, safe in zip(server.commands, server.secured, strict=True) if safe
    }
    assert {"AUTH", "MAIL", "RCPT", "DATA"} <= private
    assert len(server.messages) == 1


def test_where_privacy_is_refused_nothing_is_sent() -> None:
    with mail_server(starttls=False) as server, pytest.raises(MailNotSent, match="STARTTLS"):
        mailer(server, MailSecurity.STARTTLS, user="ibi").send(LETTER)
    assert server.users == server.senders == server.messages == []


@pytest.mark.parametrize("security", [MailSecurity.STARTTLS, MailSecurity.TLS])
def test_a_server_without_a_trusted_certificate_gets_nothing(security: MailSecurity) -> None:
    with mail_server(tls=security is MailSecurity.TLS) as server:
        stranger = SmtpMailer("127.0.0.1", server.port, "register@example.org", security, "ibi", PASSWORD)
        with pytest.raises(MailNotSent, match="CERTIFICATE_VERIFY_FAILED"):
            stranger.send(LETTER)
    assert server.users == server.messages == []


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        ({"greeting": b"554 go away"}, "it says 554 go away"),
        ({"AUTH": b"535 no"}, "it does not accept the user and password"),
        ({"MAIL": b"550 not from you"}, "it says 550 not from you"),
        ({"RCPT": b"550 nobody here\x1b[31m"}, r"it says 550 nobody here \[31m"),
        ({"DATA": b"451 later"}, "it says 451 later"),
        ({"message": b"554 looks like spam"}, "it says 554 looks like spam"),
        ({"EHLO": b""}, "broken off"),
        ({"DATA": b""}, "broken off"),
        ({"RCPT": b"rubbish"}, "it says"),
    ],
)
def test_a_refusal_says_what_the_server_said(answers: dict[str, bytes | None], reason: str) -> None:
    with mail_server(answers) as server, pytest.raises(MailNotSent, match=reason) as refused:
        mailer(server, user="ibi").send(LETTER)
    assert PASSWORD not in str(refused.value)
    assert "\n" not in str(refused.value)
    assert str(refused.value).isprintable()


def test_a_server_that_says_nothing_is_not_waited_for_long() -> None:
    with mail_server({"greeting": None}) as server, pytest.raises(MailNotSent, match="in time"):
        mailer(server, timeout=0.2).send(LETTER)


def test_a_server_that_is_not_there_is_named() -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))  # not listening
        port = bound.getsockname()[1]
        nobody = SmtpMailer("127.0.0.1", port, "register@example.org", MailSecurity.NONE)
        with pytest.raises(MailNotSent, match=rf"ana@example\.org .* 127\.0\.0\.1:{port}: Connection refused"):
            nobody.send(LETTER)


@pytest.mark.parametrize(
    "address",
    [
        "ana@example.org\r\nBcc: eve@example.org",
        "ana@example.org, eve@example.org",
        "Ana <ana@example.org>",
        "ana@example.org> SIZE=1",
        "ana",
        "",
        "=?utf-8?q?ana?=@example.org",
    ],
)
def test_no_address_can_add_a_header_or_a_recipient(address: str) -> None:
    with pytest.raises(InvalidMessage):
        Letter(address, "s", "t")
    with pytest.raises(InvalidMessage):
        SmtpMailer("127.0.0.1", 25, address)


@pytest.mark.parametrize("subject", ["a\r\nBcc: eve@example.org", "a\nb", "a\0b", "a\u2028b"])
def test_no_subject_can_add_a_header(subject: str) -> None:
    with pytest.raises(ValueError, match="one line"):
        Letter("ana@example.org", subject, "t")


def test_the_text_can_end_neither_the_message_nor_its_head() -> None:
    text = "\n.\nRSET\nMAIL FROM:<eve@example.org>\r\n.\r\nBcc: eve@example.org\n\x00"
    with mail_server() as server:
        mailer(server).send(Letter("ana@example.org", "s", text))
    assert len(server.messages) == 1
    assert len(server.senders) == len(server.recipients) == 1
    assert "Bcc" not in message_from_bytes(server.messages[0])


def test_the_password_is_not_shown() -> None:
    shown = repr(SmtpMailer("127.0.0.1", 25, "register@example.org", MailSecurity.NONE, "ibi", PASSWORD))
    assert PASSWORD not in shown
