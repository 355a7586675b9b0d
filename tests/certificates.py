"""Certificates of a throw-away authority, as files and texts that brokers and clients take."""

import ssl
from pathlib import Path

import trustme
from cryptography.hazmat.primitives import serialization

from barnabas.net.tls_config import ClientAuth, StoreConfig, TlsConfig

NAMES = ("localhost", "127.0.0.1")


class Certificates:
    """An authority, a server's and a client's certificate, in a directory.

    Attributes:
        keystore: PEM file with the server's key and chain.
        truststore: PEM file with the authority.
        client_store: PEM file with the client's key and chain.
        client_pkcs8: the same with the key in PKCS #8, the only kind that Java reads.
    """

    def __init__(self, directory: Path, *, name: str = "broker") -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.authority = trustme.CA(organization_name="Barnabas tests")
        self.server = self.authority.issue_cert(*NAMES, common_name=name)
        self.client = self.authority.issue_cert("client.example", common_name="a client, of sorts")
        self.keystore = directory / "server.pem"
        self.truststore = directory / "authority.pem"
        self.client_store = directory / "client.pem"
        self.client_pkcs8 = directory / "client-pkcs8.pem"
        self.server.private_key_and_cert_chain_pem.write_to_path(self.keystore)
        self.authority.cert_pem.write_to_path(self.truststore)
        self.client.private_key_and_cert_chain_pem.write_to_path(self.client_store)
        key = serialization.load_pem_private_key(self.client.private_key_pem.bytes(), None).private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        self.client_pkcs8.write_bytes(key + b"".join(pem.bytes() for pem in self.client.cert_chain_pems))

    def config(self, client_auth: ClientAuth = ClientAuth.NONE, **more: object) -> TlsConfig:
        """Return a listener's TLS."""
        return TlsConfig(
            keystore=StoreConfig(prefix="ssl.keystore", type="PEM", location=str(self.keystore)),
            truststore=StoreConfig(prefix="ssl.truststore", type="PEM", location=str(self.truststore)),
            client_auth=client_auth,
            **more,  # type: ignore[arg-type]
        )

    def client_context(self, *, with_certificate: bool = False) -> ssl.SSLContext:
        """Return what a client that trusts the authority connects with."""
        context = ssl.create_default_context()
        self.authority.configure_trust(context)
        if with_certificate:
            self.client.configure_cert(context)
        return context

    def broker_overrides(self) -> dict[str, str]:
        """Return a broker's settings, for files in PEM."""
        return {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(self.keystore),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.truststore),
        }
