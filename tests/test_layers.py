"""The import rules: which layer may know which, read from the source with `ast`."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
BSMATH = sorted((ROOT / "bsmath").rglob("*.py"))
CHARTS = sorted((ROOT / "pages/charts").glob("*.py"))
UI = sorted((ROOT / "pages/ui").glob("*.py"))
PAGES = [ROOT / "app.py", *sorted((ROOT / "pages").glob("*.py"))]
MAY_TOUCH = {
    "pages/ui/state.py": {"session_state", "query_params"},
    "pages/ui/loaded.py": {"session_state"},  # under keys of its own
}


def imported(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            module = node.module or "bsmath"
            names |= {module} | {f"{module}.{alias.name}" for alias in node.names}
    return names


def tops(path: Path) -> set[str]:
    return {name.split(".")[0] for name in imported(path)}


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", BSMATH, ids=relative)
def test_bsmath_knows_no_display(path):
    assert not tops(path) & {"streamlit", "plotly", "pages", "app"}
    if "bench" not in path.parts:
        assert "torch" not in tops(path)
        calls = [node.func for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
        assert not [call for call in calls if isinstance(call, ast.Name) and call.id == "print"]


@pytest.mark.parametrize("path", CHARTS, ids=relative)
def test_charts_take_data_and_call_no_formula(path):
    assert "streamlit" not in tops(path)
    assert not {name for name in imported(path) if name.startswith(("bsmath", "pages.ui"))}


@pytest.mark.parametrize("path", PAGES, ids=relative)
def test_pages_compute_nothing(path):
    assert not tops(path) & {"numpy", "pandas", "plotly", "scipy", "math"}
    tree = ast.parse(path.read_text())
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.Try)]
    arithmetic = [node for node in ast.walk(tree) if isinstance(node, ast.BinOp) and not isinstance(node.op, ast.Mod)]
    assert not [f"line {node.lineno}" for node in arithmetic]


@pytest.mark.parametrize("path", [*PAGES, *CHARTS, *UI], ids=relative)
def test_only_state_touches_session_and_address(path):
    touched = {node.attr for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Attribute)}
    assert touched & {"session_state", "query_params"} <= MAY_TOUCH.get(relative(path), set())


@pytest.mark.parametrize("path", [*PAGES, *CHARTS, *UI], ids=relative)
def test_only_one_module_draws_charts_and_nobody_writes_html(path):
    text = path.read_text()
    assert "unsafe_allow_html" not in text
    assert path.name == "plot.py" or "plotly_chart" not in text


def test_every_page_of_the_shell_exists_and_every_file_is_a_page():
    listed = {node.args[0].value for node in ast.walk(ast.parse((ROOT / "pages/ui/shell.py").read_text()))
              if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Page"}  # fmt: skip
    assert listed == {relative(path) for path in PAGES}
