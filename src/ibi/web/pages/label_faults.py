"""Faults in a label or a link, marked for translation: the reasons that parsing gives.

A test compares them with the reasons in the code; a reason that is not here is shown in English.
"""

from __future__ import annotations

from typing import Final

from ibi.web.pages.translation import message

REASONS: Final = (
    # ibi.label
    message("it is empty"),
    message("it is longer than any IBI ({most} characters)"),
    message("there is white space around it"),
    message("{character} does not occur in an IBI"),
    message("a repository name has four parts (sid.inpe.br/mtc-m18/2009/02.16.17.46), an IBIp two, this {count}"),
    message("a host name has at least two words, as in www.example.org"),
    message("a host name has at most {most} characters"),
    message("a port is a number, not {port}"),
    message("a port is at least 1"),
    message("a port is written without leading zeros"),
    message("a port is at most 65535"),
    message("the last word of a domain begins with a letter"),
    message("a word of the host name is missing"),
    message("a word of a host name has at most {most} characters"),
    message("{sign} does not occur in a host name"),
    message("a word of a host name neither begins nor ends with a hyphen"),
    message("a year has four digits, {year} has not"),
    message("a year lies between 1000 and 9999"),
    message("after the year come month, day, hour and minute, and perhaps second and fraction, with dots between"),
    message("{number} should be two digits"),
    message("there is no month {month}"),
    message("29 February does not exist in {year}"),
    message("{day} {month} does not exist"),
    message("there is no hour {hour}"),
    message("there is no minute {minute}"),
    message("there is no second {second}"),
    message("a fraction of a second consists of digits, {digits} does not"),
    message("a fraction of a second has at most {most} digits"),
    message("its first two parts are an IBIp; what follows them is a path"),
    message("an IBIp has two parts, as in 8JMKD3MGP8W/34PGRBS"),
    message("one of its two parts is missing"),
    message("{sign} does not occur in an IBIp"),
    message("before the slash there is exactly one W or X, between address and port"),
    message("the address before W or X is missing or begins with 2, the digit zero"),
    message("the port begins with 2, the digit zero"),
    message("port 800 is left out of an IBIp"),
    message("the port is greater than 65535"),
    message("what stands before the slash is no IP address"),
    message("after the slash there is at most one W, before a fraction of a second, and no X"),
    message("the seconds are missing or begin with 2, the digit zero"),
    message("the fraction of a second is missing or zero"),
    message("the fraction of a second ends in zero or has more than {most} digits"),
    message("the date lies after the year 9999"),
    message("no generator makes it"),
    # ibi.persistent_url
    message("there is no label in it"),
    message("punctuation follows the label; perhaps {suggestion} was meant"),
    message("{character} cannot follow the label"),
    message("a query holds no control characters"),
    message("{name} is there twice"),
    message("the only status that can be required is Original"),
    message("a path has no backslash"),
    message("a path has no control characters"),
    message("a path has no part . or .."),
    message("a path ends in the name of a file, not in /"),
    message("a part of the path is empty"),
    message("it holds half a surrogate pair"),
    message("it is longer than {most} characters"),
    # ibi.relation, as far as a link has one
    message(
        "last edition and translation come first, in either order and once each, then metadata, then a translation of"
        " it"
    ),
    message("a modifier is made of !, +, +(language), : and :(format)"),
    message("the verbs are GetLastEdition, GetTranslation, GetMetadata and GetFileList"),
    message("last edition takes nothing in parentheses"),
    message("a metadata format is a name such as oai_dc"),
    # ibi.languages
    message("a language is two letters, perhaps with a country, as in pt or pt-BR"),
    message("there is no language {language}"),
    message("there is no country {country}"),
    # ibi.web.resolver.view
    message("it can be {known} only"),
)
