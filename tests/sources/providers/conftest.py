import pytest
from cli.conftest import here
from sources.providers.services import SERVICES, Known


@pytest.fixture(params=SERVICES)
def known(request: pytest.FixtureRequest) -> Known:
    """Each service in turn."""
    return SERVICES[request.param]


__all__ = ["here", "known"]
