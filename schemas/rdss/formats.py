"""The string formats of the data model, defined once for both validators.

The ``is_`` functions say whether the whole text has the form. White space, a line
feed at the end and digits outside of ASCII are not accepted.
"""

from __future__ import annotations

import re
from ipaddress import AddressValueError, IPv6Address
from typing import TYPE_CHECKING, Final

from schemas.message_timestamps import is_date_time

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_ATOM: Final = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]++"
_DOT_ATOM: Final = rf"{_ATOM}(?:\.{_ATOM})*+"
_QUOTED: Final = r'"(?:[\t \x21\x23-\x5b\x5d-\x7e]|\\[\t \x21-\x7e])*+"'
_LITERAL: Final = r"\[[\t \x21-\x5a\x5e-\x7e]*\]"
_ADDR_SPEC: Final = re.compile(rf"(?:{_DOT_ATOM}|{_QUOTED})@(?:{_DOT_ATOM}|{_LITERAL})")


def is_email(text: str) -> bool:
    """RFC 5322 section 3.4.1 ``addr-spec``, without comments, folding or obsolete forms.

    A domain needs no dot: ``person@net`` is valid.
    """
    return _ADDR_SPEC.fullmatch(text) is not None


_PLAIN: Final = r"A-Za-z0-9._~!$&'()*+,;=\-"
_ENCODED: Final = "%[0-9A-Fa-f]{2}"
_USER: Final = rf"(?:[{_PLAIN}:]++|{_ENCODED})*+"
_HOST: Final = rf"(?:[{_PLAIN}]++|{_ENCODED})*+"
_PATH: Final = rf"(?:[{_PLAIN}:@/]++|{_ENCODED})*+"
_TAIL: Final = rf"(?:[{_PLAIN}:@/?]++|{_ENCODED})*+"
_URI: Final = re.compile(
    r"[A-Za-z][A-Za-z0-9+.-]*:"
    rf"(?://(?:{_USER}@)?(?:\[(?P<literal>[^\]]*)\]|{_HOST})(?::[0-9]*)?(?:/{_PATH})?|(?!//){_PATH})"
    rf"(?:\?{_TAIL})?(?:\#{_TAIL})?"
)
_IP_FUTURE: Final = re.compile(rf"[vV][0-9A-Fa-f]+\.[{_PLAIN}:]+")


def is_uri(text: str) -> bool:
    """RFC 3986 section 3 ``URI``: the scheme is required, so a relative reference is not one."""
    found = _URI.fullmatch(text)
    if found is None:
        return False
    literal = found["literal"]
    return literal is None or is_ipv6(literal) or _IP_FUTURE.fullmatch(literal) is not None


_LONGEST_ADDRESS: Final = len("ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255")


def is_ipv6(text: str) -> bool:
    """RFC 4291 section 2.2, without the zone that RFC 4007 adds."""
    if len(text) > _LONGEST_ADDRESS:
        return False
    try:
        IPv6Address(text)
    except AddressValueError:
        return False
    return "%" not in text


def is_network_address(text: str) -> bool:
    """Any text but a blank one ("machineAddress").

    The specification takes "the hostname, IP address, or other identifying network address", and the forms
    of other networks' addresses have no end: a MAC address, an ARN, a name of a container.
    """
    return not text.isspace() and text != ""


FORMATS: Final[Mapping[str, Callable[[str], bool]]] = {
    "date-time": is_date_time,
    "email": is_email,
    "uri": is_uri,
    "network-address": is_network_address,
}
