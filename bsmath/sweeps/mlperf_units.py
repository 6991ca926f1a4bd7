"""What the results of an MLPerf reference point count, and how that becomes optimizer steps.

One key, "Epochs to converge", holds epochs, samples, tokens or steps, and changes between versions of one benchmark:

    steps = results in steps = samples / BS = epochs * samples per epoch / BS = tokens / (BS * tokens per sequence)

B_crit depends on the unit, yet not on the samples per epoch or the tokens per sequence: these scale every step count alike and move
S_min alone. The likeliest unit is a rule of thumb, checked on 44 published files, and is asked unless the file shows it.
"""

from dataclasses import dataclass

import numpy as np

from bsmath.sweeps.columns import Found
from bsmath.sweeps.draft import CHOICES, Draft

ENTRY, SIZE, GRID = "entry", "BS", "evaluation grid"
"""Headers of the name of a reference point, of its global batch [samples] and of the spacing of its results [their unit]."""

ON_GRID = "the results are multiples of it"
"""Note of the column of the grid."""

UNITS = CHOICES["target_unit"]
EPOCHS, SAMPLES, TOKENS, STEPS = UNITS


@dataclass(frozen=True, kw_only=True)
class DataSet:
    """The training set of a benchmark."""

    samples: int
    """Samples of one epoch."""
    label: str
    """Its name."""
    source: str
    """Where the number stands."""
    sure: bool = True
    """Whether every run counts its epochs so; else the user is asked, with this as the likeliest answer."""


_MLCOMMONS = "https://github.com/mlcommons/"
IMAGENET = DataSet(samples=1_281_167, label="ImageNet", source="https://image-net.org/download.php (ILSVRC 2012)")
COCO = DataSet(  # 118,287 images, of which training uses those with objects
    samples=117_266, label="COCO 2017", source="https://cocodataset.org/#download", sure=False
)
OPEN_IMAGES = DataSet(
    samples=1_170_301,
    label="OpenImages MLPerf",
    source=f"{_MLCOMMONS}training/blob/master/retired_benchmarks/retinanet/README.md",
)
CRITEO = DataSet(
    samples=4_195_197_692,  # rows of days 0-22
    label="Criteo 1TB",
    source="https://github.com/pytorch/torchrec/blob/main/torchrec/datasets/criteo.py",
)
IGBH = DataSet(
    samples=20 * 4_730_280,  # "4,730,280 training seeds (5% of the entire training seeds)"
    label="IGBH-Full",
    source=f"{_MLCOMMONS}training/blob/master/retired_benchmarks/rgat/README.md",
)
KITS = DataSet(
    samples=210 - 42,  # cases less those that evaluation uses
    label="KiTS19",
    source=f"{_MLCOMMONS}training/blob/master/image_segmentation/pytorch/README.md, arXiv 1904.00445",
)
LIBRISPEECH = DataSet(  # training drops the longest utterances
    samples=281_241, label="LibriSpeech 960 h", source="https://www.openslr.org/12", sure=False
)
COSMOFLOW = DataSet(
    samples=524_288, label="CosmoFlow", source=f"{_MLCOMMONS}hpc/blob/main/cosmoflow/configs/cosmo.yaml"
)
DEEPCAM = DataSet(samples=121_266, label="CAM5", source=f"{_MLCOMMONS}hpc/tree/main/deepcam")
OC20 = DataSet(samples=2_000_000, label="OC20 2M", source=f"{_MLCOMMONS}hpc/blob/main/open_catalyst/README.md")

DATA_SETS = {
    "resnet": IMAGENET, "maskrcnn": COCO, "retinanet": OPEN_IMAGES, "dlrm": CRITEO, "dlrm_dcnv2": CRITEO, "gnn": IGBH, "rgat": IGBH,
    "unet3d": KITS, "rnnt": LIBRISPEECH, "cosmoflow": COSMOFLOW, "deepcam": DEEPCAM, "oc20": OC20,
}  # fmt: skip
"""By benchmark. "ssd" is another: it was trained on COCO up to version 1.1 and on OpenImages from 2.0 on."""

SSD_EPOCHS = 30
"""Epochs that tell them apart: 50 to 90 on COCO, 4 to 16 on OpenImages."""

SEQ_LEN = {"gpt3": 2048}
"""Tokens per sequence: evaluated "every 24576 samples (=50.33B tokens)", of which results in tokens are multiples of 50,331,648;
https://github.com/mlcommons/training/blob/master/retired_benchmarks/gpt3/megatron-lm/README.md."""

FRACTIONS = 0.1
"""Share of results that are no whole numbers from which they are epochs."""

