"""Messages of the protocol as values: requests ↔ query strings, answers ↔ lists of pairs (R §6 to §9)."""

from __future__ import annotations

from ibi.standard.messages.answers import (
    Answer,
    Confirmation,
    ErrorAnswer,
    ExclusionStatus,
    InclusionStatus,
    Notice,
    ServiceSubject,
    parse_answer,
    resolver_service,
    service_url,
    subject_of,
)
from ibi.standard.messages.identification import LabelForms, RegistrationKey, UrlKey
from ibi.standard.messages.membership import ExclusionRequest, InclusionConfirmationRequest, InclusionRequest
from ibi.standard.messages.registration import RegistrationMail
from ibi.standard.messages.requests import Acknowledgment, Request, UrlRequest, parse_request
from ibi.standard.messages.url_list import Deletion, UrlEntry, UrlList, parse_url_list
from ibi.standard.messages.values import (
    IpAddress,
    MissingPair,
    MissingSubject,
    RepeatedPair,
    UnknownSubject,
    decode_query,
    decode_url,
    decode_value,
    encode_query,
    encode_url,
    encode_value,
    ip_address,
    ip_addresses,
    value_of,
)
from ibi.standard.vocabulary import ArchiveProtocol, ContentType, State

__all__ = [
    "Acknowledgment",
    "Answer",
    "ArchiveProtocol",
    "Confirmation",
    "ContentType",
    "Deletion",
    "ErrorAnswer",
    "ExclusionRequest",
    "ExclusionStatus",
    "InclusionConfirmationRequest",
    "InclusionRequest",
    "InclusionStatus",
    "IpAddress",
    "LabelForms",
    "MissingPair",
    "MissingSubject",
    "Notice",
    "RegistrationKey",
    "RegistrationMail",
    "RepeatedPair",
    "Request",
    "ServiceSubject",
    "State",
    "UnknownSubject",
    "UrlEntry",
    "UrlKey",
    "UrlList",
    "UrlRequest",
    "decode_query",
    "decode_url",
    "decode_value",
    "encode_query",
    "encode_url",
    "encode_value",
    "ip_address",
    "ip_addresses",
    "parse_answer",
    "parse_request",
    "parse_url_list",
    "resolver_service",
    "service_url",
    "subject_of",
    "value_of",
]
