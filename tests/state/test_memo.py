"""What is remembered of a frozen value is what the function would give, and never another value's."""

from concurrent.futures import ThreadPoolExecutor

from hypothesis import given
from hypothesis import strategies as st

from zetetic.state.memo import ByIdentity


class Value:
    def __init__(self, number: int) -> None:
        self.number = number


def test_the_same_value_is_looked_at_once_and_an_equal_one_anew() -> None:
    looked: list[int] = []

    def twice(value: Value) -> int:
        looked.append(value.number)
        return 2 * value.number

    remembered = ByIdentity(twice)
    one, other = Value(1), Value(1)
    assert [remembered(one), remembered(one), remembered(other)] == [2, 2, 2]
    assert looked == [1, 1]


@given(st.lists(st.integers(0, 30), max_size=200), st.integers(1, 8))
def test_no_value_gets_what_another_had_however_many_come_and_go(numbers: list[int], kept: int) -> None:
    remembered = ByIdentity(lambda value: value.number, kept)
    held = {n: Value(n) for n in range(0, 31, 2)}
    for number in numbers:
        value = held.get(number) or Value(number)
        assert remembered(value) == number
        del value
    assert len(remembered._kept) <= kept


def test_threads_may_share_one() -> None:
    """A store decides in a thread while prompts are written in another."""
    remembered = ByIdentity(lambda value: value.number, 3)
    values = [Value(n) for n in range(50)]

    def asked(start: int) -> bool:
        return all(remembered(values[(start + n) % 50]) == (start + n) % 50 for n in range(5000))

    with ThreadPoolExecutor(4) as threads:
        assert all(threads.map(asked, range(0, 40, 10)))
