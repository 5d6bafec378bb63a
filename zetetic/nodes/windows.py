"""How much a model's context window leaves for a prompt, and prompts that are made smaller by their own rules until
they fit (CASES 9, 15)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, SystemMessage
from langchain_core.messages.utils import count_tokens_approximately

from zetetic.models import ProviderError, known_window, model_name, window_for
from zetetic.state.prompt_notes import CHARACTERS_PER_TOKEN
from zetetic.state.research import Research
from zetetic.tools import tool_schemas

from .prompts import SYSTEM
from .small_prompts import EXTRACT_SYSTEM

Role = Literal["worker", "evaluator", "extractor"]
T = TypeVar("T")
Prompt = Callable[[int], Awaitable[Sequence[BaseMessage] | None]]
"""A prompt in steps: whole at 0, smaller at each further one, None where there is no smaller one."""

_ANSWER_SHARE = 4
"""One part in so many of a small window is the answer's."""
_LEAST_ANSWER = 256
_SAFE = 0.9
"""Our count of tokens is an estimate: so much of a window is planned with where the server's own count is not known."""
_SMALLER = 0.6
"""Where a refusal tells no number, the next prompt is at most this part of the refused one."""
_LEAST_WORK = {"worker": 1200, "evaluator": 1200, "extractor": 1500}
"""Tokens of task, question and material without which a prompt asks for nothing, by role."""
_LEAST_OUTPUT = {"worker": 1024, "evaluator": 512, "extractor": 512}
_LEAST_INLINE = 400
"""Characters of a page that are shown to the worker itself in the smallest window."""
_MOST_STEPS = 4
"""How often the texts of a small prompt are halved."""
_LEAST_PART = 1000
"""Characters of the smallest part of a page that is read on its own."""


class WindowTooSmall(ValueError):
    """A model's window cannot hold even the smallest prompt of its role; the message says what would do."""


@dataclass(frozen=True, slots=True)
class Room:
    """What a window leaves: tokens of the prompt by our own count, and tokens of the answer."""

    prompt: int
    answer: int


