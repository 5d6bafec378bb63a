"""SIGKILL at boundaries of a whole run, over a served model and served pages: nothing lost, nothing paid twice."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent.parent
SAMPLE = 8


@pytest.mark.rule("D47", "D49", "D28", "D15")
def test_a_sample_of_kill_points_leaves_what_an_undisturbed_run_leaves() -> None:
    seed = os.environ.get("ZETETIC_TEST_SEED", "1911")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "kill.harness", "--sample", str(SAMPLE), "--seed", seed],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), str(TESTS.parent)])},
        capture_output=True,
        text=True,
        timeout=600,
    )
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{SAMPLE} kill points of" in done.stdout
