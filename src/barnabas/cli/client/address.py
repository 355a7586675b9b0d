"""HOST:PORT as users write it."""

DEFAULT_PORT = 9092
PORT_MAX = 65535


def parse_address(text: str, *, default_port: int | None = DEFAULT_PORT) -> tuple[str, int]:
    """Split `host:port`, `[v6]:port`, `host` or `:port`.

    Args:
        default_port: taken when there is none; None makes the port compulsory.
    Returns:
        (host, port); host is "" for `:port`.
    Raises:
        ValueError: no port, or not a number from 0 to 65535, or an IPv6 address without brackets.
    """
    host, port_text = _split(text.strip())
    if port_text is None:
        if default_port is None:
            raise ValueError(f"{text!r} has no port; write HOST:PORT")
        return host, default_port
    if not (port_text.isascii() and port_text.isdigit()) or int(port_text) > PORT_MAX:
        raise ValueError(f"{text!r}: the port must be a number from 0 to {PORT_MAX}")
    return host, int(port_text)


def parse_bootstrap(text: str) -> list[tuple[str, int]]:
    """Return the addresses of a comma-separated list; ValueError when there is none."""
    found = [parse_address(part) for part in text.split(",") if part.strip()]
    if not found:
        raise ValueError("no bootstrap server given")
    return [(host or "localhost", port) for host, port in found]


def address_text(host: str, port: int) -> str:
    """Return `host:port`, with brackets around an IPv6 address."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _split(text: str) -> tuple[str, str | None]:
    if text.startswith("["):
        host, bracket, rest = text[1:].partition("]")
        if not bracket or (rest and not rest.startswith(":")):
            raise ValueError(f"{text!r}: write an IPv6 address as [ADDRESS]:PORT")
        return host, rest[1:] if rest else None
    if text.count(":") > 1:
        raise ValueError(f"{text!r}: write an IPv6 address as [ADDRESS]:PORT")
    host, colon, port = text.partition(":")
    return host, port if colon else None
