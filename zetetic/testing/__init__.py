"""The test kit: a scripted model, a model server on loopback, and a web and a search that are held in memory.

Public, and what the project's own tests use: nothing in it needs a network or a key.
"""

from zetetic.testing.answers import (
    Answer,
    WireCall,
    calls,
    from_message,
    garbles,
    hangs_up,
    refuses,
    says,
    stalls,
    wire_call,
)
from zetetic.testing.behaviours import BEHAVIOURS, Behaviour, small_rate, small_window
from zetetic.testing.fixtures import FixturePage, FixtureSearch, FixtureWeb
from zetetic.testing.scripted import ScriptedModel, ScriptExhausted, call, turn
from zetetic.testing.server import ChatCompletionsServer

__all__ = [
    "BEHAVIOURS",
    "Answer",
    "Behaviour",
    "ChatCompletionsServer",
    "FixturePage",
    "FixtureSearch",
    "FixtureWeb",
    "ScriptExhausted",
    "ScriptedModel",
    "WireCall",
    "call",
    "calls",
    "from_message",
    "garbles",
    "hangs_up",
    "refuses",
    "says",
    "small_rate",
    "small_window",
    "stalls",
    "turn",
    "wire_call",
]
