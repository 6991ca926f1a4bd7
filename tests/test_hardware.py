"""The accelerators of data/hardware.toml against the table of peaks, memories and links that they stand for."""

import dataclasses

import pytest
from numpy.testing import assert_allclose

from bsmath import presets
from bsmath.communication import compute_bound_tokens

TABLE = [  # BF16 TFLOP/s, FP8, GB, TB/s, GB/s one way
    ("a100_40_sxm", 312, None, 40, 1.555, 300),
    ("a100_80_sxm", 312, None, 80, 2.039, 300),
    ("a100_80_pcie", 312, None, 80, 1.935, 31),
    ("h100_sxm", 989, 1979, 80, 3.35, 450),
    ("h100_pcie", 756, 1513, 80, 2.0, 63),
    ("h200_sxm", 989, 1979, 141, 4.8, 450),
    ("b200_sxm", 2250, 4500, 180, 8.0, 900),
    ("gb200", 2500, 5000, 186, 8.0, 900),
    ("b300_sxm", 2250, 4500, 288, 8.0, 900),
    ("gb300", 2500, 5000, 288, 8.0, 900),
    ("mi250x", 383, None, 128, 3.28, 350),
    ("mi300x", 1307, 2615, 192, 5.3, 448),
    ("mi325x", 1307, 2615, 256, 6.0, 448),
    ("mi355x", 2500, 5000, 288, 8.0, 535.5),
    ("tpu_v4", 275, None, 32 * 1.073741824, 1.2, 270),  # GiB
    ("tpu_v5e", 197, None, 16, 0.82, 180),
    ("tpu_v5p", 459, 459, 95, 2.76, 540),
    ("tpu_v6e", 918, 918, 32, 1.6, 360),
    ("tpu7x", 2307, 4614, 192 * 1.073741824, 7.38, 600),  # GiB; one chip, two devices
    ("gaudi_2", 432, 865, 96, 2.46, 300),
    ("gaudi_3", 1677, 1677, 128, 3.7, 600),
    ("l4", 121, 242, 24, 0.30, 31),
    ("l40s", 362, 733, 48, 0.864, 31),
    ("rtx_3090", 71, None, 24, 0.936, 31),
    ("rtx_4090", 165.2, 330, 24, 1.008, 31),
    ("rtx_5090", 209.5, 419, 32, 1.792, 63),
    ("apple_m3_max", 14, None, None, 0.40, None),
    ("apple_m4_max", 18, None, None, 0.546, None),
    ("apple_m3_ultra", 28, None, None, 0.819, None),
]
UNVERIFIED = {
    "gb300": {"memory"},
    "tpu7x": {"memory_bandwidth"},
    "l4": {"peak_flops_fp8", "memory"},
    "rtx_3090": {"memory"},
    "rtx_4090": {"peak_flops_fp8", "memory"},
    "rtx_5090": {"peak_flops_fp8", "memory"},
    "apple_m3_max": {"peak_flops", "memory_bandwidth"},
    "apple_m4_max": {"peak_flops", "memory_bandwidth"},
    "apple_m3_ultra": {"peak_flops", "memory_bandwidth"},
}
TOML = """
[device]
label = "Device"
peak_flops = 1e14
memory_bandwidth = 1e12
scale_up_devices = 8
unverified = ["peak_flops"]
note = "Measure it."
source = "https://example.org/device"
"""


@pytest.mark.parametrize("key, bf16, fp8, memory, bandwidth, link", TABLE)
def test_figures_are_those_of_the_table(key, bf16, fp8, memory, bandwidth, link):
    device = presets.hardware()[key]
    figures = [device.peak_flops, device.peak_flops_fp8, device.memory, device.memory_bandwidth, device.link_bandwidth]
    for figure, printed, unit in zip(figures, (bf16, fp8, memory, bandwidth, link), (1e12, 1e12, 1e9, 1e12, 1e9)):
        assert (figure is None) == (printed is None)
        if printed is not None:
            assert_allclose(figure, printed * unit, rtol=1e-3)


def test_the_table_and_the_file_have_the_same_devices():
    assert set(presets.hardware()) == {row[0] for row in TABLE}


