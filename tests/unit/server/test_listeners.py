"""listeners and advertised.listeners: notation, defaults, and what is refused."""

import pytest

from barnabas.server.listeners import (
    ListenerAddress,
    ListenersError,
    SecurityProtocol,
    advertised_address,
    check_advertised,
    parse_listeners,
    parse_protocol_map,
    reach_warning,
)

PROTOCOLS = parse_protocol_map(["INSIDE:PLAINTEXT"])


def test_several_named_and_ipv6():
    inside, six = parse_listeners(["inside://10.0.0.1:9092", "PLAINTEXT://[::1]:0"], PROTOCOLS)
    assert (inside.name, inside.host, inside.port) == ("INSIDE", "10.0.0.1", 9092)
    assert (six.host, six.port, str(six)) == ("::1", 0, "PLAINTEXT://[::1]:0")
    assert inside.security_protocol is SecurityProtocol.PLAINTEXT


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        (["localhost:9092"], "is not NAME://host:port"),
        (["PLAINTEXT://localhost"], "is not NAME://host:port"),
        (["PLAINTEXT://::1:9092"], "is not NAME://host:port"),
        (["PLAINTEXT://a:70000"], "above 65535"),
        (["OUTSIDE://a:1"], "OUTSIDE is no protocol"),
        (["PLAINTEXT://a:1", "PLAINTEXT://a:2"], "listed twice"),
        (["PLAINTEXT://a:1", "INSIDE://a:1"], "listed twice"),
    ],
)
def test_what_no_listener_is(entries, words):
    with pytest.raises(ListenersError, match=words):
        parse_listeners(entries, PROTOCOLS)


def test_two_free_ports_are_no_clash():
    assert len(parse_listeners(["PLAINTEXT://a:0", "INSIDE://a:0"], PROTOCOLS)) == 2


@pytest.mark.parametrize("entry", ["INSIDE", "INSIDE:TELNET"])
def test_a_protocol_map_names_protocols(entry):
    with pytest.raises(ListenersError, match="NAME:PROTOCOL"):
        parse_protocol_map([entry])


def _at(host, port, name="PLAINTEXT"):
    return ListenerAddress(name=name, host=host, port=port)


def test_clients_are_told_what_advertised_listeners_says():
    told = advertised_address(_at("", 9092), [_at("broker.example", 19092)])
    assert (told.host, told.port) == ("broker.example", 19092)


def test_an_advertised_port_0_is_the_bound_port():
    assert advertised_address(_at("", 4711), [_at("broker.example", 0)]).port == 4711


def test_without_advertised_listeners_the_bound_host_is_told():
    assert advertised_address(_at("10.0.0.1", 9092), []).host == "10.0.0.1"


def test_bound_everywhere_the_machines_name_is_told():
    assert advertised_address(_at("0.0.0.0", 9092), []).host not in ("", "0.0.0.0", "::")


def test_telling_loopback_while_bound_everywhere_warns():
    warning = reach_warning(_at("0.0.0.0", 9092), _at("localhost", 9092))
    assert warning is not None
    assert "advertised.listeners" in warning
    assert reach_warning(_at("localhost", 9092), _at("localhost", 9092)) is None


@pytest.mark.parametrize("host", ["", "0.0.0.0", "::"])
def test_everywhere_is_nowhere_to_connect_to(host):
    with pytest.raises(ListenersError, match="not all interfaces"):
        check_advertised([_at(host, 9092)], [_at("", 9092)])


def test_an_advertised_name_must_be_listened_on():
    with pytest.raises(ListenersError, match="listeners does not"):
        check_advertised([_at("a", 1, "INSIDE")], [_at("", 9092)])
