"""The only code that touches sockets: reactor, connections, transports."""
