"""TLS listeners out of the settings: Kafka's ssl.* keys, which listener.name.<listener>.ssl.* overrides."""

from __future__ import annotations

from barnabas.metadata.config_types import ConfigValue
from barnabas.net.tls_config import ClientAuth, StoreConfig, TlsConfig, TlsConfigError
from barnabas.server.listeners import ListenerAddress, SecurityProtocol
from barnabas.server.settings import Settings


def own_or_shared(settings: Settings, listener: str, name: str) -> ConfigValue:
    """Return a listener's own value of a key, else the one for all listeners."""
    own = settings.for_listener(listener, name)
    return settings.value(name) if own is None else own


def listener_tls(settings: Settings, address: ListenerAddress) -> TlsConfig | None:
    """Return how a listener does TLS; None when it does not.

    Raises:
        TlsConfigError: it cannot be; the text names the listener.
    """
    if address.security_protocol is not SecurityProtocol.SSL:
        return None

    def text(name: str) -> str | None:
        value = own_or_shared(settings, address.name, name)
        return value if isinstance(value, str) and value else None

    def texts(name: str) -> tuple[str, ...]:
        value = own_or_shared(settings, address.name, name)
        return tuple(map(str, value)) if isinstance(value, tuple) else ()

    timeout_ms = own_or_shared(settings, address.name, "ssl.handshake.timeout.ms")
    assert isinstance(timeout_ms, int)
    try:
        return TlsConfig(
            keystore=StoreConfig(
                prefix="ssl.keystore",
                type=text("ssl.keystore.type") or "JKS",
                location=text("ssl.keystore.location"),
                password=text("ssl.keystore.password"),
                key=text("ssl.keystore.key"),
                certificates=text("ssl.keystore.certificate.chain"),
            ),
            truststore=StoreConfig(
                prefix="ssl.truststore",
                type=text("ssl.truststore.type") or "JKS",
                location=text("ssl.truststore.location"),
                password=text("ssl.truststore.password"),
                certificates=text("ssl.truststore.certificates"),
            ),
            key_password=text("ssl.key.password"),
            client_auth=ClientAuth(text("ssl.client.auth") or "none"),
            enabled_protocols=texts("ssl.enabled.protocols"),
            cipher_suites=texts("ssl.cipher.suites"),
            handshake_timeout_ms=timeout_ms,
        )
    except TlsConfigError as error:
        raise TlsConfigError(f"listener {address.name}: {error}") from None
