"""Two or more measured series laid over each other, and in words how they differ."""

import streamlit as st

from bsmath import difference
from bsmath.measured import Measurement
from pages.ui import overlay, text


def section(found: list[Measurement]) -> None:
    """How each further series differs from the first; nothing for one series."""
    for other in found[1:]:
        said = overlay.beside(
            other,
            f"against {found[0].source} {found[0].series} {found[0].label}",
            lambda other=other: difference.between(found[0], other),
        )
        if said:
            st.markdown(
                f"**{text.plain(other.label)}** against **{text.plain(found[0].label)}**: {' '.join(map(text.plain, said))}"
            )
