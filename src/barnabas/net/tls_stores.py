"""Keys and certificates out of the stores that Kafka's users have, as PEM texts.

PEM needs no library. PKCS12 is read by `cryptography` where that is installed (the extra `pkcs12`), since
Python's ssl cannot. Java's own JKS is refused with the command that converts it: no maintained library
reads it, and Java itself has written PKCS12 by default since version 9.
"""

from barnabas.base.named_tuple import NamedTuple
from barnabas.net.tls_config import StoreConfig, TlsConfigError

STORE_BYTES_MAX = 16 * 1024 * 1024
"""More than all public authorities together; a wrong path must not fill memory."""

_JKS_MAGICS = (b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce")
_ASN1_SEQUENCE = b"\x30"
_PEM_LINE_CHARS = 64
_KEY_LABEL = "PRIVATE KEY-----"
_CERTIFICATE_BEGIN = "-----BEGIN CERTIFICATE-----"
_ENCRYPTED = ("BEGIN ENCRYPTED PRIVATE KEY", "Proc-Type: 4,ENCRYPTED")


class KeyPem(NamedTuple):
    """A private key with its certificate chain, the server's own certificate first."""

    text: str
    password: str | None


def read_key(store: StoreConfig, key_password: str | None) -> KeyPem:
    """Return a key store's private key and certificates.

    Raises:
        TlsConfigError: the store cannot be read, or lacks one of them.
    """
    if store.type.upper() == "PEM":
        text = _pem_text(store)
        if _KEY_LABEL not in text:
            raise TlsConfigError(f"{_place(store)} holds no private key in PEM")
        if _CERTIFICATE_BEGIN not in text:
            raise TlsConfigError(f"{_place(store)} holds no certificate in PEM")
        if key_password is None and any(mark in text for mark in _ENCRYPTED):
            raise TlsConfigError(f"the private key in {_place(store)} is encrypted: set ssl.key.password")
        return KeyPem(text, key_password)
    key, certificates = _read_pkcs12(store)
    if key is None:
        raise TlsConfigError(f"{_place(store)} holds no private key")
    return KeyPem(key + certificates, None)


def read_trusted(store: StoreConfig) -> str:
    """Return a trust store's certificates.

    Raises:
        TlsConfigError: the store cannot be read, or holds none.
    """
    text = _pem_text(store) if store.type.upper() == "PEM" else _read_pkcs12(store)[1]
    if _CERTIFICATE_BEGIN not in text:
        raise TlsConfigError(f"{_place(store)} holds no certificate")
    return text


def _pem_text(store: StoreConfig) -> str:
    if store.location is None:
        return _on_lines(store.key or "") + _on_lines(store.certificates or "")
    if store.key is not None or store.certificates is not None:
        raise TlsConfigError(f"{store.prefix}.location and PEM texts are both set: set one of them")
    data = _read(store, store.location)
    if data.startswith((*_JKS_MAGICS, _ASN1_SEQUENCE)):
        raise TlsConfigError(f"{store.location} is no PEM file: set {store.prefix}.type to what it is")
    return data.decode("utf-8", "replace")


def _on_lines(text: str) -> str:
    """Return PEM blocks as OpenSSL wants them: in a properties file they may have become one line each."""
    import re  # noqa: PLC0415 - a start reads a file as a rule

    found = []
    for label, body in re.findall(r"-----BEGIN ([A-Z0-9 ]+)-----(.*?)-----END \1-----", text, re.DOTALL):
        if ":" in body:
            body = f"\n{body.strip()}\n"  # headers of an old encrypted key need their own lines
        else:
            packed = "".join(body.split())
            lines = [packed[i : i + _PEM_LINE_CHARS] for i in range(0, len(packed), _PEM_LINE_CHARS)]
            body = "\n" + "\n".join(lines) + "\n"
        found.append(f"-----BEGIN {label}-----{body}-----END {label}-----\n")
    return "".join(found)


def _read_pkcs12(store: StoreConfig) -> tuple[str | None, str]:
    """Return the key, None without one, and the certificates of a PKCS12 file."""
    if store.type.upper() not in ("PKCS12", "JKS"):
        raise TlsConfigError(f"{store.prefix}.type={store.type}: only PEM, PKCS12 and JKS are known")
    if store.location is None:
        raise TlsConfigError(f"{store.prefix}.type={store.type} needs {store.prefix}.location; texts are PEM")
    data = _read(store, store.location)
    if data.startswith(_JKS_MAGICS):
        raise TlsConfigError(
            f"{store.location} is a JKS store, which only Java reads. Convert it: "
            f"keytool -importkeystore -srckeystore {store.location} -destkeystore store.p12"
            " -deststoretype pkcs12 && openssl pkcs12 -in store.p12 -nodes -out store.pem;"
            f" then set {store.prefix}.type=PEM"
        )
    if b"-----BEGIN " in data:
        raise TlsConfigError(f"{store.location} is a PEM file: set {store.prefix}.type=PEM")
    try:
        from cryptography.hazmat.primitives import serialization  # noqa: PLC0415 - optional
        from cryptography.hazmat.primitives.serialization import pkcs12  # noqa: PLC0415
    except ImportError:
        raise TlsConfigError(
            f"{store.location} is a PKCS12 store, and reading it needs the package cryptography "
            f"(pip install 'barnabas[pkcs12]'). Or convert it: openssl pkcs12 -in {store.location} -nodes "
            f"-out store.pem; then set {store.prefix}.type=PEM"
        ) from None
    password = None if store.password is None else store.password.encode("utf-8")
    try:
        found = pkcs12.load_pkcs12(data, password)
    except ValueError as error:
        raise TlsConfigError(f"{store.location}: {error}; is {store.prefix}.password right?") from None
    encoding = serialization.Encoding.PEM
    key = None
    if found.key is not None:
        key = found.key.private_bytes(
            encoding, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ).decode("ascii")
    entries = [entry for entry in (found.cert, *found.additional_certs) if entry is not None]
    return key, "".join(entry.certificate.public_bytes(encoding).decode("ascii") for entry in entries)


def _read(store: StoreConfig, path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            data = file.read(STORE_BYTES_MAX + 1)
    except OSError as error:
        raise TlsConfigError(f"{store.prefix}.location: cannot read {path}: {error.strerror}") from None
    if len(data) > STORE_BYTES_MAX:
        raise TlsConfigError(f"{store.prefix}.location: {path} is larger than any store")
    return data


def _place(store: StoreConfig) -> str:
    if store.location is not None:
        return store.location
    return f"{store.prefix}.key and {store.prefix}.certificate.chain" if store.key else store.prefix
