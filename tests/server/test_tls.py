"""TLS listeners of a whole broker: settings, refusals at start, certificates that change while it runs."""

import shutil
import socket
import ssl
from pathlib import Path

import pytest
from click.testing import CliRunner

from barnabas.cli.root import root
from barnabas.protocol import messages
from barnabas.server.broker import Broker, StartError
from barnabas.server.settings import SettingsError, load_settings
from tests.certificates import Certificates
from tests.server.test_broker import Running

LISTENERS = "listeners=PLAINTEXT://127.0.0.1:0,SSL://127.0.0.1:0"
BROKER = 4


def overrides(certificates: Certificates, prefix: str = "") -> list[str]:
    return [
        LISTENERS,
        *(f"{prefix}{name}={value}" for name, value in certificates.broker_overrides().items()),
    ]


def shown(running: Running, certificates: Certificates) -> str:
    """Return the common name of the certificate that the broker shows now."""
    port = next(address.port for address in running.broker.addresses if address.name == "SSL")
    context = certificates.client_context()
    with (
        socket.create_connection(("127.0.0.1", port), timeout=20) as plain,
        context.wrap_socket(plain, server_hostname="localhost") as peer,
    ):
        subject = peer.getpeercert()["subject"]
    return next(value for part in subject for name, value in part if name == "commonName")


def alter(running: Running, **configs: str) -> tuple[int, str]:
    """Set configs of the listener SSL; return the error's code and words."""
    changes = [
        messages.IncrementalAlterConfigsRequestAlterableConfig(
            name=f"listener.name.ssl.{name.replace('_', '.')}", config_operation=0, value=value
        )
        for name, value in configs.items()
    ]
    resource = messages.IncrementalAlterConfigsRequestAlterConfigsResource(
        resource_type=BROKER, resource_name="1", configs=changes
    )
    answer = running.ask(messages.IncrementalAlterConfigsRequest(resources=[resource]), 1)
    return answer.responses[0].error_code, answer.responses[0].error_message or ""


def test_certificates_change_while_the_broker_runs(tmp_path: Path) -> None:
    old = Certificates(tmp_path / "old", name="old")
    newer = Certificates(tmp_path / "newer", name="newer")
    with Running(tmp_path / "data", *overrides(old, "listener.name.ssl.")) as running:
        assert shown(running, old) == "old"
        assert alter(running, ssl_keystore_location=str(newer.keystore)) == (0, "")
        assert shown(running, newer) == "newer"
        # Another file behind the same name: setting it anew has it read, as with Apache Kafka.
        newest = Certificates(tmp_path / "newest", name="newest")
        shutil.copy(newest.keystore, newer.keystore)
        assert shown(running, newer) == "newer"
        assert alter(running, ssl_keystore_location=str(newer.keystore)) == (0, "")
        assert shown(running, newest) == "newest"
        code, words = alter(running, ssl_keystore_location=str(tmp_path / "missing"))
        assert (code, "cannot read" in words) == (42, True), words
        assert shown(running, newest) == "newest"
    # What was set is kept over a restart.
    with Running(tmp_path / "data", *overrides(old, "listener.name.ssl.")) as running:
        assert shown(running, newest) == "newest"


def test_commands_that_cannot_speak_tls_say_so(tmp_path: Path) -> None:
    with Running(tmp_path / "data", *overrides(Certificates(tmp_path))) as running:
        port = next(address.port for address in running.broker.addresses if address.name == "SSL")
        line = ["topics", "list", "-b", f"127.0.0.1:{port}", "--timeout", "0.5"]
        told = CliRunner().invoke(root, line)
    assert told.exit_code == 1
    assert "these commands speak plaintext only" in told.output


def test_a_listener_has_its_own_settings_before_the_shared_ones(tmp_path: Path) -> None:
    shared = Certificates(tmp_path / "shared", name="shared")
    own = Certificates(tmp_path / "own", name="own")
    given = [*overrides(shared), f"listener.name.ssl.ssl.keystore.location={own.keystore}"]
    with Running(tmp_path / "data", *given) as running:
        assert shown(running, own) == "own"
        with pytest.raises(ssl.SSLCertVerificationError):
            shown(running, shared)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([], "SSL: a TLS listener needs a key and a certificate"),
        (["ssl.keystore.location=/nowhere.pem", "ssl.keystore.type=PEM"], "cannot read /nowhere.pem"),
        (["ssl.enabled.protocols=SSLv3", "ssl.keystore.location=x"], "SSLv3 is none of"),
    ],
)
def test_tls_that_cannot_be_stops_the_start_with_words(tmp_path: Path, given: list[str], words: str) -> None:
    broker = Broker(load_settings(overrides=[f"log.dirs={tmp_path}", LISTENERS, *given]))
    with pytest.raises(StartError, match=words):
        broker.start()


def test_other_engines_and_sasl_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="OpenSSL"):
        load_settings(overrides=["ssl.engine.factory.class=x"])
    with pytest.raises(SettingsError, match="SASL_SSL is not supported yet"):
        load_settings(overrides=["listeners=SASL_SSL://127.0.0.1:0"])