def room_in(window: int, answer: int) -> Room:
    """The room in a window of so many tokens, of which the answer may take `answer` at most."""
    kept = min(answer, max(_LEAST_ANSWER, window // _ANSWER_SHARE))
    return Room(max(1, int((window - kept) * _SAFE)), kept)


def learned(error: ProviderError, size: int, before: Room | None, answer: int) -> Room:
    """The room after a prompt of `size` tokens was refused; always less than before."""
    answer = min(answer, before.answer) if before is not None else answer
    if error.window is None:
        return Room(int(size * _SMALLER), max(min(answer, _LEAST_ANSWER * 2), answer // 2))
    room = room_in(error.window, answer)
    if error.asked:  # by the server's own count, so ours can be put beside it
        room = Room(max(1, int((error.window - room.answer) * size / error.asked * _SAFE)), room.answer)
    else:
        room = Room(min(room.prompt, int(size * _SMALLER)), room.answer)
    if before is not None and room.prompt >= size and room.answer >= before.answer:
        return Room(int(size * _SMALLER), room.answer)
    return room


async def fitted(
    rooms: MutableMapping[Role, Room],
    role: Role,
    prompt: Prompt,
    tools: Sequence[dict[str, Any]],
    answer: int,
    asked: Callable[[Sequence[BaseMessage]], Awaitable[T]],
) -> T:
    """What `asked` brings for the largest step of the prompt that fits; the room found is kept for the rest of the run.

    A step is asked again only where the answer was left too much room. Raises ProviderError, with the window needed,
    where not even the smallest step fits.
    """
    step = 0
    messages = await prompt(step)
    assert messages is not None
    while True:
        size = count_tokens_approximately(list(messages), tools=list(tools))
        room = rooms.get(role)
        fits = room is None or size <= room.prompt
        smaller = None if fits else await prompt(step + 1)
        if smaller is None:  # the smallest is asked in any case: our count is an estimate
            try:
                return await asked(messages)
            except ProviderError as error:
                if not error.has_to_shrink:
                    raise
                rooms[role] = learned(error, size, room, answer)
                narrower = fits and (room is None or rooms[role].answer < room.answer)
                if narrower and size <= rooms[role].prompt:
                    continue
                smaller = await prompt(step + 1)
                if smaller is None:
                    raise _too_small(role, size, error) from None
        step, messages = step + 1, smaller


def _too_small(role: Role, size: int, refused: ProviderError) -> ProviderError:
    """What is said where even the smallest prompt, of `size` tokens, was refused."""
    needed = window_for(size + _LEAST_OUTPUT[role])
    return ProviderError(
        refused.kind,
        f"Even the smallest prompt of the {role}, about {size} tokens, does not fit; a context window of at least "
        f"{needed} tokens would do. {refused.message}",
        refused.retry_after,
        too_large=refused.too_large,
    )


def one_size(messages: Sequence[BaseMessage]) -> Prompt:
    """A prompt that cannot be made smaller."""

    async def steps(step: int) -> Sequence[BaseMessage] | None:
        return messages if step == 0 else None

    return steps


# What is planned with from the start.


def least_window(role: Role) -> int:
    """The smallest window in which a role can work at all (tokens)."""
    if role == "worker":
        fixed = count_tokens_approximately([SystemMessage(SYSTEM)], tools=[*tool_schemas()])
    else:
        fixed = count_tokens_approximately([SystemMessage(EXTRACT_SYSTEM)], tools=[*tool_schemas(("notes_append",))])
    return -(-(fixed + _LEAST_WORK[role] + _LEAST_OUTPUT[role]) // 1024) * 1024


async def known_rooms(models: Mapping[Role, BaseChatModel], answers: Mapping[Role, int]) -> dict[Role, Room]:
    """The room of each role whose model or server tells its window, before anything is spent.

    Raises WindowTooSmall for a window in which its role could never work (CASES 9).
    """
    rooms: dict[Role, Room] = {}
    found: dict[tuple[str, str], int | None] = {}
    for role, model in models.items():
        place = (model_name(model), str(getattr(model, "openai_api_base", "")))
        if place not in found:
            found[place] = await known_window(model)
        window = found[place]
        if window is None:
            continue
        if window < least_window(role):
            raise WindowTooSmall(
                f"The model {place[0]!r} has a context window of {window} tokens; as {role} it needs at least "
                f"{least_window(role)}: start its server with a larger one (llama.cpp: -c, vLLM: --max-model-len, "
                f"Ollama: OLLAMA_CONTEXT_LENGTH, LM Studio: the model's context length), or name another {role}."
            )
        rooms[role] = room_in(window, answers[role])
    return rooms


def inline_chars(rooms: Mapping[Role, Room], threshold: int) -> int:
    """The largest page that the worker's prompt shows as it is, so that a few fit in beside the rest (characters)."""
    room = rooms.get("worker")
    if room is None:
        return threshold
    spare = room.prompt + _LEAST_OUTPUT["worker"] - least_window("worker")
    return min(threshold, max(_LEAST_INLINE, spare))


def within(r: Research, rooms: Mapping[Role, Room]) -> Research:
    """The research with the sizes of page texts that the models' windows allow."""
    t = r.thresholds
    sizes = {
        "extraction_threshold": inline_chars(rooms, t.extraction_threshold),
        "extraction_prompt_chars": part_chars(rooms, t.extraction_prompt_chars),
    }
    return r.model_copy(update={"thresholds": t.model_copy(update=sizes)}) if rooms else r


def smaller(r: Research, step: int) -> Research | None:
    """The research with half the texts in its small prompts at each step; None after the last."""
    if step > _MOST_STEPS:
        return None
    t = r.thresholds
    halved = {
        "extraction_prompt_chars": t.extraction_prompt_chars >> step,
        "notes_max_tokens": max(1, t.notes_max_tokens >> step),
    }
    return r.model_copy(update={"thresholds": t.model_copy(update=halved)}) if step else r


def part_chars(rooms: Mapping[Role, Room], most: int) -> int:
    """How much page text one prompt of the extractor holds (characters)."""
    room = rooms.get("extractor")
    if room is None:
        return most
    fixed = least_window("extractor") - _LEAST_OUTPUT["extractor"] - _LEAST_WORK["extractor"] // 2
    return min(most, max(_LEAST_PART, (room.prompt - fixed) * CHARACTERS_PER_TOKEN))
