"""What the kernel allows: servers that do nothing but answer with a slice of a file, or with fixed bytes.

The sendfile loop is one level-triggered epoll loop in C, two system calls a request. nginx serves the same
file over HTTP, with one worker, since the loop and Barnabas have one; both send what lies in the page cache.
"""

import re
import shutil
import subprocess
from pathlib import Path

from benchmarks.brokers.barnabas import certificates_of
from benchmarks.brokers.server import Kind, Server, Transport
from benchmarks.programs import UnavailableError, program
from tests.oracle.kafka import free_ports

MIB = 1 << 20
FILE_BYTES = 64 * MIB


class FloorServer(Server):
    """`floor.c`: a request says how many bytes it wants, and whether of the file."""

    name = "sendfile loop"
    kind = Kind.FLOOR
    remark = "floor: epoll, sendfile or send, nothing else"

    def check_available(self) -> None:
        program("floor")

    def version(self) -> str:
        return "benchmarks/load/floor.c"

    def command(self) -> list[str]:
        return [str(program("floor")), "0", str(slice_file(self.directory))]

    def prepare(self) -> None:
        self.log_path.unlink(missing_ok=True)

    def is_ready(self) -> bool:
        found = re.search(r"listening (\d+)\n", self.log_tail())
        if found is not None:
            self.ports = {Transport.PLAIN: int(found[1])}
        return found is not None


def floor_request(answer_bytes: int, *, of_file: bool, request_bytes: int = 100) -> bytes:
    """Return the body of a request to the floor."""
    asked = answer_bytes.to_bytes(4, "big") + bytes([of_file])
    return asked.ljust(request_bytes, b"\0")


class NginxServer(Server):
    """nginx, one worker, sendfile, no access log."""

    name = "nginx"
    kind = Kind.FLOOR
    remark = "floor: a file over HTTP, one worker"

    def check_available(self) -> None:
        if self._binary() is None:
            raise UnavailableError("nginx is not installed (Debian, as root: apt-get install nginx-light)")

    def _binary(self) -> str | None:
        return shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")

    def version(self) -> str:
        done = subprocess.run([str(self._binary()), "-v"], capture_output=True, text=True, check=True)
        return done.stderr.strip().rpartition("/")[2]

    def prepare(self) -> None:
        if not self.ports:
            plain, tls = free_ports(2)
            self.ports = {Transport.PLAIN: plain, Transport.TLS: tls}
        files = self.directory / "files"
        files.mkdir(exist_ok=True)
        source = slice_file(self.directory)
        for size in (MIB, 16 * MIB):
            with source.open("rb") as whole:
                (files / f"{size}").write_bytes(whole.read(size))
        pem = certificates_of(self.directory)
        (self.directory / "nginx.conf").write_text(
            f"""daemon off; worker_processes 1; pid nginx.pid; error_log stderr;
user root;
events {{ worker_connections 4096; }}
http {{
    access_log off; sendfile on; tcp_nodelay on; keepalive_requests 1000000000; default_type text/plain;
    client_body_temp_path tmp; proxy_temp_path tmp; fastcgi_temp_path tmp; uwsgi_temp_path tmp; scgi_temp_path
    tmp; server {{ listen 127.0.0.1:{self.ports[Transport.PLAIN]}; listen
    127.0.0.1:{self.ports[Transport.TLS]} ssl; ssl_certificate {pem}; ssl_certificate_key {pem}; root {files};
    }} }}
"""
        )

    def command(self) -> list[str]:
        return [str(self._binary()), "-p", str(self.directory), "-c", "nginx.conf", "-e", "stderr"]

    def is_ready(self) -> bool:
        return (self.directory / "nginx.pid").exists()


def slice_file(directory: Path) -> Path:
    """Return a file of bytes that do not repeat soon, made the first time."""
    path = directory / "slices"
    if not path.exists():
        block = bytes(range(251)) * (MIB // 251 + 1)
        with path.open("wb") as file:
            for _ in range(FILE_BYTES // MIB):
                file.write(block[:MIB])
    return path
