"""What is disputed in the literature, as a folded list at the end of a page and whole on the Reference."""

import streamlit as st

from bsmath import disagreements
from bsmath.disagreements import Disagreement
from pages.ui import shell, text


def show(page_name: str) -> None:
    """The disputes that bear on one page, folded; nothing where there are none."""
    found = disagreements.for_page(page_name)
    if found:
        shell.folded("What is disputed", f"disputed_{page_name}", _listed, found)


def section() -> None:
    """All of them, for the Reference."""
    st.subheader("What the literature disagrees on", anchor=False)
    _listed(disagreements.ITEMS)


def sentence(one: Disagreement) -> str:
    """One dispute in two sentences: who says what, and what is done here."""
    sides = "; ".join(f"{text.plain(side.says)} ({text.plain(side.source)})" for side in one.sides)
    return f"**{one.subject}** {sides[0].upper()}{sides[1:]}. *Here*: {text.plain(one.here)}"


def _listed(found: tuple[Disagreement, ...]) -> None:
    st.markdown("\n".join(f"- {sentence(one)}" for one in found))
