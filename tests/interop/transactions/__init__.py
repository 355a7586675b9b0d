"""Programs that copy a topic within transactions, one for each client, and what drives them."""
