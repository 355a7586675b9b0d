"""The flag that writes the scenarios anew."""

import pytest

REWRITE = "--rewrite-transcripts"


@pytest.fixture
def rewrite(request: pytest.FixtureRequest) -> bool:
    """Whether files are written anew instead of compared."""
    return bool(request.config.getoption(REWRITE))
