"""Opening the logs of a start: what is trusted, what is checked, what is cut off."""
