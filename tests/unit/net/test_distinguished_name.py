"""Names of certificates as Java spells them; the expected texts are a JVM's X500Principal.getName()."""

import contextlib
import datetime

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from barnabas.net.distinguished_name import CertificateError, subject_of

Attribute = tuple[x509.ObjectIdentifier, str]


def certificate(*parts: list[Attribute]) -> bytes:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name(
        [x509.RelativeDistinguishedName([x509.NameAttribute(*one) for one in part]) for part in parts]
    )
    now = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "issuer")]))
        .public_key(key.public_key())
        .serial_number(2**150)
        .not_valid_before(now)
        .not_valid_after(now + datetime.timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    return made.public_bytes(serialization.Encoding.DER)


CASES = [
    (
        [
            [(NameOID.COUNTRY_NAME, "DE")],
            [(NameOID.ORGANIZATION_NAME, "Acme, Inc.")],
            [(NameOID.ORGANIZATIONAL_UNIT_NAME, "a+b")],
            [(NameOID.COMMON_NAME, "Grüße")],
        ],
        "CN=Grüße,OU=a\\+b,O=Acme\\, Inc.,C=DE",
    ),
    ([[(NameOID.COMMON_NAME, ' #"x" <y>;\\ ')]], 'CN=\\ \\#\\"x\\" \\<y\\>\\;\\\\\\ '),
    ([[(NameOID.COMMON_NAME, "a"), (NameOID.USER_ID, "b")]], "CN=a+UID=b"),
    (
        [[(NameOID.DOMAIN_COMPONENT, "org")], [(NameOID.EMAIL_ADDRESS, "a@b.c")]],
        "1.2.840.113549.1.9.1=#16056140622e63,DC=org",
    ),
    (
        [
            [(NameOID.STATE_OR_PROVINCE_NAME, "S")],
            [(NameOID.LOCALITY_NAME, "L")],
            [(NameOID.STREET_ADDRESS, "1 St")],
            [(NameOID.SERIAL_NUMBER, "7")],
        ],
        "2.5.4.5=#130137,STREET=1 St,L=L,ST=S",
    ),
    ([], ""),
]


@pytest.mark.parametrize(("parts", "expected"), CASES)
def test_names_are_spelled_as_java_spells_them(parts: list[list[Attribute]], expected: str) -> None:
    assert subject_of(certificate(*parts)) == expected


def test_what_is_no_certificate_is_refused_and_nothing_else_happens() -> None:
    good = certificate([(NameOID.COMMON_NAME, "x")])
    for length in range(140):
        with pytest.raises(CertificateError):
            subject_of(good[:length])
    for position in range(120):
        for value in (0, 0x30, 0x80, 0x84, 0xFF):
            changed = bytearray(good)
            changed[position] = value
            with contextlib.suppress(CertificateError):
                subject_of(bytes(changed))
