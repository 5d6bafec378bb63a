"""How model servers misbehave, by name: what a `ChatCompletionsServer` can be told to do to its answers.

    with ChatCompletionsServer(source, behaviour="think_tags") as server: ...

Each of `BEHAVIOURS` changes every answer, or every third one, and the others are as the source gives them. One that
`loses` the answer keeps its calls from being carried out, so whoever scripts the source has to give them again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.messages import convert_to_messages
from langchain_core.messages.utils import count_tokens_approximately

from zetetic.testing.answers import Answer, WireCall, garbles, hangs_up, refuses

Change = Callable[[Answer, dict[str, Any]], Answer]
"""What becomes of an answer to a request's body."""

_THOUGHTS = (
    'Okay, let\'s tackle this. I could give up: {"name": "abort", "arguments": {"reason": "thinking"}} or '
    "search for [1] nothing at all. Wait, no."
)


@dataclass(frozen=True, slots=True)
class Behaviour:
    """One way in which a server misbehaves, in each `every`-th answer from the first such on."""

    name: str
    says: str
    change: Change
    every: int = 1
    loses: bool = False

    def applies(self, number: int) -> bool:
        """Whether the answer of this number, counted from 1, is changed."""
        return number % self.every == 0

    def loses_answer(self, number: int) -> bool:
        """Whether what the answer of this number asks for does not get through."""
        return self.loses and self.applies(number)

    def answer(self, answer: Answer, body: dict[str, Any], number: int) -> Answer:
        """The answer of this number as it is sent."""
        return self.change(answer, body) if self.applies(number) else answer


def small_window(tokens: int, *, cuts: bool = False, told: bool = True) -> Behaviour:
    """A context window of so many tokens: larger requests are refused, with the numbers unless not `told`; with `cuts`
    the server silently drops what does not fit, as some local ones do."""

    def change(answer: Answer, body: dict[str, Any]) -> Answer:
        prompt, asked = _size(body), int(body.get("max_tokens") or 0)
        if prompt + (0 if cuts else asked) <= tokens:
            return answer
        if cuts:
            return answer.costing(tokens - 6, 5)
        numbers = f"maximum context length is {tokens} tokens. However, you requested {prompt + asked} tokens ({prompt}"
        said = f"This model's {numbers} in the messages, {asked} in the completion)." if told else "n_ctx is too small"
        return refuses(400, said)

    how = "cut to" if cuts else "refused over"
    return Behaviour(f"window_{tokens}", f"requests are {how} {tokens} tokens", change, loses=True)


def small_rate(tokens: int) -> Behaviour:
    """A rate that allows no request of more than so many tokens."""

    def change(answer: Answer, body: dict[str, Any]) -> Answer:
        size = _size(body)
        if size <= tokens:
            return answer
        return refuses(429, f"Request too large for m on tokens per min (TPM): Limit {tokens}, Requested {size}.")

    return Behaviour(f"rate_{tokens}", f"requests of more than {tokens} tokens are refused", change, loses=True)


def _size(body: dict[str, Any]) -> int:
    return count_tokens_approximately(convert_to_messages(body["messages"]), tools=body.get("tools"))


def _called(answer: Answer, change: Callable[[WireCall], WireCall]) -> Answer:
    return replace(answer, calls=tuple(change(one) for one in answer.calls))


def _arguments(change: Callable[[Any], Any]) -> Change:
    """Changes the arguments of each call, given as a value."""
    return lambda answer, _: _called(answer, lambda one: replace(one, arguments=change(json.loads(one.arguments))))


def _names(change: Callable[[str], str]) -> Change:
    return lambda answer, _: _called(answer, lambda one: replace(one, name=change(one.name or "")))


def _ids(value: str | None) -> Change:
    return lambda answer, _: _called(answer, lambda one: replace(one, id=value))


def _spelled(form: Callable[[str, Any], str], before: str = "", after: str = "") -> Change:
    """Writes the calls into the text, each in this form."""

    def change(answer: Answer, body: dict[str, Any]) -> Answer:
        if not answer.calls:
            return answer
        told = "\n".join(form(one.name or "", json.loads(one.arguments)) for one in answer.calls)
        return replace(answer, text=f"{answer.text or ''}{before}{told}{after}", calls=())

    return change


def _json_call(name: str, args: Any) -> str:
    return json.dumps({"name": name, "arguments": args})


def _with_text(before: str) -> Change:
    return lambda answer, _: replace(answer, text=f"{before}{answer.text or ''}")


def _instead(other: Answer) -> Change:
    """Another answer in place of one that calls tools; text alone stays."""
    return lambda answer, _: other if answer.calls else answer


