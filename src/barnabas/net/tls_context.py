"""From a TLS configuration to OpenSSL's context. Imported only when there is a TLS listener: it costs 5 ms.

Keys never touch a disk on their way: OpenSSL loads them from a file by name, so texts go through a file that
lives in memory only.
"""

import os

from barnabas.net.bare_ssl import ssl
from barnabas.net.tls_config import PROTOCOLS, ClientAuth, TlsConfig, TlsConfigError
from barnabas.net.tls_stores import KeyPem, read_key, read_trusted

_VERSIONS = {
    "TLSv1": ssl.PROTO_TLSv1,
    "TLSv1.1": ssl.PROTO_TLSv1_1,
    "TLSv1.2": ssl.PROTO_TLSv1_2,
    "TLSv1.3": ssl.PROTO_TLSv1_3,
}
_VERIFY = {
    ClientAuth.NONE: ssl.CERT_NONE,
    ClientAuth.REQUESTED: ssl.CERT_OPTIONAL,
    ClientAuth.REQUIRED: ssl.CERT_REQUIRED,
}
_TLS_1_3 = "TLSv1.3"


class ListenerTls:
    """What a listener's new connections do their handshakes with.

    Attributes:
        config: as it holds now.
        context: OpenSSL's, made of it.
    """

    __slots__ = ("_stamps", "config", "context")

    def __init__(self, config: TlsConfig) -> None:
        """Read the stores.

        Raises:
            TlsConfigError: they cannot be used.
        """
        self.config = config
        self.context = make_context(config)
        self._stamps = _stamps(config)

    def check(self, config: TlsConfig) -> None:
        """Try what `renew` would take over.

        Raises:
            TlsConfigError: it cannot be used.
        """
        if config != self.config or _stamps(config) != self._stamps:
            make_context(config)

    def renew(self, config: TlsConfig) -> bool:
        """Take over another configuration, or stores that have changed; return whether there was any.

        Connections that are there stay as they are.

        Raises:
            TlsConfigError: that cannot be used; what was there stays.
        """
        stamps = _stamps(config)
        if config == self.config and stamps == self._stamps:
            return False
        self.context = make_context(config)
        self.config, self._stamps = config, stamps
        return True


def _stamps(config: TlsConfig) -> tuple[tuple[int, int, int] | None, ...]:
    """Return what tells that the stores' files have changed: time, length and number."""
    found: list[tuple[int, int, int] | None] = []
    for path in (config.keystore.location, config.truststore.location):
        try:
            status = os.stat(path) if path is not None else None
        except OSError:
            status = None
        found.append(None if status is None else (status.st_mtime_ns, status.st_size, status.st_ino))
    return tuple(found)


def make_context(config: TlsConfig) -> ssl._SSLContext:
    """Read the stores and return a server's context.

    Raises:
        TlsConfigError: something of it cannot be.
    """
    context = ssl._SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_COMPRESSION
    _set_versions_and_suites(context, config)
    _load_key(context, read_key(config.keystore, config.key_password))
    if config.client_auth is not ClientAuth.NONE:
        _set_trust(context, config)
    context.verify_mode = _VERIFY[config.client_auth]
    return context


def _set_versions_and_suites(context: ssl._SSLContext, config: TlsConfig) -> None:
    enabled = [name for name in PROTOCOLS if name in config.enabled_protocols] or list(PROTOCOLS[-2:])
    if config.cipher_suites:
        modern = {str(suite["name"]) for suite in context.get_ciphers() if suite["protocol"] == _TLS_1_3}
        wanted = [name for name in config.cipher_suites if name in modern]
        older = [openssl_name(name) for name in config.cipher_suites if name not in modern]
        if not wanted:
            enabled = [name for name in enabled if name != _TLS_1_3]
        elif _TLS_1_3 in enabled and set(wanted) != modern:
            raise TlsConfigError(
                "ssl.cipher.suites: Python cannot choose among the suites of TLS 1.3: name all of "
                f"{', '.join(sorted(modern))}, or none and so leave TLS 1.3 out"
            )
        if not older:
            enabled = [name for name in enabled if name == _TLS_1_3]
        if not enabled:
            raise TlsConfigError("ssl.cipher.suites names no suite of a version in ssl.enabled.protocols")
        for name in older:
            _set_ciphers(context, name)  # alone: of several, unknown ones are passed over in silence
        if older:
            _set_ciphers(context, ":".join(older))
    lowest, highest = PROTOCOLS.index(enabled[0]), PROTOCOLS.index(enabled[-1])
    if highest - lowest >= len(enabled):
        raise TlsConfigError("ssl.enabled.protocols: a version between the oldest and the newest is left out")
    context.maximum_version = _VERSIONS[enabled[-1]]
    context.minimum_version = _VERSIONS[enabled[0]]


def _set_ciphers(context: ssl._SSLContext, names: str) -> None:
    try:
        context.set_ciphers(names)
    except ssl.SSLError:
        raise TlsConfigError(f"ssl.cipher.suites: OpenSSL has no suite {names}") from None


def openssl_name(suite: str) -> str:
    """Return OpenSSL's name of a suite before TLS 1.3, given the IANA's, which Java uses; others stay."""
    if not suite.startswith("TLS_") or "_WITH_" not in suite:
        return suite
    exchange, _, rest = suite.removeprefix("TLS_").partition("_WITH_")
    cipher = rest.replace("AES_", "AES").replace("CAMELLIA_", "CAMELLIA").replace("_CBC", "")
    cipher = cipher.replace("CHACHA20_POLY1305_SHA256", "CHACHA20_POLY1305").replace("3DES_EDE", "DES_CBC3")
    return "-".join(part.replace("_", "-") for part in (exchange, cipher) if part != "RSA")


def _load_key(context: ssl._SSLContext, key: KeyPem) -> None:
    memory = os.memfd_create("barnabas-key", os.MFD_CLOEXEC)
    try:
        os.write(memory, key.text.encode("utf-8"))
        # Without a password OpenSSL would ask on the terminal.
        context.load_cert_chain(f"/proc/self/fd/{memory}", password=key.password or "")
    except (ssl.SSLError, OSError, ValueError) as error:
        reason = getattr(error, "reason", None) or str(error)
        raise TlsConfigError(
            f"the key store cannot be used: {reason}; are key, certificate and ssl.key.password right?"
        ) from None
    finally:
        os.close(memory)


def _set_trust(context: ssl._SSLContext, config: TlsConfig) -> None:
    # Java trusts whatever certificate is in its store, an intermediate authority's too.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    if not config.truststore.is_set:
        context.set_default_verify_paths()
        return
    try:
        context.load_verify_locations(cadata=read_trusted(config.truststore))
    except (ssl.SSLError, ValueError) as error:
        reason = getattr(error, "reason", None) or str(error)
        raise TlsConfigError(f"the trust store cannot be used: {reason}") from None
