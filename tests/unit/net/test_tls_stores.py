"""Keys and certificates as Kafka's users have them: what is read, and what refusals tell them."""

import ssl
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.serialization import pkcs12
from cryptography.x509 import load_pem_x509_certificate

from barnabas.net.tls_config import ClientAuth, StoreConfig, TlsConfig, TlsConfigError
from barnabas.net.tls_context import ListenerTls, make_context, openssl_name
from barnabas.net.tls_stores import STORE_BYTES_MAX
from tests.certificates import Certificates


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("certificates"))


def key_of(certificates: Certificates) -> str:
    return certificates.server.private_key_pem.bytes().decode()


def chain_of(certificates: Certificates) -> str:
    return "".join(pem.bytes().decode() for pem in certificates.server.cert_chain_pems)


def encrypted(certificates: Certificates, password: bytes) -> str:
    key = serialization.load_pem_private_key(key_of(certificates).encode(), None)
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(password),
    ).decode()


def tls(trust: StoreConfig | None = None, **keystore: object) -> TlsConfig:
    key_password = keystore.pop("key_password", None)
    client_auth = ClientAuth.NONE if trust is None else ClientAuth.REQUIRED
    return TlsConfig(
        keystore=StoreConfig(prefix="ssl.keystore", **keystore),  # type: ignore[arg-type]
        truststore=trust or StoreConfig(prefix="ssl.truststore"),
        key_password=key_password,  # type: ignore[arg-type]
        client_auth=client_auth,
    )


def write_pkcs12(certificates: Certificates, path: Path, password: bytes) -> None:
    key = serialization.load_pem_private_key(key_of(certificates).encode(), None)
    own = load_pem_x509_certificate(certificates.server.cert_chain_pems[0].bytes())
    authority = load_pem_x509_certificate(certificates.authority.cert_pem.bytes())
    encryption = serialization.BestAvailableEncryption(password)
    path.write_bytes(pkcs12.serialize_key_and_certificates(b"key", key, own, [authority], encryption))  # type: ignore[arg-type]


def test_pem_texts_are_taken_with_and_without_line_ends(certificates: Certificates) -> None:
    key, chain = key_of(certificates), chain_of(certificates)
    make_context(tls(type="PEM", key=key, certificates=chain))
    make_context(tls(type="PEM", key=key.replace("\n", " "), certificates=chain.replace("\n", " ")))


def test_an_encrypted_key_needs_its_password(certificates: Certificates, tmp_path: Path) -> None:
    path = tmp_path / "store.pem"
    path.write_text(chain_of(certificates) + encrypted(certificates, b"secret"))
    make_context(tls(type="PEM", location=str(path), key_password="secret"))
    with pytest.raises(TlsConfigError, match=r"encrypted: set ssl\.key\.password"):
        make_context(tls(type="PEM", location=str(path)))
    with pytest.raises(TlsConfigError, match=r"ssl\.key\.password right"):
        make_context(tls(type="PEM", location=str(path), key_password="wrong"))


@pytest.mark.parametrize("type_name", ["PKCS12", "JKS"])
def test_pkcs12_is_read_whichever_of_javas_names_it_has(
    certificates: Certificates, tmp_path: Path, type_name: str
) -> None:
    path = tmp_path / "store.p12"
    write_pkcs12(certificates, path, b"secret")
    trust = StoreConfig(prefix="ssl.truststore", type=type_name, location=str(path), password="secret")
    context = make_context(tls(trust, type=type_name, location=str(path), password="secret"))
    assert [entry["subject"] for entry in context.get_ca_certs()], "nobody is trusted"
    with pytest.raises(TlsConfigError, match=r"is ssl\.keystore\.password right"):
        make_context(tls(type=type_name, location=str(path), password="wrong"))


