"""Timer wheel and purgatory. Pure: time is an argument."""
