"""Build the package with the plotly.min.js of the installed plotly beside its own script, so that the repository need not hold it."""

import shutil
from pathlib import Path

import plotly
from setuptools import setup
from setuptools.command.build_py import build_py


class WithPlotly(build_py):
    """Copy Python files and package data, then Plotly's script."""

    def run(self):
        super().run()
        source = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
        shutil.copy(source, Path(self.build_lib) / "bsmath_chart" / "frontend")


setup(cmdclass={"build_py": WithPlotly})