def _cut_off(answer: Answer, body: dict[str, Any]) -> Answer:
    """The answer ends in the middle of its first call."""
    if not answer.calls:
        return answer
    first = answer.calls[0]
    return replace(answer, calls=(replace(first, arguments=first.arguments[: len(first.arguments) // 2]),)).ending(
        "length"
    )


def _text_cut_off(answer: Answer, body: dict[str, Any]) -> Answer:
    if not answer.calls:
        return answer
    first = answer.calls[0]
    whole = _json_call(first.name or "", json.loads(first.arguments))
    return replace(answer, text=f"<tool_call>\n{whole[: len(whole) * 2 // 3]}", calls=()).ending("length")


def _filtered(answer: Answer, body: dict[str, Any]) -> Answer:
    return answer.ending("content_filter")


def _invented(value: Any) -> Any:
    """The value with keys that no schema has, in every object of it."""
    if isinstance(value, list):
        return [_invented(item) for item in value]
    if isinstance(value, dict):
        return {**{key: _invented(item) for key, item in value.items()}, "confidence": 0.9, "thought": "it fits"}
    return value


def _broken_stream(answer: Answer, body: dict[str, Any]) -> Answer:
    if body.get("stream"):
        return replace(answer, error_event="error parsing tool call: unexpected end of JSON input")
    return refuses(500, "error parsing tool call: unexpected end of JSON input")


def _each_third(name: str, says: str, change: Change) -> Behaviour:
    return Behaviour(name, says, change, every=3, loses=True)


def _all(*behaviours: Behaviour) -> Mapping[str, Behaviour]:
    return {one.name: one for one in behaviours}


BEHAVIOURS = _all(
    Behaviour("think_tags", "thoughts in <think> tags before the answer", _with_text(f"<think>{_THOUGHTS}</think>")),
    Behaviour("think_unopened", "thoughts that only a closing tag ends", _with_text(f"{_THOUGHTS}</think>")),
    Behaviour("reasoning_field", "thoughts in a field of their own", lambda a, _: replace(a, reasoning=_THOUGHTS)),
    Behaviour(
        "think_then_text_call",
        "thoughts, then the calls as JSON in the text",
        _spelled(_json_call, before=f"<think>{_THOUGHTS}</think>\n"),
    ),
    Behaviour("text_calls", "the calls as JSON in the text", _spelled(_json_call)),
    Behaviour(
        "prose_around_json",
        "the calls as fenced JSON between sentences",
        _spelled(
            lambda name, args: f"```json\n{_json_call(name, args)}\n```",
            before="Sure! I will call the tool:\n",
            after="\nThis should help you [1].",
        ),
    ),
    Behaviour(
        "tool_call_tags",
        "the calls in <tool_call> tags in the text",
        _spelled(lambda name, args: f"<tool_call>\n{_json_call(name, args)}\n</tool_call>"),
    ),
    Behaviour(
        "function_tags",
        "the calls in <function=…> tags in the text",
        _spelled(lambda name, args: f"<function={name}>{json.dumps(args)}</function>"),
    ),
    Behaviour(
        "invented_keys",
        "arguments with keys that the schema does not have",
        _arguments(lambda v: json.dumps(_invented(v))),
    ),
    Behaviour("double_encoded", "arguments encoded twice", _arguments(lambda v: json.dumps(json.dumps(v)))),
    Behaviour("arguments_as_object", "arguments that are not encoded", _arguments(lambda v: v)),
    Behaviour("arguments_in_list", "arguments in a list of one", _arguments(lambda v: json.dumps([v]))),
    Behaviour("python_arguments", "arguments written as Python has them", _arguments(repr)),
    Behaviour(
        "prose_after_arguments", "arguments with a sentence after them", _arguments(lambda v: f"{json.dumps(v)} Done!")
    ),
    Behaviour("name_doubled", "each tool's name twice", _names(lambda name: name * 2)),
    Behaviour("name_with_namespace", "names with a namespace", _names(lambda name: f"functions.{name}")),
    Behaviour("id_missing", "calls without an id", _ids(None)),
    Behaviour("id_empty", "calls with an empty id", _ids("")),
    Behaviour("id_repeated", "the same id for every call", _ids("call_0")),
    Behaviour("no_usage", "no count of tokens", lambda a, _: replace(a, usage={})),
    _each_third("name_empty", "calls without a name", _names(lambda _: "")),
    _each_third("name_unknown", "calls of a tool that is none", _names(lambda _: "google")),
    _each_third("arguments_invalid", "arguments that are no JSON", _arguments(lambda _: "query: it")),
    _each_third("cut_off", "an answer that ends in the middle of a call", _cut_off),
    _each_third("text_call_cut_off", "a call in the text that ends in the middle", _text_cut_off),
    _each_third("no_call", "words in place of a call", _instead(Answer(text="I will now look for it."))),
    _each_third("empty", "nothing at all", _instead(Answer())),
    _each_third("content_filter", "an answer that a filter ended", _filtered),
    _each_third("parse_error", "500, error parsing tool call, also within a stream", _broken_stream),
    _each_third("hang_up", "a closed connection", lambda *_: hangs_up()),
    _each_third("hang_up_midway", "a connection closed in the middle of an answer", lambda *_: hangs_up(midway=True)),
    _each_third("garbled", "a page of HTML with status 200", lambda *_: garbles()),
    _each_third("overloaded", "503", lambda *_: refuses(503, "overloaded")),
    _each_third("rate_limited", "429 with the wait in words", lambda *_: refuses(429, "Please try again in 24ms.")),
)
"""The behaviours by name. `small_window` and `small_rate` make further ones."""
