"""What runs a coordinator, whatever it coordinates."""