@pytest.mark.parametrize(
    "key, measured, printed",  # fastest BF16 matmul [TFLOP/s] and its share of the peak, ml-engineering
    [
        ("a100_40_sxm", 271, 0.869),
        ("a100_80_sxm", 271, 0.869),
        ("h100_sxm", 794.5, 0.803),
        ("h200_sxm", 794.5, 0.803),
        ("b200_sxm", 1745, 0.776),
        ("mi300x", 668, 0.51),
        ("mi325x", 785, 0.60),
        ("mi355x", 1565, 0.63),
        ("gaudi_2", 419, 0.97),
        ("gaudi_3", 1243, 0.74),
    ],
)
def test_the_measured_matmul_ceiling_is_the_published_one(key, measured, printed):
    device = presets.hardware()[key]
    assert_allclose(device.matmul_efficiency, measured * 1e12 / device.peak_flops, atol=1e-3)
    assert_allclose(device.matmul_efficiency, printed, atol=5e-3)


def test_unverified_figures_are_marked_and_all_others_are_not():
    marked = {key: set(device.unverified) for key, device in presets.hardware().items() if device.unverified}
    assert marked == UNVERIFIED


def test_an_unverified_figure_is_given():
    for device in presets.hardware().values():
        assert all(getattr(device, name) is not None for name in device.unverified)


def test_only_devices_whose_buyer_chooses_it_have_no_memory():
    without = {key for key, device in presets.hardware().items() if device.memory is None}
    assert without == {"apple_m3_max", "apple_m4_max", "apple_m3_ultra"}
    assert all("FP32" in presets.hardware()[key].note for key in without)


def test_a_scale_up_network_has_a_bandwidth():
    for device in presets.hardware().values():
        assert device.scale_up_devices is None or device.link_bandwidth is not None


@pytest.mark.parametrize(
    "devices, keys",
    [
        (8, ("a100_80_sxm", "h100_sxm", "h200_sxm", "b200_sxm", "b300_sxm", "mi300x", "mi355x", "gaudi_3")),
        (72, ("gb200", "gb300")),
        (256, ("tpu_v5e", "tpu_v6e")),
        (4096, ("tpu_v4",)),
        (6144, ("tpu_v5p",)),
        (9216, ("tpu7x",)),
        (None, ("a100_80_pcie", "h100_pcie", "l4", "rtx_4090", "apple_m4_max")),
    ],
)
def test_scale_up_networks_are_as_large_as_published(devices, keys):
    assert {presets.hardware()[key].scale_up_devices for key in keys} == {devices}


def test_a_board_of_h100_hides_its_all_reduce_from_961_tokens_up_at_half_the_peak():
    device = presets.hardware()["h100_sxm"]
    tokens = compute_bound_tokens(device.scale_up_devices, device.peak_flops / 2, device.link_bandwidth)
    assert_allclose(tokens, 961.5, atol=0.05)


def test_an_entry_without_memory_is_read(tmp_path):
    path = tmp_path / "hardware.toml"
    path.write_text(TOML)
    device = presets.read_hardware(path)["device"]
    assert (device.memory, device.unverified, device.note) == (None, ("peak_flops",), "Measure it.")
    assert dataclasses.replace(device, unverified=()).unverified == ()


@pytest.mark.parametrize(
    "old, new, message",
    [
        ('["peak_flops"]', '"peak_flops"', "unverified must be a list of fields, got 'peak_flops'"),
        ('["peak_flops"]', '["label"]', "unverified must be one of peak_flops, peak_flops_fp8, memory"),
        ("scale_up_devices = 8", "scale_up_devices = 1.5", "scale_up_devices must be a whole number, got 1.5"),
        ("scale_up_devices = 8", "scale_up_devices = 1", "scale_up_devices must be a whole number from 2"),
        ("Measure it.", "", "note must be filled in, got ''"),
    ],
)
def test_a_wrong_entry_names_the_field_and_the_rule(tmp_path, old, new, message):
    path = tmp_path / "hardware.toml"
    path.write_text(TOML.replace(old, new))
    with pytest.raises((TypeError, ValueError)) as error:
        presets.read_hardware(path)
    assert str(error.value).startswith(f"hardware.toml: device.{message}")
