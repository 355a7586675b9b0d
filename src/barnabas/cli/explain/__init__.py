"""`barnabas explain`: how a running broker, or what lies in data directories, would answer a request."""