def test_pkcs12_without_its_library_tells_how_to_convert(
    certificates: Certificates, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "store.p12"
    write_pkcs12(certificates, path, b"secret")
    monkeypatch.setitem(__import__("sys").modules, "cryptography.hazmat.primitives", None)
    with pytest.raises(TlsConfigError, match=r"barnabas\[pkcs12\].*openssl pkcs12 -in"):
        make_context(tls(type="PKCS12", location=str(path), password="secret"))


@pytest.mark.parametrize(
    ("content", "type_name", "words"),
    [
        (b"\xfe\xed\xfe\xed\0\0\0\2", "JKS", "keytool -importkeystore"),
        (b"\xfe\xed\xfe\xed\0\0\0\2", "PEM", r"no PEM file: set ssl\.keystore\.type"),
        (b"-----BEGIN CERTIFICATE-----", "JKS", r"is a PEM file: set ssl\.keystore\.type=PEM"),
        (b"\x30\x82", "PKCS12", "password right"),
        (b"", "PEM", "no private key"),
        (b"-----BEGIN PRIVATE KEY-----", "PEM", "no certificate"),
        (b"x", "BKS", "only PEM, PKCS12 and JKS"),
        (bytes(STORE_BYTES_MAX + 1), "PEM", "larger than any store"),
        (None, "PEM", "cannot read .*store: No such file"),
    ],
)
def test_a_store_that_cannot_be_used_says_why(
    tmp_path: Path, content: bytes | None, type_name: str, words: str
) -> None:
    path = tmp_path / "store"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(TlsConfigError, match=words):
        make_context(tls(type=type_name, location=str(path)))


def test_a_key_of_another_certificate_is_refused(certificates: Certificates, tmp_path: Path) -> None:
    other = Certificates(tmp_path)
    with pytest.raises(TlsConfigError, match="KEY_VALUES_MISMATCH"):
        make_context(tls(type="PEM", key=key_of(other), certificates=chain_of(certificates)))


def test_file_and_texts_together_and_no_store_at_all_are_refused(certificates: Certificates) -> None:
    with pytest.raises(TlsConfigError, match="set one of them"):
        make_context(tls(type="PEM", location="x", key="y"))
    with pytest.raises(TlsConfigError, match="needs a key and a certificate"):
        tls(type="PEM")


@pytest.mark.parametrize(
    ("java", "openssl"),
    [
        ("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "ECDHE-RSA-AES128-GCM-SHA256"),
        ("TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305"),
        ("TLS_RSA_WITH_AES_256_CBC_SHA", "AES256-SHA"),
        ("TLS_DHE_RSA_WITH_AES_256_CBC_SHA256", "DHE-RSA-AES256-SHA256"),
        ("ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-AES128-GCM-SHA256"),
    ],
)
def test_suites_are_known_by_javas_names(certificates: Certificates, java: str, openssl: str) -> None:
    assert openssl_name(java) == openssl
    context = make_context(certificates.config(cipher_suites=(java,)))
    assert openssl in [suite["name"] for suite in context.get_ciphers()]
    assert context.maximum_version == ssl.TLSVersion.TLSv1_2, "suites of TLS 1.3 were not asked for"


def test_suites_and_versions_that_cannot_be_are_refused(certificates: Certificates) -> None:
    modern = ("TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_GCM_SHA256")
    only = make_context(certificates.config(cipher_suites=modern)).minimum_version
    assert only == ssl.TLSVersion.TLSv1_3
    for options, words in (
        ({"cipher_suites": modern[:1]}, "cannot choose among the suites"),
        ({"cipher_suites": ("TLS_NO_SUCH_SUITE",)}, "has no suite"),
        ({"cipher_suites": modern, "enabled_protocols": ("TLSv1.2",)}, "names no suite"),
        ({"enabled_protocols": ("TLSv1.1", "TLSv1.3")}, "between"),
        ({"enabled_protocols": ("SSLv3",)}, "SSLv3 is none of"),
        ({"handshake_timeout_ms": 0}, "at least 1"),
    ):
        with pytest.raises(TlsConfigError, match=words):
            make_context(certificates.config(**options))


def test_a_renewal_that_fails_leaves_what_was_there(certificates: Certificates, tmp_path: Path) -> None:
    kept = Certificates(tmp_path)
    listener = ListenerTls(kept.config())
    context = listener.context
    kept.keystore.write_text("no key")
    with pytest.raises(TlsConfigError):
        listener.check(kept.config())
    with pytest.raises(TlsConfigError):
        listener.renew(kept.config())
    assert listener.context is context
