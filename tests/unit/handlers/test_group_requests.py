"""Who sent a group request, as groups remember it."""

import pytest

from barnabas.handlers.group_requests import java_host


@pytest.mark.parametrize(
    ("host", "written"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("::1", "0:0:0:0:0:0:0:1"),
        ("::", "0:0:0:0:0:0:0:0"),
        ("2001:db8::2:1", "2001:db8:0:0:0:0:2:1"),
        ("2001:db8::", "2001:db8:0:0:0:0:0:0"),
        ("1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8"),
        ("fe80::1%eth0", "fe80:0:0:0:0:0:0:1%eth0"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
    ],
)
def test_hosts_are_written_as_java_writes_them(host: str, written: str) -> None:
    assert java_host(host) == written
