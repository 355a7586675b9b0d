"""Java's .properties format: what server.properties and meta.properties are written in."""

from __future__ import annotations

from barnabas.base.hints import Final

_BLANKS: Final = " \t\f"
_ESCAPES: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def parse_properties(text: str) -> dict[str, str]:
    """Return keys and values in order; a later line wins.

    Raises:
        ValueError: a malformed \\uXXXX escape; the text names the line.
    """
    found: dict[str, str] = {}
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    number = 0
    while number < len(lines):
        line = lines[number].lstrip(_BLANKS)
        number += 1
        first = number
        if not line or line[0] in "#!":
            continue
        # An odd number of backslashes at the end goes on in the next line, whose indent does not count.
        while (len(line) - len(line.rstrip("\\"))) % 2:
            line = line[:-1]
            if number == len(lines):
                break
            line += lines[number].lstrip(_BLANKS)
            number += 1
        try:
            key, value = _split(line)
        except ValueError as error:
            raise ValueError(f"line {first}: {error}") from None
        found[key] = value
    return found


def _split(line: str) -> tuple[str, str]:
    end = 0
    while end < len(line) and line[end] not in "=:" + _BLANKS:
        end += 2 if line[end] == "\\" else 1
    value = line[end:].lstrip(_BLANKS)
    if value[:1] in ("=", ":"):
        value = value[1:].lstrip(_BLANKS)
    return _unescape(line[:end]), _unescape(value)


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    pieces = []
    position = 0
    while position < len(text):
        character = text[position]
        position += 1
        if character != "\\":
            pieces.append(character)
            continue
        character = text[position : position + 1]
        position += 1
        if character == "u":
            digits = text[position : position + 4]
            if len(digits) < 4 or not all(digit in "0123456789abcdefABCDEF" for digit in digits):
                raise ValueError(f"malformed escape \\u{digits}")
            pieces.append(chr(int(digits, 16)))
            position += 4
        else:
            pieces.append(_ESCAPES.get(character, character))
    joined = "".join(pieces)
    # Characters beyond the basic plane are two escapes in Java.
    return joined.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
