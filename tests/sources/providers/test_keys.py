"""Keys and logins reach the service and nobody else."""

from __future__ import annotations

import json
import logging

import pytest
from sources.providers.service import Reply, Service, told
from sources.providers.services import KEY, SERVICES, searched

from zetetic.sources import SearchStatus
from zetetic.sources.providers import ApiProvider, make_provider

pytestmark = pytest.mark.rule("R7", "R8")


@pytest.mark.parametrize("code", [200, 400, 401, 403, 429, 500])
@pytest.mark.parametrize("name", [name for name, known in SERVICES.items() if known.variable])
async def test_a_key_stands_in_no_detail_repr_or_log(name: str, code: int, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    echo = told({"error": {"message": f"no {KEY}, {KEY.replace('+', '%2B').replace('/', '%2F')}"}, "key": KEY}, code)
    with Service(echo) as service:
        provider = SERVICES[name].at(service.url)
        result = await searched(provider)
    spoken = [result.model_dump_json(), repr(provider), str(provider), str(vars(provider)), caplog.text]
    for secret in (KEY, KEY.replace("+", "%2B").replace("/", "%2F"), json.dumps(KEY)[1:-1]):
        assert [text for text in spoken if secret in text] == []
    sent = service.asked[0]
    assert KEY in [*sent.headers.values(), *sent.given.values()] or f"Bearer {KEY}" in sent.headers.values()


async def test_a_login_in_the_address_of_searxng_is_sent_and_not_told(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with Service(Reply(b"keeper:hush%21 is wrong, hush!", 401)) as service:
        provider = make_provider(f"searxng:{service.url.replace('//', '//keeper:hush%21@')}")
        assert isinstance(provider, ApiProvider)
        result = await searched(provider)
    assert service.asked[0].headers["authorization"] == "Basic a2VlcGVyOmh1c2gh"
    assert result.status is SearchStatus.NOT_CONFIGURED
    assert [text for text in (result.detail, repr(provider), caplog.text) if "hush" in text] == []
