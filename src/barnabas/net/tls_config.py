"""What a TLS listener is told, under Kafka's names; without importing ssl, so that plain listeners need not.

Key and certificates come as Apache Kafka takes them: a file with both in PEM (KIP-651), their texts in the
configuration itself, or a PKCS12 store. Where stores are read, `tls_stores.py` says what of that is possible.
"""

from barnabas.base.dataclass import dataclass
from barnabas.base.enums import Enum

PROTOCOLS = ("TLSv1", "TLSv1.1", "TLSv1.2", "TLSv1.3")
"""Oldest first."""

HANDSHAKE_TIMEOUT_MS = 10_000

TLS_READ_BYTES = 64 * 1024
"""Four records, and the size of the loop's staging buffer. From 16 to 128 KiB no size cost measurably less
processor time than another (benchmarks/tls.py, docs/performance.md)."""


class TlsConfigError(ValueError):
    """A TLS listener cannot be as it is configured; the text says why and what to do."""


class ClientAuth(Enum):
    """`ssl.client.auth`: whether a client shows a certificate."""

    NONE = "none"
    REQUESTED = "requested"
    """It may; one that does not verify is refused."""
    REQUIRED = "required"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreConfig:
    """`ssl.keystore.*` or `ssl.truststore.*`.

    Attributes:
        prefix: ssl.keystore or ssl.truststore, for messages.
        type: PEM, PKCS12 or JKS; by JKS Kafka's users mean either of the latter, since Java reads both.
        location: path of the store.
        password: of the store; for keys in PEM see TlsConfig.key_password.
        key: private key as PEM text; key stores only.
        certificates: certificate chain or trusted certificates as PEM text.
    """

    prefix: str
    type: str = "JKS"
    location: str | None = None
    password: str | None = None
    key: str | None = None
    certificates: str | None = None

    @property
    def is_set(self) -> bool:
        return self.location is not None or self.certificates is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsConfig:
    """How a listener does TLS.

    Attributes:
        key_password: of the private key.
        enabled_protocols: of PROTOCOLS.
        cipher_suites: names of the IANA, as Java has them, or of OpenSSL; empty: the library's choice.
        handshake_timeout_ms: who has not finished the handshake by then is hung up on.
    """

    keystore: StoreConfig
    truststore: StoreConfig
    key_password: str | None = None
    client_auth: ClientAuth = ClientAuth.NONE
    enabled_protocols: tuple[str, ...] = ("TLSv1.2", "TLSv1.3")
    cipher_suites: tuple[str, ...] = ()
    handshake_timeout_ms: int = HANDSHAKE_TIMEOUT_MS

    def __post_init__(self) -> None:
        if self.handshake_timeout_ms < 1:
            raise TlsConfigError("ssl.handshake.timeout.ms must be at least 1")
        unknown = [name for name in self.enabled_protocols if name not in PROTOCOLS]
        if unknown:
            raise TlsConfigError(
                f"ssl.enabled.protocols: {', '.join(unknown)} is none of {', '.join(PROTOCOLS)}"
            )
        if not self.keystore.is_set:
            raise TlsConfigError(
                "a TLS listener needs a key and a certificate:"
                " set ssl.keystore.type=PEM and ssl.keystore.location"
            )
