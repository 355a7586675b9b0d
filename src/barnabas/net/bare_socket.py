"""The `socket` of a start: the interpreter's own C module, without the Python around it.

`import socket` turns 300 constants of C into enums and imports selectors, 8 ms of every start. Its class adds
to the C one what a broker never uses: makefile, `with`, accept returning another such object, one more call
to close. So files of `net` that a start needs say `from barnabas.net.bare_socket import socket`.

To type checkers it is the standard module, so that its objects may be handed to whatever takes sockets (ssl
does take the C ones). Beware: what only the Python class has passes the type check and fails at run time; the
tests of `tests/net` run every line that uses one. Rejected: the standard module imported with the first
connection, since the listening socket comes before. See docs/adr/0008.
"""

from barnabas.base.hints import TYPE_CHECKING

if TYPE_CHECKING:
    import socket
else:
    import _socket as socket

__all__ = ("socket",)
