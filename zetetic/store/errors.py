"""The one exception of the store."""


class StoreError(Exception):
    """The store cannot do what was asked. The message says why, and what the person can do about it."""


class Conflict(Exception):
    """Another writer appended first: internal, answered by reloading and deciding again."""
