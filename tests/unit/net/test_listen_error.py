"""What an operator reads when a listener cannot be bound."""

import errno

from barnabas.net.listener import ListenError


def test_it_is_a_sentence_without_the_number_of_the_error() -> None:
    error = ListenError(errno.EADDRINUSE, "listener A cannot bind [::1]:9092: Address already in use")
    assert str(error) == "listener A cannot bind [::1]:9092: Address already in use"
    assert error.errno == errno.EADDRINUSE
    assert str(ListenError("no words")) == "no words"
