"""Values in place of personal ones: each of the kind and the length of what it stands for.

The same value becomes the same one, and values that differ stay different, for as long as there is the key:
a short value is moved by a keyed permutation of all values of its form, a long one is drawn by its keyed
hash. Letters stay letters of their alphabet and case, digits stay digits; what is neither stays as it is.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from datetime import date, timedelta
from functools import cache, lru_cache
from hashlib import blake2b, shake_256
from ipaddress import AddressValueError, IPv6Address
from typing import Final

Accepts = Callable[[str], bool]

_KEPT_IN_MEMORY: Final = 100_000
_LARGE: Final = 2**64
"""From so many values of a form on, a keyed hash gives two of them one pseudonym in no tape."""
_ROUNDS: Final = 8
_WALKS: Final = 200
_DAY: Final = 24 * 60 * 60
_DIGITS: Final = "0123456789"
_HEX: Final = "0123456789abcdef"
_BASE64: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_REPLACED: Final = frozenset("LNM") | {"So"}
"""The categories of Unicode, or their first letters, whose characters say something."""
_WHOLE_RANGES: Final = (range(0x4E00, 0xA000), range(0xAC00, 0xD7A4))
"""The ideographs and the syllables of Hangul: in a page of 256 a name could be guessed."""
_RESOLVERS: Final = frozenset(
    {"orcid.org", "isni.org", "www.isni.org", "doi.org", "dx.doi.org", "hdl.handle.net"}
)
"""Hosts that tell the scheme of an identifier, and nobody's address."""


