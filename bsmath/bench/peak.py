"""The peak of an accelerator from the name by which PyTorch knows it, for the MFU. Needs no PyTorch."""

import re

from bsmath import presets

UNSAID = {"NVIDIA", "AMD", "SXM", "OAM", "HBM3", "HBM3E", "AC", "ONE", "GPU"}
"""Words that one of the two, a device's own name and a preset's label, may leave out. NVIDIA's names without PCIe or NVL
are those of SXM modules; AC says how they are cooled."""


def known_peak(device_name: str, dtype: str) -> float | None:
    """Dense peak of the preset accelerator with this name; None for any other, and in other types than BF16. [FLOP/s]"""
    if dtype != "bfloat16":
        return None
    words, memory = _said(device_name)
    for preset in presets.hardware().values():
        if "peak_flops" in preset.unverified:
            continue  # no basis for an MFU; an Apple chip is also the name of its CPU
        if _said(preset.label)[0] == words and memory in (None, round((preset.memory or 0) / 1e9)):
            return preset.peak_flops
    return None


def _said(name: str) -> tuple[set[str], int | None]:
    """The words that tell accelerators apart, and the memory [GB] where the name has it."""
    text = re.sub(r"\bSXM\d\b", "SXM", name.upper().replace("-", " "))
    memory = re.search(r"\b(\d+) ?GB\b", text)
    words = re.findall(r"\w+", text.replace(memory[0], "") if memory else text)
    return set(words) - UNSAID, int(memory[1]) if memory else None
