"""A Plotly chart for Streamlit that is changed in place: see frontend/chart.js. Streamlit finds it by pyproject.toml beside this file."""
