"""The grammar of labels: G Table 6.1 (repository name) and G Table 7.1 (IBIp), corrected by the errata.

The patterns accept exactly what the corrected tables derive, within the lengths of E4. Dates, ports and addresses are
judged afterwards by the two forms' own modules; `diagnosis` says what is wrong with a text that is refused.
"""

from __future__ import annotations

import re

FIRST_DATE = 807_235_200
"""1995-08-01T00:00:00Z, the month in which the first label was made; an IBIp counts seconds from here."""

UNWRITTEN_PORT = 800
"""The port that an IBIp leaves out; a repository name leaves out 80."""

MAX_WORD = 63
MAX_HOST = 253
MAX_LENGTH = 320
"""Host, port, date and thirty digits of a fraction fit into it; longer texts are refused unread."""

# word = ALPHANUM | (ALPHANUM *(ALPHANUM | "-") ALPHANUM), at most 63 characters (E4)
WORD = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
# last-word = ALPHA | (ALPHA *(ALPHANUM | "-") ALPHANUM)
_LAST_WORD = r"[A-Za-z](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
# subdomain = *(word ".") last-word ["."]; the last dot is dropped (E4)
_SUBDOMAIN = rf"(?:{WORD}\.){{0,126}}{_LAST_WORD}"
# prefix = subdomain "/" word [("." | "@") port]; the port is optional (E2) and has no leading zero (E4)
_PORT = r"[1-9][0-9]{0,4}"

_PREFIX = rf"({_SUBDOMAIN})\.?/({WORD})(?:([.@])({_PORT}))?"
REPOSITORY_PREFIX = re.compile(_PREFIX)

# suffix = year "/" month "." day "." hour "." minute ["." second]; second = 2DIGIT ["." fraction]
_SUFFIX = r"([0-9]{4}/[0-9]{2})\.([0-9]{2})\.([0-9]{2})\.([0-9]{2})(?:\.([0-9]{2})(?:\.([0-9]{1,30}))?)?"
REPOSITORY_SUFFIX = re.compile(_SUFFIX)
REPOSITORY_FORM = re.compile(f"{_PREFIX}/{_SUFFIX}")

# IBIp = word "/" word, made of the graphemes of G Table 7.6 in either case, with "W" or "X" between address and port
# and "W" between seconds and fraction (G Algorithms 5 and 6)
_NUMERAL = "[2-9A-HJ-NP-Ua-hj-np-u]"
# A prefix holds at most 34 + 1 + 4 graphemes (IPv6 text of 39 characters; port 65535), seconds until 9999 are 8, and a
# fraction of 30 digits 30: each bound is generous, and keeps the numbers small.
IBIP_FORM = re.compile(rf"({_NUMERAL}{{1,40}}[WXwx]{_NUMERAL}{{0,4}})/({_NUMERAL}{{1,8}})(?:[Ww]({_NUMERAL}{{1,30}}))?")