FALLING = -0.5
"""d log result / d log BS from the smallest to the largest batch below which results are steps: the others hardly fall."""

LEAST_TOKENS, LEAST_SAMPLES = 1e8, 1e4
"""Typical result from which it counts tokens, or samples: epochs reach 4,500, samples 6e6, and tokens begin at 1e9."""


def settle(draft: Draft) -> None:
    """Give the columns of reference points their meaning, unit and scale; nothing for any other table."""
    header = next((header for header in draft.found if header.lower().endswith("to converge")), None)
    frame, corrected = draft.raw.frame, draft.answers.get("columns", {})
    if header is None or ENTRY not in frame or not {SIZE, GRID, header} <= set(frame.select_dtypes("number")):
        return
    sizes, results = frame[SIZE].to_numpy(float), frame[header].to_numpy(float)
    benchmark = str(frame["benchmark"].iloc[0]).lower() if "benchmark" in frame else ""
    unit, shown = likely(header, sizes, results)
    if not shown or "target_unit" in draft.answers:
        unit = draft.ask("target_unit", f"What does {header!r} count? The file does not say.", UNITS, unit)
    found = {
        SIZE: Found(meaning="batch_sequences", unit="sequences", scope="job"),
        ENTRY: Found(meaning="note"),
        GRID: Found(meaning="measurement", unit=unit),
        header: _meaning(draft, header, unit, benchmark, results),
    }
    draft.found |= {name: each for name, each in found.items() if name not in corrected}
    draft.notes[GRID] = f"{ON_GRID}; gives the resolution of the steps"


def resolution(draft: Draft, header: str | None, steps: np.ndarray) -> dict[str, np.ndarray]:
    """Steps between two evaluations of each row's run, where the file shows them."""
    if header is None or not draft.notes.get(GRID, "").startswith(ON_GRID):
        return {}
    results = draft.numbers(header) / draft.found[header].scale
    return {"resolution": steps * draft.raw.frame[GRID].to_numpy(float) / results}


def likely(header: str, sizes: np.ndarray, results: np.ndarray) -> tuple[str, bool]:
    """The likeliest unit of some results at some batches, and whether the file shows it beyond doubt."""
    named = header.split()[0].lower()
    if named in (SAMPLES, TOKENS, STEPS):
        return named, True
    if (results % 1 > 0).mean() > FRACTIONS:
        return EPOCHS, True
    batch = np.unique(sizes)
    typical = np.array([np.median(results[sizes == size]) for size in batch])
    if len(batch) > 1 and np.log(typical[-1] / typical[0]) < FALLING * np.log(batch[-1] / batch[0]):
        return STEPS, False
    if np.median(typical) >= LEAST_TOKENS:
        return TOKENS, False
    whole_steps = [np.median(results[sizes == size] % size) == 0 for size in batch]
    if np.mean(whole_steps) > 0.5 or np.median(typical) >= LEAST_SAMPLES:
        return SAMPLES, False
    return EPOCHS, False


def _meaning(draft: Draft, header: str, unit: str, benchmark: str, results: np.ndarray) -> Found:
    """What the column of results is, with the factor to that."""
    if unit == STEPS:
        return Found(meaning="steps", unit=unit)
    if unit == EPOCHS:
        return Found(
            meaning="samples_to_target", unit=unit, scale=_samples_per_epoch(draft, header, benchmark, results)
        )
    if unit == TOKENS and benchmark in SEQ_LEN:
        return Found(meaning="samples_to_target", unit=unit, scale=1 / SEQ_LEN[benchmark])
    if unit == TOKENS and (draft.headers("seq_len") or "seq_len" in draft.answers):
        return Found(meaning="tokens_to_target", unit=unit)
    if unit == TOKENS:
        what = "the tokens of one sequence are not known"
        draft.warn(what, "B_crit is right, S_min is too large by that factor", header)
    return Found(meaning="samples_to_target", unit=unit)


def _samples_per_epoch(draft: Draft, header: str, benchmark: str, results: np.ndarray) -> float:
    known = DATA_SETS.get(benchmark)
    if benchmark == "ssd":
        known = COCO if np.median(results) > SSD_EPOCHS else OPEN_IMAGES
    if known and known.sure and "samples_per_epoch" not in draft.answers:
        what = f"an epoch was taken for {known.samples:,} samples ({known.label})"
        draft.warn(what, "S_min depends on it, B_crit does not", header)
        return float(known.samples)
    text = "How many samples has one epoch? S_min depends on it, B_crit does not (1 leaves S_min without meaning)."
    return float(draft.ask("samples_per_epoch", text, default=str(known.samples) if known else "1"))
