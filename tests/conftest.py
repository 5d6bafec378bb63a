"""What holds for every test: the environment before langgraph is imported, and the plugin behind `pytest --rules`."""

import os

import hypothesis
import pytest

pytest_plugins = ["rules_plugin", "postgres_plugin"]

# Read when langgraph is imported: a type that the saver's allowlist lacks must fail instead of coming back as a dict.
os.environ["LANGGRAPH_STRICT_MSGPACK"] = "true"
# No test reports to a tracing service, and none depends on the settings of whoever runs it.
os.environ["LANGSMITH_TRACING"] = "false"
for _name in [name for name in os.environ if name.startswith("ZETETIC_") and not name.startswith("ZETETIC_LLM_")]:
    del os.environ[_name]

# A busy machine is slow now and then; no property is about time.
hypothesis.settings.register_profile("zetetic", deadline=None)
hypothesis.settings.load_profile("zetetic")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests marked `llm` need a model; without one they say how to give it."""
    if os.environ.get("ZETETIC_LLM_URL"):
        return
    absent = pytest.mark.skip(reason="set ZETETIC_LLM_URL (and ZETETIC_LLM_MODEL) to run the tests with a model")
    for item in items:
        if item.get_closest_marker("llm"):
            item.add_marker(absent)
