"""The distinguished name of a peer's certificate, spelled as Java's X500Principal.getName() spells it.

That is the name Kafka's ACLs and `ssl.principal.mapping.rules` are written for: RFC 2253, most specific part
first, nine attributes by keyword, any other as its number and the value's bytes in hexadecimal. Python's
ssl gives names as text without the types of the values, which the last needs, so the certificate is read
here; OpenSSL has verified it before.
"""

from collections.abc import Iterator

_SEQUENCE, _SET, _OBJECT_ID = 0x30, 0x31, 0x06
_VERSION = 0xA0

_KEYWORDS = {
    "2.5.4.3": "CN",
    "2.5.4.7": "L",
    "2.5.4.8": "ST",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "2.5.4.6": "C",
    "2.5.4.9": "STREET",
    "0.9.2342.19200300.100.1.25": "DC",
    "0.9.2342.19200300.100.1.1": "UID",
}
_TEXT_ENCODINGS = {
    0x0C: "utf-8",  # UTF8String
    0x13: "ascii",  # PrintableString
    0x14: "latin-1",  # TeletexString
    0x16: "ascii",  # IA5String
    0x1C: "utf-32-be",  # UniversalString
    0x1E: "utf-16-be",  # BMPString
}
_ESCAPED = frozenset(',=+<>#;"\\')


class CertificateError(ValueError):
    """Bytes that are no certificate."""


def subject_of(certificate: bytes) -> str:
    """Return the subject of a certificate in DER.

    Raises:
        CertificateError: it is none.
    """
    try:
        _, whole, _ = _element(certificate, 0, len(certificate), _SEQUENCE)
        _, signed, signed_end = _element(certificate, whole, len(certificate), _SEQUENCE)
        position = signed
        if certificate[position] == _VERSION:
            position = _element(certificate, position, signed_end)[2]
        # Serial number, signature algorithm, issuer, validity.
        for _ in range(4):
            position = _element(certificate, position, signed_end)[2]
        _, subject, end = _element(certificate, position, signed_end, _SEQUENCE)
        parts = [
            "+".join(_attributes(certificate, start, stop))
            for _, start, stop in _elements(certificate, subject, end, _SET)
        ]
    except (IndexError, UnicodeDecodeError) as error:
        raise CertificateError(f"no certificate: {error}") from None
    return ",".join(reversed(parts))


def _attributes(data: bytes, position: int, end: int) -> Iterator[str]:
    for _, start, stop in _elements(data, position, end, _SEQUENCE):
        _, name, value = _element(data, start, stop, _OBJECT_ID)
        number = _object_id(data[name:value])
        kind, content, value_end = _element(data, value, stop)
        keyword = _KEYWORDS.get(number)
        encoding = _TEXT_ENCODINGS.get(kind)
        if keyword is None or encoding is None:
            yield f"{keyword or number}=#{data[value:value_end].hex()}"
        else:
            yield f"{keyword}={_escaped(data[content:value_end].decode(encoding))}"


def _escaped(text: str) -> str:
    escaped = "".join("\\" + character if character in _ESCAPED else character for character in text)
    if escaped.startswith(" "):
        escaped = "\\" + escaped
    if escaped.endswith(" ") and len(text) > 1:
        escaped = escaped[:-1] + "\\ "
    return escaped


def _element(data: bytes, position: int, limit: int, expected: int | None = None) -> tuple[int, int, int]:
    """Return kind, start and end of the content of the element at `position`."""
    kind, length = data[position], data[position + 1]
    start = position + 2
    if length & 0x80:
        count = length & 0x7F
        if not 1 <= count <= 4 or start + count > limit:
            raise CertificateError("no certificate: a length is malformed")
        length = int.from_bytes(data[start : start + count], "big")
        start += count
    if start + length > limit or expected not in (None, kind):
        raise CertificateError(f"no certificate: malformed at byte {position}")
    return kind, start, start + length


def _elements(data: bytes, position: int, end: int, expected: int) -> Iterator[tuple[int, int, int]]:
    while position < end:
        kind, start, stop = _element(data, position, end, expected)
        yield kind, start, stop
        position = stop


def _object_id(data: bytes) -> str:
    numbers: list[int] = []
    value = 0
    for byte in data:
        value = value << 7 | byte & 0x7F
        if not byte & 0x80:
            numbers.append(value)
            value = 0
    first = min(numbers[0] // 40, 2)
    return ".".join(map(str, (first, numbers[0] - 40 * first, *numbers[1:])))
