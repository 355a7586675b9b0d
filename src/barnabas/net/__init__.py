"""Sockets: the event loop, its connections and listeners. The only package that touches the network."""