class Pseudonyms:
    """``key`` has at most 64 bytes. Nobody who has it not can go back."""

    def __init__(self, key: bytes) -> None:
        self._key: Final = key
        self._replace: Final = lru_cache(_KEPT_IN_MEMORY)(self._replace_kind)

    def replace(self, text: str, accepts: Accepts | None = None) -> str:
        """The pseudonym of a text.

        ``accepts`` says which texts may stand there: if it accepts the text, it accepts the pseudonym, which
        for that keeps as many of the characters as it must.
        """
        new = self._replace(text)
        if accepts is None or accepts(new) or not accepts(text):
            return new
        for _ in range(_WALKS):
            new = self._replace(new)
            if accepts(new):
                return new
        return self._replace_singly(text, accepts)

    def replace_number(self, literal: str, accepts: Accepts | None = None) -> str:
        """The pseudonym of a number as JSON writes it, with as many digits; its exponent and zeros stay."""
        mantissa, mark, exponent = _split_once(literal, "eE")
        whole, point, decimals = mantissa.partition(".")
        digits = whole.lstrip("-")
        pools: list[str | None] = [None] * (len(whole) - len(digits))
        pools += [_pool_of_first(digits[0]), *(_DIGITS for _ in digits[1:])]
        if decimals:
            pools += [None, *(_DIGITS for _ in decimals[1:]), _pool_of_first(decimals[-1])]

        def move(number: str) -> str:
            return self._substitute(number, pools)

        new = move(whole + point + decimals)
        for _ in range(_WALKS):
            if accepts is None or accepts(new + mark + exponent):
                return new + mark + exponent
            new = move(new)
        return new + mark + exponent if not (accepts and accepts(literal)) else literal

    def choose(self, value: str, choices: Iterable[str]) -> str:
        """One of the choices that are as long in UTF-8 as a value, which is one of them."""
        size = len(value.encode())
        alike = sorted(choice for choice in set(choices) if len(choice.encode()) == size)
        return alike[self._permute(alike.index(value), len(alike))]

    def draw_bytes(self, data: bytes) -> bytes:
        """As many bytes."""
        return shake_256(self._key + b"bytes" + data).digest(len(data))

    def draw_fraction(self, text: str) -> float:
        """A number from 0 up to 1 that a text always gives."""
        return int.from_bytes(blake2b(text.encode(), key=self._key, digest_size=6).digest(), "big") / 2**48

    def _replace_kind(self, text: str) -> str:
        for pattern, replace in _KINDS:
            found = pattern.fullmatch(text)
            if found is not None:
                new = replace(self, found)
                if new is not None:
                    return new
        return self._substitute(text, [_find_pool(letter) for letter in text])

    def replace_uuid(self, found: re.Match[str]) -> str:
        """The version and the variant of a UUID stay."""
        text = found[0]
        pools: list[str | None] = [_pool_of_hex(text) if letter != "-" else None for letter in text]
        pools[14] = pools[19] = None
        return self._substitute(text, pools)

    def replace_checked(self, found: re.Match[str]) -> str | None:
        """An ORCID or ISNI gets the check character of ISO 7064 MOD 11-2; None where the text has another."""
        text = found[0]
        if _check_character(text[:-1]) != text[-1]:
            return None
        new = self._substitute(text[:-1], [_DIGITS if letter != "-" else None for letter in text[:-1]])
        return new + _check_character(new)

    def replace_time(self, found: re.Match[str]) -> str | None:
        """A day stays in its century, a time of day and its decimals become others, the zone stays."""
        year, month, day = int(found[1]), int(found[2]), int(found[3])
        try:
            old = date(year, month, day)
        except ValueError:
            return None
        first = date(max(year // 100 * 100, 1), 1, 1)
        days = (date(year // 100 * 100 + 99, 12, 31) - first).days + 1
        moved = first + timedelta(days=self._permute((old - first).days, days))
        if found[4] is None:
            return moved.isoformat()
        hour, minute, second = int(found[5]), int(found[6]), int(found[7])
        if hour > 23 or minute > 59 or second > 59:
            return None
        at = self._permute(hour * 3600 + minute * 60 + second, _DAY)
        decimals = found[8] or ""
        decimals = self._substitute(decimals, [_DIGITS if each != "." else None for each in decimals])
        clock = f"{at // 3600:02}:{at // 60 % 60:02}:{at % 60:02}"
        return f"{moved.isoformat()}{found[4]}{clock}{decimals}{found[9] or ''}"

    def replace_ipv4(self, found: re.Match[str]) -> str | None:
        return ".".join(self._replace_octet(each) for each in found[0].split("."))

    def _replace_octet(self, octet: str) -> str:
        low = {1: 0, 2: 10, 3: 100}[len(octet)]
        size = {1: 10, 2: 90, 3: 156}[len(octet)]
        return str(low + self._permute(int(octet) - low, size))

    def replace_ipv6(self, found: re.Match[str]) -> str | None:
        text = found[0]
        try:
            IPv6Address(text)
        except AddressValueError:
            return None
        pool = _pool_of_hex(text)
        return self._substitute(text, [pool if letter in pool else None for letter in text])

    def replace_mail(self, found: re.Match[str]) -> str:
        """Who had the same domain still has."""
        return f"{self._replace(found[1])}@{self._replace(found[2])}"

    def replace_url(self, found: re.Match[str]) -> str:
        """The scheme stays, and each part between two delimiters becomes another by itself."""
        host = found[2] or ""
        kept = host if host.lower() in _RESOLVERS else self._replace_between(host)
        return f"{found[1]}{kept}{self._replace_between(found[3])}"

    def _replace_between(self, text: str) -> str:
        parts = _DELIMITERS.split(text)
        return "".join(part if at % 2 else self._replace_escaped(part) for at, part in enumerate(parts))

    def _replace_escaped(self, text: str) -> str:
        """A part of a URL, in which a byte may be written as % and two digits."""
        if "%" not in text:
            return self._replace(text)
        pieces = _ESCAPED.split(text)
        return "".join(
            self._replace_byte(piece, text) if at % 2 else self._replace(piece)
            for at, piece in enumerate(pieces)
        )

    def _replace_byte(self, escaped: str, whole: str) -> str:
        byte = int(escaped[1:], 16)
        if byte >= 0xC0:
            return escaped  # the first byte of a character: it says which page of Unicode, and no more
        pool = bytes(range(0x80, 0xC0)) if byte >= 0x80 else (_find_pool(chr(byte)) or chr(byte)).encode()
        drawn = pool[int(self.draw_fraction(whole + escaped) * len(pool))]
        return f"%{drawn:02X}" if escaped[1:].upper() == escaped[1:] else f"%{drawn:02x}"

    def replace_hex(self, found: re.Match[str]) -> str:
        text = found[0]
        return self._substitute(text, [_pool_of_hex(text)] * len(text))

    def replace_base64(self, found: re.Match[str]) -> str:
        """What follows decodes as well: the last letter has no bits that the padding leaves over."""
        text, padding = found[1], found[2]
        pools: list[str | None] = [_BASE64] * len(text)
        pools[-1] = _BASE64[:: 4 if len(padding) == 1 else 16]
        if text[-1] not in _BASE64[:: 4 if len(padding) == 1 else 16]:
            pools[-1] = None
        return self._substitute(text, pools) + padding

    def _replace_singly(self, text: str, accepts: Accepts) -> str:
        """Replace each character for which there is another one with which the text is accepted."""
        draws = shake_256(self._key + text.encode(errors="surrogatepass")).digest(len(text))
        new = list(text)
        for at, letter in enumerate(text):
            pool = _find_pool(letter) or ""
            others = [each for each in pool[draws[at] % (len(pool) or 1) :] + pool if each != letter]
            for other in others[: len(pool)]:
                new[at] = other
                if accepts("".join(new)):
                    break
                new[at] = letter
        return "".join(new)

    def _substitute(self, text: str, pools: Sequence[str | None]) -> str:
        """Replace each character by one of its pool; None keeps it."""
        size = 1
        for pool in pools:
            size *= len(pool) if pool else 1
            if size >= _LARGE:
                return self._draw(text, pools)
        number = 0
        for letter, pool in zip(text, pools, strict=True):
            if pool:
                number = number * len(pool) + pool.index(letter)
        number = self._permute(number, size)
        new = []
        for letter, pool in zip(reversed(text), reversed(pools), strict=True):
            if pool:
                number, at = divmod(number, len(pool))
            new.append(pool[at] if pool else letter)
        return "".join(reversed(new))

    def _draw(self, text: str, pools: Sequence[str | None]) -> str:
        draws = shake_256(self._key + text.encode(errors="surrogatepass")).digest(4 * len(text))
        numbers = memoryview(draws).cast("I")
        return "".join(
            pool[number % len(pool)] if pool else letter
            for letter, pool, number in zip(text, pools, numbers, strict=True)
        )

    def _permute(self, number: int, size: int) -> int:
        """A Feistel network over the numbers below a power of four, walked until it is below ``size``."""
        if size < 2:
            return number
        half = ((size - 1).bit_length() + 1) // 2
        mask = (1 << half) - 1
        while True:
            left, right = number >> half, number & mask
            for turn in range(_ROUNDS):
                drawn = blake2b(b"%d %d %d" % (size, turn, right), key=self._key, digest_size=4).digest()
                left, right = right, left ^ (int.from_bytes(drawn, "big") & mask)
            number = left << half | right
            if number < size:
                return number


def _split_once(text: str, marks: str) -> tuple[str, str, str]:
    at = next((at for at, letter in enumerate(text) if letter in marks), len(text))
    return text[:at], text[at : at + 1], text[at + 1 :]


def _pool_of_first(digit: str) -> str | None:
    """What the first digit of a number, or the last of its decimals, may be: a zero there means another."""
    return None if digit == "0" else _DIGITS[1:]


def _pool_of_hex(text: str) -> str:
    return _HEX.upper() if text.upper() == text else _HEX


def _check_character(digits: str) -> str:
    """ISO 7064 MOD 11-2, of the digits before it."""
    total = 0
    for digit in digits.replace("-", ""):
        total = (total + int(digit)) * 2 % 11
    left = (12 - total) % 11
    return "X" if left == 10 else str(left)


@cache
def _find_pool(letter: str) -> str | None:
    """The characters of the same page, category and length in UTF-8; None for one that stays."""
    kind = unicodedata.category(letter)
    if kind not in _REPLACED and kind[0] not in _REPLACED:
        return None
    code = ord(letter)
    for span in _WHOLE_RANGES:
        if code in span:
            return _list_alike(span, kind)
    size = len(letter.encode())
    page = code & ~0xFF
    low = {1: 0, 2: 0x80, 3: 0x800, 4: 0x10000}[size]
    high = {1: 0x80, 2: 0x800, 3: 0x10000, 4: 0x110000}[size]
    return _list_alike(range(max(page, low), min(page + 0x100, high)), kind)


@cache
def _list_alike(codes: range, kind: str) -> str:
    return "".join(chr(code) for code in codes if unicodedata.category(chr(code)) == kind)


_DELIMITERS: Final = re.compile(r"([/?#&=:@;,]+)")
_ESCAPED: Final = re.compile(r"(%[0-9A-Fa-f]{2})")
_OCTET: Final = r"(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_UUID: Final = r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"
_DATE: Final = r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
_CLOCK: Final = r"([0-9]{2}):([0-9]{2}):([0-9]{2})(\.[0-9]+)?(Z|z|[+-][0-9:]+)?"
_KINDS: Final[tuple[tuple[re.Pattern[str], Callable[[Pseudonyms, re.Match[str]], str | None]], ...]] = (
    (re.compile(_UUID), Pseudonyms.replace_uuid),
    (re.compile(r"(?:[0-9]{4}-){3}[0-9]{3}[0-9X]|[0-9]{15}[0-9X]"), Pseudonyms.replace_checked),
    (re.compile(rf"{_DATE}(?:([Tt ]){_CLOCK})?"), Pseudonyms.replace_time),
    (re.compile(rf"{_OCTET}(?:\.{_OCTET}){{3}}"), Pseudonyms.replace_ipv4),
    (re.compile(r"[0-9A-Fa-f]*:[0-9A-Fa-f:.]*"), Pseudonyms.replace_ipv6),
    (re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*://)([^/?#]*)(.*)", re.DOTALL), Pseudonyms.replace_url),
    (re.compile(r"((?:mailto|tel|doi|urn:uuid|urn):)()(\S*)"), Pseudonyms.replace_url),
    (re.compile(r"([^@\s]+)@([^@\s]+)"), Pseudonyms.replace_mail),
    (re.compile(r"[0-9a-f]{16,}|[0-9A-F]{16,}"), Pseudonyms.replace_hex),
    (re.compile(r"((?:[A-Za-z0-9+/]{4})*[A-Za-z0-9+/]{2,3})(={1,2})"), Pseudonyms.replace_base64),
)
"""The kinds whose form is more than that of their characters."""
