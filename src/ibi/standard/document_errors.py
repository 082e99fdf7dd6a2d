"""Errors in the input of a depositor. They quote the depositor's text, and give the reason."""

from __future__ import annotations

from ibi.standard.errors import ErrorKind, InvalidInput


class InvalidItem(InvalidInput):
    """{quoted} cannot be kept as it is: {reason}."""

    code = "invalid-item"


class InvalidMetadata(InvalidItem):
    """{quoted} cannot stand in a description: {reason}."""

    code = "invalid-metadata"


class InvalidNetwork(InvalidItem):
    """{quoted} is not a network: {reason}."""

    code = "invalid-network"


class InvalidFileName(InvalidItem):
    """The file {quoted} cannot be kept under this name: {reason}."""

    code = "invalid-file-name"


class InvalidDocument(InvalidInput):
    """{quoted} is not the record of an item: {reason}."""

    code = "invalid-document"
    kind = ErrorKind.INTERNAL


class UnreadMember(InvalidDocument):
    """{quoted} is not the record of an item: {reason}."""

    code = "unread-member"


class NewerDocument(InvalidDocument):
    """{quoted} was written by a newer version of this software: {reason}."""

    code = "newer-document"
