"""The new run in a trainer's own syntax, and the old run read from one."""

import streamlit as st

from bsmath import exports
from bsmath.change_outlook import ChangeOutlook
from pages.ui import actions, text


def new_run(found: ChangeOutlook) -> None:
    """The new settings as text to copy and as a file, with what this trainer counts in which unit."""
    kind = st.segmented_control(
        "Trainer",
        list(exports.EXPORTS),
        default=next(iter(exports.EXPORTS)),
        required=True,
        format_func=lambda name: exports.EXPORTS[name].label,
        key="export_trainer",
        label_visibility="collapsed",
    )
    chosen = exports.EXPORTS[kind]
    recipe = found.change.new.rounded()
    written = chosen.write(recipe)
    st.code(written, language=chosen.language, wrap_lines=True)
    st.download_button(f"Download {chosen.file}", written, chosen.file, "text/plain", on_click="ignore")
    for sentence in chosen.notes(recipe):
        st.caption(text.plain(sentence))


def paste() -> None:
    """A box for the old configuration."""
    st.text_area(
        "Configuration of the old run",
        key="old_config",
        height=140,
        placeholder="--micro-batch-size 4 --global-batch-size 256 --seq-length 4096 --lr 3e-4 ...",
        help="Flags of Megatron-LM or nanochat, torchtitan's TOML, TrainingArguments, DeepSpeed's JSON, nanoGPT's or OLMo-core's Python.",
    )
    st.button("Read it", on_click=actions.read_old_config)
