"""The notebook is committed without outputs and runs from top to bottom."""

import os
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from jupyter_client import AsyncKernelManager
from jupyter_client.kernelspec import KernelSpec
from nbclient import NotebookClient

ROOT = Path(__file__).parent.parent.parent
NOTEBOOK = ROOT / "notebooks" / "example.ipynb"
SECONDS = 120


class OwnKernel(AsyncKernelManager):  # type: ignore[misc]
    """A kernel of the Python that runs the tests, whatever kernels are installed."""

    @property
    def kernel_spec(self) -> KernelSpec:
        command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        return KernelSpec(argv=command, display_name="this", language="python")


def text_of(output: dict[str, Any]) -> str:
    data = output.get("data", {})
    return "\n".join(
        [output.get("text", ""), *(data.get(kind, "") for kind in ("text/plain", "text/markdown", "text/html"))]
    )


def test_it_is_committed_without_outputs() -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    assert [cell.outputs for cell in notebook.cells if cell.cell_type == "code" and cell.outputs] == []
    assert [cell.execution_count for cell in notebook.cells if cell.cell_type == "code" and cell.execution_count] == []


@pytest.mark.rule("D45")
@pytest.mark.parametrize("folder", [ROOT, NOTEBOOK.parent], ids=["from the top", "from notebooks"])
def test_it_runs_from_top_to_bottom(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("PYTHONWARNINGS", "error::ResourceWarning")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    client = NotebookClient(
        notebook,
        kernel_manager_class=OwnKernel,
        timeout=SECONDS,
        resources={"metadata": {"path": str(folder)}},
    )
    client.execute()
    shown = ["\n".join(text_of(o) for o in cell.outputs) for cell in notebook.cells if cell.cell_type == "code"]
    everything = "\n".join(shown)
    assert all(heading in everything for heading in ("## Summary", "## Details", "## Sources", "240 megawatts"))
    assert "[q_001]" in everything
    assert "<table>" in everything
    assert "<td>VERIFIED</td>" in shown[-1]
    assert [
        output for cell in notebook.cells for output in cell.get("outputs", []) if output.output_type == "error"
    ] == []
    assert [o.text for c in notebook.cells for o in c.get("outputs", []) if o.get("name") == "stderr"] == []
