"""What models send, and what is made of it (CASES 1 to 7)."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.messages.tool import invalid_tool_call, tool_call, tool_call_chunk

from zetetic.models import Repaired, acceptable_history, complete_lists, first_json, repair, without_thoughts
from zetetic.models.raw_calls import RAW_CALLS

KNOWN = ("fetch_page", "ls", "notes_append", "notes_read", "web_search")
ALLOWED = ("fetch_page", "ls", "web_search")
SEARCH = '{"name": "web_search", "arguments": {"query": "tides"}}'


def read(answer: AIMessage | str, key: str = "thread/task") -> Repaired:
    message = AIMessage(content=answer) if isinstance(answer, str) else answer
    return repair(message, allowed=ALLOWED, known=KNOWN, key=key)


def raw(*calls: tuple[str | None, str | None, str | None], finish_reason: str = "tool_calls") -> AIMessage:
    """A message as CompatibleChat makes it, with (id, name, arguments as sent)."""
    sent = [{"id": call_id, "name": name, "args": args} for call_id, name, args in calls]
    return AIMessage(
        content="", additional_kwargs={RAW_CALLS: sent}, response_metadata={"finish_reason": finish_reason}
    )


def asked(repaired: Repaired) -> list[tuple[str, dict[str, Any]]]:
    return [(call.name, call.args) for call in repaired.calls]


# thoughts


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("<think>Let me see.</think>The answer.", "The answer."),
        ("<thinking>\nfirst\n</thinking>\n\nThe answer.", "The answer."),
        ("The answer.<think>and then it never ends", "The answer."),
        ("the opening tag was swallowed</think>The answer.", "The answer."),
        ("<think>a<think>b</think>c</think>The answer.", "The answer."),
        ("<THINK>x</THINK>The <think>y</think>answer.", "The answer."),
        ("[THINK]x[/THINK]The answer.", "The answer."),
        ("◁think▷x◁/think▷The answer.", "The answer."),
        (
            "<|channel|>analysis<|message|>x<|end|><|start|>assistant<|channel|>final<|message|>The answer.",
            "The answer.",
        ),
        ("2 < 3 and <b>bold</b> stay", "2 < 3 and <b>bold</b> stay"),
        ("", ""),
    ],
)
def test_thoughts_are_no_text(sent: str, kept: str) -> None:
    assert without_thoughts(sent) == kept
    assert read(sent).text == kept


def test_a_call_in_thoughts_is_not_a_call() -> None:
    repaired = read(f"<think>I could send {SEARCH}</think>I am done.")
    assert (repaired.calls, repaired.errors, repaired.text) == ((), (), "I am done.")


def test_a_query_is_never_taken_from_thoughts() -> None:
    args = json.dumps({"query": "<think>Okay, let's tackle this…</think>tides Brest"})
    assert asked(read(raw(("c1", "web_search", args)))) == [("web_search", {"query": "tides Brest"})]
    assert asked(read(raw(("c1", "web_search", json.dumps({"query": "<think>only thoughts"}))))) == [
        ("web_search", {"query": ""})
    ]


def test_content_blocks_are_read_as_text() -> None:
    answer = AIMessage(content=[{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "The answer."}])
    assert read(answer).text == "The answer."


# calls in the text


@pytest.mark.parametrize(
    "sent",
    [
        SEARCH,
        f"Okay, let's tackle this. {SEARCH} I hope that helps.",
        f"```json\n{SEARCH}\n```",
        f"Here it is:\n```json\n{SEARCH}\n```\nThat will find it.",
        f"<tool_call>{SEARCH}</tool_call>",
        f"<tool_call>\n{SEARCH}\n",
        f"[{SEARCH}]",
        f"[TOOL_CALLS][{SEARCH}]",
        '{"name": "web_search", "parameters": {"query": "tides"}}',
        '{"tool": "web_search", "args": {"query": "tides"}}',
        '{"type": "function", "function": {"name": "web_search", "arguments": "{\\"query\\": \\"tides\\"}"}}',
        '{"name": "functions.web_search", "arguments": {"query": "tides"}}',
        '<function=web_search>{"query": "tides"}</function>',
        "{'name': 'web_search', 'arguments': {'query': 'tides'}}",
        '{"name": "web_search", "arguments": {"query": "tides",},}',
        f"<think>I need the tides.</think>{SEARCH}",
    ],
)
def test_a_call_written_as_text_is_recovered(sent: str) -> None:
    repaired = read(sent)
    assert asked(repaired) == [("web_search", {"query": "tides"})]
    assert repaired.errors == ()
    assert "tool call found in text" in repaired.repairs
    assert "tides" not in repaired.text


def test_several_calls_in_the_text_are_several_calls() -> None:
    page = '{"name": "fetch_page", "arguments": {"url": "https://a.example/1"}}'
    for sent in (
        f"[{SEARCH}, {page}]",
        f"{SEARCH}\n{page}",
        f"<tool_call>{SEARCH}</tool_call><tool_call>{page}</tool_call>",
    ):
        repaired = read(sent)
        assert [call.name for call in repaired.calls] == ["web_search", "fetch_page"]
        assert len({call.id for call in repaired.calls}) == 2


@pytest.mark.parametrize(
    "sent",
    [
        '{"name": "Ada Lovelace", "arguments": {"born": 1815}}',
        '{"name": "web_search"}',
        '{"query": "tides"}',
        "The set {x : x > 2} is open [1].",
    ],
)
def test_other_json_is_text(sent: str) -> None:
    assert read(sent) == Repaired(text=sent)


def test_text_beside_real_calls_is_not_searched_for_more() -> None:
    answer = AIMessage(content=SEARCH, tool_calls=[tool_call(name="ls", args={}, id="c1")])
    assert asked(read(answer)) == [("ls", {})]


def test_a_tool_that_is_not_allowed_now_is_not_recovered_but_refused() -> None:
    repaired = read('{"name": "notes_read", "arguments": {}}')
    assert repaired.calls == ()
    assert [(error.name, error.message) for error in repaired.errors] == [
        ("notes_read", "The tool notes_read is not allowed now. Tools allowed now: fetch_page, ls, web_search.")
    ]


def test_an_unknown_tool_in_a_tool_call_tag_is_refused() -> None:
    [error] = read('<tool_call>{"name": "rm", "arguments": {"path": "/"}}</tool_call>').errors
    assert error.message == "There is no tool named 'rm'. Tools allowed now: fetch_page, ls, web_search."


@pytest.mark.parametrize(
    "sent",
    [
        '{"name": "web_search", "arguments": {"query": "tid',
        '```json\n{"name": "web_search", "arguments": {"query": "tides"}',
        '<tool_call>{"name": "web_search", "argum',
        '<function=web_search>{"query": "tid',
    ],
)
def test_a_call_in_the_text_that_is_cut_off_is_not_run(sent: str) -> None:
    repaired = read(sent)
    assert repaired.calls == ()
    assert [error.name for error in repaired.errors] == ["web_search"]
    assert repaired.truncated


# arguments


@pytest.mark.parametrize(
    ("sent", "args"),
    [
        ('{"query": "tides"}', {"query": "tides"}),
        ("", {}),
        ("{}", {}),
        ('"{\\"query\\": \\"tides\\"}"', {"query": "tides"}),
        (json.dumps(json.dumps(json.dumps({"query": "tides"}))), {"query": "tides"}),
        ('[{"query": "tides"}]', {"query": "tides"}),
        ('{"query": "tides"} I hope that helps.', {"query": "tides"}),
        ('```json\n{"query": "tides"}\n```', {"query": "tides"}),
        ('{"query": "\\d+ tides"}', {"query": "\\d+ tides"}),
        ('{"query": "Brest\\\'s tides"}', {"query": "Brest's tides"}),
        ('{"query": "two\nlines"}', {"query": "two\nlines"}),
        ("{'query': 'tides', 'all': True}", {"query": "tides", "all": True}),
        ('{"query": "tides",}', {"query": "tides"}),
        ('{"query": "a\\u0000b\\ud800"}', {"query": "ab\ufffd"}),
        ('{"n": NaN, "m": 1e999}', {"n": None, "m": None}),
    ],
)
def test_arguments_are_mended(sent: str, args: dict[str, Any]) -> None:
    assert asked(read(raw(("c1", "web_search", sent)))) == [("web_search", args)]
    answer = AIMessage(content="", invalid_tool_calls=[invalid_tool_call(name="web_search", args=sent, id="c1")])
    assert asked(read(answer)) == [("web_search", args)]


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        ("tides", "The arguments of web_search must be one JSON object; they were not readable."),
        ("42", "The arguments of web_search must be one JSON object; they were not readable."),
        (
            '[{"query": "a"}, {"query": "b"}]',
            "The arguments of web_search must be one JSON object; they were a list: make one call for each item.",
        ),
    ],
)
def test_arguments_that_are_no_object_are_refused(sent: str, message: str) -> None:
    repaired = read(raw(("c1", "web_search", sent), ("c2", "ls", "{}")))
    assert [error.message for error in repaired.errors] == [message]
    assert asked(repaired) == [("ls", {})]


@pytest.mark.parametrize(
    "sent", ['{"query": "tid', '{"query": "tides"', '{"claims": [{"text": "a"}, {"te', '"{\\"query\\": \\"ti']
)
def test_cut_off_arguments_are_never_run(sent: str) -> None:
    repaired = read(raw(("c1", "web_search", sent)))
    assert repaired.calls == ()
    assert "cut off" in repaired.errors[0].message
    assert repaired.truncated


def test_what_a_stream_completed_by_itself_is_not_run() -> None:
    chunk = AIMessageChunk(
        content="", tool_call_chunks=[tool_call_chunk(name="web_search", args='{"query": "tid', id="c1", index=0)]
    )
    assert chunk.tool_calls[0]["args"] == {"query": "tid"}  # langchain's doing
    assert read(chunk).calls == ()


def test_an_answer_cut_by_length_keeps_its_complete_calls() -> None:
    repaired = read(
        raw(("c1", "web_search", '{"query": "tides"}'), ("c2", "fetch_page", '{"url": "htt'), finish_reason="length")
    )
    assert asked(repaired) == [("web_search", {"query": "tides"})]
    assert [error.id for error in repaired.errors] == ["c2"]
    assert repaired.truncated


def test_a_call_whose_arguments_were_not_begun_is_not_run() -> None:
    assert read(raw(("c1", "ls", ""), finish_reason="length")).calls == ()


def test_the_last_call_of_a_cut_answer_is_not_trusted_without_its_raw_text() -> None:
    answer = AIMessage(
        content="",
        tool_calls=[
            tool_call(name="ls", args={}, id="c1"),
            tool_call(name="web_search", args={"query": "ti"}, id="c2"),
        ],
        response_metadata={"stop_reason": "max_tokens"},
    )
    repaired = read(answer)
    assert [call.id for call in repaired.calls] == ["c1"]
    assert [error.id for error in repaired.errors] == ["c2"]


def test_nothing_of_a_filtered_answer_is_run() -> None:
    repaired = read(raw(("c1", "web_search", '{"query": "tides"}'), finish_reason="content_filter"))
    assert (repaired.calls, repaired.filtered) == ((), True)
    assert repaired.errors[0].message == "The provider's content filter ended this answer, so nothing was run."


# names and ids


@pytest.mark.parametrize("name", ["lsls", "ls ", "LS", "functions.ls", "default_api:ls", "lslsls"])
def test_a_name_is_mended_only_to_a_known_one(name: str) -> None:
    repaired = read(raw(("c1", name, "{}")))
    assert asked(repaired) == [("ls", {})]
    assert repaired.repairs == ("tool name mended",)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "The call names no tool."),
        (None, "The call names no tool."),
        ("rmrm", "There is no tool named 'rmrm'."),
        ("notes_read", "The tool notes_read is not allowed now."),
    ],
)
def test_a_name_that_cannot_be_called_is_answered_with_what_can(name: str | None, message: str) -> None:
    repaired = read(raw(("c1", name, "{}")))
    assert repaired.calls == ()
    assert repaired.errors[0].message == f"{message} Tools allowed now: fetch_page, ls, web_search."


@pytest.mark.rule("D47")
def test_missing_empty_and_repeated_ids_become_new_ones_that_a_replay_has_too() -> None:
    answer = raw((None, "ls", "{}"), ("", "ls", "{}"), ("c1", "ls", "{}"), ("c1", "ls", "{}"), ("a b", "ls", "{}"))
    ids = [call.id for call in read(answer).calls]
    assert len(set(ids)) == 5
    assert ids[2] == "c1"
    assert [call.id for call in read(answer).calls] == ids
    other = [call.id for call in read(answer, key="thread/other").calls]
    assert set(ids) & set(other) == {"c1"}


def test_a_derived_id_makes_way_for_a_later_call_that_has_it() -> None:
    first = read(raw((None, "ls", "{}"))).calls[0].id
    ids = [call.id for call in read(raw((None, "ls", "{}"), (first, "ls", "{}"))).calls]
    assert ids[1] == first
    assert ids[0] != first


def test_an_empty_answer_is_seen_as_such() -> None:
    assert read("<think>hm</think>").empty
    assert not read("text").empty


# what stays in the history


def test_the_history_is_acceptable_to_the_next_request() -> None:
    answer = AIMessage(
        content=[{"type": "text", "text": "<think>x</think>Searching."}],
        tool_calls=[tool_call(name="web_search", args={"query": "tides"}, id="c1")],
        invalid_tool_calls=[
            invalid_tool_call(name="", args="{", id=None),
            invalid_tool_call(name="no such/tool", args="[]", id="c1"),
        ],
    )
    repaired = read(answer)
    kept = acceptable_history(answer, repaired)
    assert kept.content == "Searching."
    assert kept.invalid_tool_calls == []
    assert [one["name"] for one in kept.tool_calls] == ["web_search", "unnamed_tool", "no_such_tool"]
    assert [one["args"] for one in kept.tool_calls] == [{"query": "tides"}, {}, {}]
    assert len({one["id"] for one in kept.tool_calls}) == 3
    answered = [call.id for call in repaired.calls] + [error.id for error in repaired.errors]
    assert [one["id"] for one in kept.tool_calls] == answered


# JSON in answers


@pytest.mark.parametrize(
    ("sent", "value"),
    [
        ('{"verdict": "Proceed"}', {"verdict": "Proceed"}),
        ('Okay, let\'s tackle this… {"a": 1} and {"b": 2}', {"a": 1}),
        ('<think>{"a": 0}</think>```json\n{"a": 1}\n```', {"a": 1}),
        ('As [1] says: {"a": 1}', {"a": 1}),
        ("[1, 2]", [1, 2]),
        ('["one", "two"]', ["one", "two"]),
        ('the set {x} is {"a": [1, {"b": "}"}]}', {"a": [1, {"b": "}"}]}),
        ('{"a": 1', None),
        ("nothing here", None),
        ("", None),
    ],
)
def test_the_first_balanced_value_counts(sent: str, value: Any) -> None:
    assert first_json(sent) == value


@pytest.mark.parametrize(
    ("sent", "lists"),
    [
        ('{"claims": [{"text": "a"}, {"text": "b"}, {"te', {"claims": [{"text": "a"}, {"text": "b"}]}),
        ('{"claims": [{"text": "a"}], "gaps": ["one", "tw', {"claims": [{"text": "a"}], "gaps": ["one"]}),
        ('{"why": "x", "claims": [{"text": "a"}]', {"claims": [{"text": "a"}]}),
        ('{"claims": [[{"text": "a"}, {"te', {"claims": []}),
        ('{"why": "it is cut', {}),
        ('[{"a": 1}, {"a": 2}', {}),
        ("none", {}),
        ("", {}),
    ],
)
def test_the_whole_items_of_a_cut_off_list_are_kept(sent: str, lists: dict[str, list[Any]]) -> None:
    assert complete_lists(sent) == lists


def test_of_a_tool_that_takes_entries_the_whole_ones_of_a_cut_off_call_are_taken() -> None:
    sent = ("c1", "web_search", '{"claims": [{"text": "a"}, {"text": "b"}, {"te')
    cut = repair(raw(sent, finish_reason="length"), allowed=ALLOWED, known=KNOWN, key="k", in_parts=["web_search"])
    assert asked(cut) == [("web_search", {"claims": [{"text": "a"}, {"text": "b"}]})]
    assert (cut.truncated, cut.calls[0].id, len(cut.errors)) == (True, "c1", 1)
    assert "Send only the rest" in cut.errors[0].message
    assert cut.errors[0].id not in ("", "c1")
    assert "whole entries of a cut-off call taken" in cut.repairs
    whole = repair(raw(sent, finish_reason="length"), allowed=ALLOWED, known=KNOWN, key="k")
    assert (whole.calls, len(whole.errors)) == ((), 1)


SCHEMA = {
    "properties": {
        "query": {"type": "string"},
        "notes": {"type": "array", "items": {"properties": {"text": {"type": "string"}}, "required": ["text"]}},
        "free": {"type": "object"},
    },
    "required": ["query"],
}


@pytest.mark.parametrize(
    ("sent", "kept", "invented"),
    [
        ({"query": "tides", "confidence": 0.9}, {"query": "tides"}, True),
        (
            {"query": "tides", "notes": [{"text": "a", "mood": "b"}]},
            {"query": "tides", "notes": [{"text": "a"}]},
            True,
        ),
        ({"query": "tides", "free": {"any": 1}}, {"query": "tides", "free": {"any": 1}}, False),
        ({"querry": "tides"}, {"querry": "tides"}, False),
        ({"query": "tides", "notes": [{"txt": "a"}]}, {"query": "tides", "notes": [{"txt": "a"}]}, False),
    ],
    ids=["beside", "within", "free", "misspelt", "misspelt within"],
)
def test_keys_that_the_model_made_up_are_left_out(sent: Any, kept: Any, invented: bool) -> None:
    answer = raw(("c1", "web_search", json.dumps(sent)))
    repaired = repair(answer, allowed=ALLOWED, known=KNOWN, key="k", schemas={"web_search": SCHEMA})
    assert asked(repaired) == [("web_search", kept)]
    assert repaired.repairs == (("invented keys left out",) if invented else ())


# whatever comes

PIECES = st.sampled_from(
    [
        *("<think>", "</think>", "<tool_call>", "</tool_call>", "[TOOL_CALLS]", "<|end|>", "```json", "```"),
        *("{", "}", "[", "]", '"', "'", "\\", "\\u", ",", ":", "\n", "\x00", "\ud800", "NaN", "1e999"),
        *(SEARCH, SEARCH[:-9], '"name"', '"web_search"'),
    ]
)
TEXTS = st.one_of(st.text(), st.lists(st.one_of(PIECES, st.text(max_size=5)), max_size=30).map("".join))


@given(text=TEXTS, name=st.one_of(st.none(), st.text(max_size=8), st.sampled_from(KNOWN)), args=TEXTS)
def test_repair_never_raises_and_what_it_returns_can_be_stored(text: str, name: str | None, args: str) -> None:
    for answer in (AIMessage(content=text), raw((None, name, args)), raw((text, name, args), finish_reason="length")):
        repaired = read(answer)
        first_json(text)
        complete_lists(text)
        kept = acceptable_history(answer, repaired)
        assert len({one["id"] for one in kept.tool_calls}) == len(repaired.calls) + len(repaired.errors)
        for call in repaired.calls:
            assert call.name in ALLOWED
            assert "\x00" not in json.dumps(call.args, ensure_ascii=False, allow_nan=False).encode().decode()
        repaired.text.encode()


@given(cut=st.integers(min_value=1, max_value=len(SEARCH) - 1))
def test_no_prefix_of_a_call_is_ever_run(cut: int) -> None:
    assert read(SEARCH[:cut]).calls == ()
    args = '{"query": "tides in Brest", "deep": {"a": [1, 2]}}'
    sent = args[: min(cut, len(args) - 1)]
    assert read(raw(("c1", "web_search", sent))).calls == ()


@pytest.mark.parametrize(
    "sent", ["[" * 100_000, '{"a":' * 50_000, '{"' * 50_000, "<think>" * 50_000, "[1" * 50_000, '"' * 99_999]
)
def test_hostile_text_is_read_in_bounds(sent: str) -> None:
    assert read(sent).calls == ()
    assert read(raw(("c1", "web_search", sent))).calls == ()
