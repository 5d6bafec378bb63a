"""`ChatCompletionsServer`: a real HTTP server on loopback that speaks OpenAI's chat completions.

It answers from a script, from a function of the request, or by asking any LangChain chat model, and can misbehave in
every way that `zetetic.testing.answers` and `zetetic.testing.behaviours` name. Use it where the boundary itself is
under test.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, convert_to_messages
from langchain_core.messages.utils import count_tokens_approximately

from zetetic.testing.answers import Answer, from_message
from zetetic.testing.behaviours import BEHAVIOURS, Behaviour

Responder = Callable[[dict[str, Any]], Answer]
"""An answer from the request's body; called in the request's own thread."""

_MODEL = "test-model"


class ChatCompletionsServer:
    """A context manager; `base_url` is to be given to the client, `requests` holds the bodies received, in order.

    `source` is a list of answers, taken in order (the last one repeats when `repeat_last`), a function, or a chat
    model. `behaviour` changes the answers in one of the ways of `BEHAVIOURS`, by name, or of your own. `require_key`
    answers 401 to any other bearer key. `told` is what a GET of these paths brings. `keep_alive` leaves a connection
    open after an answer, as real servers do, unless the client asks for its end.
    """

    def __init__(
        self,
        source: Sequence[Answer] | Responder | BaseChatModel,
        *,
        repeat_last: bool = False,
        behaviour: str | Behaviour | None = None,
        require_key: str | None = None,
        told: Mapping[str, Any] | None = None,
        keep_alive: bool = False,
    ) -> None:
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.require_key = require_key
        self.told = dict(told or {})
        self.keep_alive = keep_alive
        self.ended = threading.Event()
        self._lock = threading.Lock()
        self._source = source
        self._repeat_last = repeat_last
        self._behaviour = BEHAVIOURS[behaviour] if isinstance(behaviour, str) else behaviour
        self._http: _Http | None = None
        self._thread: threading.Thread | None = None

    @property
    def base_url(self) -> str:
        """The address to give to a client, with the `/v1`."""
        if self._http is None:
            raise RuntimeError("The server is not running: use it in a with statement.")
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def __enter__(self) -> ChatCompletionsServer:
        self.ended.clear()
        self._http = _Http(("127.0.0.1", 0), _Exchange)
        self._http.owner = self
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.ended.set()
        if self._http is not None and self._thread is not None:
            self._http.block_on_close = not self.keep_alive  # an idle connection would never end
            self._http.shutdown()
            self._http.server_close()
            self._thread.join()
        self._http = self._thread = None

    def answer_to(self, body: dict[str, Any], headers: dict[str, str]) -> Answer:
        """Record a request and find its answer."""
        with self._lock:
            self.requests.append(body)
            self.headers.append(headers)
            asked = len(self.requests)
        if self.require_key is not None and headers.get("authorization") != f"Bearer {self.require_key}":
            key = headers.get("authorization", "").removeprefix("Bearer ")
            return Answer(status=401, message=f"Incorrect API key provided: {key}", code="invalid_api_key")
        answer = self._from_source(body, asked)
        return answer if self._behaviour is None else self._behaviour.answer(answer, body, asked)

    def _from_source(self, body: dict[str, Any], asked: int) -> Answer:
        source = self._source
        if isinstance(source, BaseChatModel):
            return from_message(_asked(source, body))
        if callable(source):
            return source(body)
        if asked > len(source) and not (self._repeat_last and source):
            return Answer(status=500, message=f"The script has {len(source)} answers; this is request {asked}.")
        return source[min(asked, len(source)) - 1]


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = True
    owner: ChatCompletionsServer


class _Exchange(BaseHTTPRequestHandler):
    server: _Http
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is logged: what was asked is in `requests`."""

    def do_GET(self) -> None:
        if self.path in self.server.owner.told:
            self._send(200, self.server.owner.told[self.path])
        elif self.path in ("/v1/models", "/v1/models/"):
            self._send(200, {"object": "list", "data": [{"id": _MODEL, "object": "model", "owned_by": "zetetic"}]})
        else:
            self._send(404, {"error": {"message": f"no such path: {self.path}"}})

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        try:
            if not self.path.endswith("/chat/completions"):
                self._send(404, {"error": {"message": f"no such path: {self.path}"}})
                return
            try:
                body = json.loads(raw)
            except ValueError:
                self._send(400, {"error": {"message": "the body is no JSON"}})
                return
            answer = self.server.owner.answer_to(body, {k.lower(): v for k, v in self.headers.items()})
            self._give(answer, body)
        except OSError:
            self.close_connection = True  # the client went away, as in a test of timeouts

    def _give(self, answer: Answer, body: dict[str, Any]) -> None:
        ended = answer.stall > 0 and self.server.owner.ended.wait(answer.stall)
        if ended or answer.hang_up == "at_once":
            self._hang_up()
        elif answer.status != 200:
            error = {"message": answer.message, "type": "error", "code": answer.code}
            self._send(answer.status, {"error": error}, dict(answer.headers))
        elif answer.body is not None:
            self._send_bytes(200, answer.body, {"content-type": "text/html", **answer.headers})
        elif body.get("stream"):
            self._stream(answer, body)
        elif answer.hang_up == "midway":
            data = json.dumps(_completion(answer, body)).encode()
            self._head(200, {"content-type": "application/json", "content-length": str(len(data))})
            self.wfile.write(data[: len(data) // 2])
            self._hang_up()
        else:
            self._send(200, _completion(answer, body), dict(answer.headers))

    def _stream(self, answer: Answer, body: dict[str, Any]) -> None:
        self._head(200, {"content-type": "text/event-stream", "transfer-encoding": "chunked", **answer.headers})
        events = list(_events(answer, body))
        for event in events[: len(events) // 2] if answer.hang_up == "midway" else events:
            self._event(json.dumps(event))
        if answer.hang_up == "midway":
            self._hang_up()
            return
        self._event("[DONE]")
        self.wfile.write(b"0\r\n\r\n")

    def _event(self, data: str) -> None:
        line = f"data: {data}\n\n".encode()
        self.wfile.write(f"{len(line):x}\r\n".encode() + line + b"\r\n")

    def _send(self, status: int, value: dict[str, Any], headers: dict[str, str] | None = None) -> None:
        self._send_bytes(status, json.dumps(value).encode(), {"content-type": "application/json", **(headers or {})})

    def _send_bytes(self, status: int, data: bytes, headers: dict[str, str]) -> None:
        self._head(status, {"content-length": str(len(data)), **headers})
        self.wfile.write(data)

    def _head(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if not self.server.owner.keep_alive:
            self.send_header("connection", "close")
        self.end_headers()

    def _hang_up(self) -> None:
        """Reset the connection, so that the client sees it at once."""
        self.wfile.flush()
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True


def _asked(model: BaseChatModel, body: dict[str, Any]) -> AIMessage:
    """What the wrapped model answers to a request of the wire."""
    choice: Any = body.get("tool_choice")
    if isinstance(choice, dict):
        choice = choice.get("function", {}).get("name")
    choice = {"auto": None, "required": "any"}.get(choice, choice)
    messages = convert_to_messages(body["messages"])
    tools = body.get("tools") or []
    return model.bind_tools(tools, tool_choice=choice).invoke(messages) if tools else model.invoke(messages)


def _wire_calls(answer: Answer) -> list[dict[str, Any]]:
    return [
        {"id": one.id, "type": "function", "function": {"name": one.name, "arguments": one.arguments}}
        for one in answer.calls
    ]


def _finish(answer: Answer) -> str:
    return answer.finish_reason or ("tool_calls" if answer.calls else "stop")


def _usage(answer: Answer, body: dict[str, Any]) -> dict[str, Any] | None:
    if answer.usage is not None:
        return dict(answer.usage) or None
    prompt = count_tokens_approximately(convert_to_messages(body["messages"]), tools=body.get("tools"))
    given = max(1, (len(answer.text or "") + sum(len(str(one.arguments)) for one in answer.calls)) // 4)
    return {"prompt_tokens": prompt, "completion_tokens": given, "total_tokens": prompt + given}


def _completion(answer: Answer, body: dict[str, Any]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": answer.text}
    if answer.reasoning is not None:
        message["reasoning_content"] = answer.reasoning
    if answer.calls:
        message["tool_calls"] = _wire_calls(answer)
    whole: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": body.get("model", _MODEL),
        "choices": [{"index": 0, "message": message, "finish_reason": _finish(answer)}],
    }
    if (usage := _usage(answer, body)) is not None:
        whole["usage"] = usage
    return whole


def _events(answer: Answer, body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    def event(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return {**shell, "choices": [choice]}

    shell = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 0, "model": body.get("model", _MODEL)}
    yield event({"role": "assistant", "content": ""})
    for piece in _pieces(answer.reasoning or ""):
        yield event({"reasoning_content": piece})
    for piece in _pieces(answer.text or ""):
        yield event({"content": piece})
    for index, one in enumerate(_wire_calls(answer)):
        arguments = one["function"]["arguments"]
        whole = not isinstance(arguments, str)
        first = {**one, "index": index, "function": {**one["function"], "arguments": arguments if whole else ""}}
        yield event({"tool_calls": [first]})
        for piece in [] if whole else _pieces(arguments):
            yield event({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    if answer.error_event is not None:
        yield {"error": {"message": answer.error_event, "type": "error", "code": None}}
        return
    yield event({}, _finish(answer))
    if (body.get("stream_options") or {}).get("include_usage") and (usage := _usage(answer, body)) is not None:
        yield {**shell, "choices": [], "usage": usage}


def _pieces(text: str, size: int = 24) -> Iterator[str]:
    for start in range(0, len(text), size):
        yield text[start : start + size]
