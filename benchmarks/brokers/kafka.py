"""Apache Kafka from its published jars, run as its own kafka-server-start runs it.

Heap and collector are those of bin/kafka-server-start.sh and bin/kafka-run-class.sh; thread counts and all
else are defaults. The oracle of the tests, which starts sooner but is slower afterwards, only formats the
directory.
"""

import functools

from benchmarks.brokers.server import Server, Transport
from benchmarks.programs import UnavailableError
from tests import toolchain
from tests.certificates import Certificates
from tests.oracle.kafka import SIMPLE_LOGGER, KafkaBroker, free_ports

HEAP = ("-Xmx1G", "-Xms1G")
PERFORMANCE = (
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-XX:MaxInlineLevel=15",
    "-Djava.awt.headless=true",
)


class KafkaServer(Server):
    """One process, broker and controller."""

    name = "Apache Kafka"
    warm_up_s = 12.0
    may_pause = False  # controller and broker would time each other out; idle it takes 3% of a processor
    remark = f"{' '.join(HEAP)}, G1, default threads, warmed up for {warm_up_s:.0f} s"

    def check_available(self) -> None:
        try:
            toolchain.kafka_classpath()
        except toolchain.ToolchainMissingError as missing:
            raise UnavailableError(str(missing)) from None

    def version(self) -> str:
        (jar,) = toolchain.kafka_jars().glob("kafka-server-4*.jar")
        found = toolchain.java_version(toolchain.java_command()).splitlines()[0]
        return f"{jar.stem.removeprefix('kafka-server-')} on {found}"

    @functools.cached_property
    def _oracle(self) -> KafkaBroker:
        plain, tls = free_ports(2)
        self.ports = {Transport.PLAIN: plain, Transport.TLS: tls}
        certificates = Certificates(self.directory / "certificates")
        oracle = KafkaBroker(self.directory)
        oracle.port = plain
        pem = self.directory / "certificates" / "server-pkcs8.pem"
        pem.write_bytes(pkcs8(certificates))
        # The oracle's shortcuts for tests are taken back: these are Kafka's defaults.
        oracle._overrides = {
            "listeners": f"PLAINTEXT://127.0.0.1:{plain},SSL://127.0.0.1:{tls},"
            f"CONTROLLER://127.0.0.1:{oracle.controller_port}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{plain},SSL://127.0.0.1:{tls}",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(pem),
            "num.network.threads": "3",
            "num.io.threads": "8",
            "offsets.topic.num.partitions": "50",
            "group.initial.rebalance.delay.ms": "3000",
            "log.initial.task.delay.ms": "30000",
            "log.cleaner.dedupe.buffer.size": "134217728",
            **self.overrides,
        }
        return oracle

    def prepare(self) -> None:
        if not self._oracle.formatted:
            self._oracle.format()
        self._oracle.write_properties()

    def command(self) -> list[str]:
        return [
            toolchain.java_command(),
            *HEAP,
            *PERFORMANCE,
            f"{SIMPLE_LOGGER}.defaultLogLevel=warn",
            "-cp",
            toolchain.kafka_classpath(),
            "kafka.Kafka",
            str(self._oracle.properties_path),
        ]


def pkcs8(certificates: Certificates) -> bytes:
    """Return the server's key and chain with the key in PKCS #8, the only kind that Java reads."""
    from cryptography.hazmat.primitives import serialization

    key = serialization.load_pem_private_key(certificates.server.private_key_pem.bytes(), None)
    text = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return text + b"".join(pem.bytes() for pem in certificates.server.cert_chain_pems)
