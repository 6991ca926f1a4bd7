"""Which accelerator a device's own name is, and that no other is taken for one."""

import pytest

from bsmath.bench.peak import known_peak


@pytest.mark.parametrize(
    "device_name, peak_flops",
    [
        ("NVIDIA H100 80GB HBM3", 989e12),
        ("NVIDIA H100 PCIe", 756e12),
        ("NVIDIA H200", 989e12),
        ("NVIDIA A100-SXM4-80GB", 312e12),
        ("NVIDIA A100-SXM4-40GB", 312e12),
        ("NVIDIA A100 80GB PCIe", 312e12),
        ("NVIDIA B200", 2250e12),
        ("NVIDIA GB200", 2500e12),
        ("NVIDIA B300 SXM6 AC", 2250e12),
        ("NVIDIA L4", 121e12),
        ("NVIDIA L40S", 362e12),
        ("NVIDIA GeForce RTX 3090", 71e12),
        ("NVIDIA GeForce RTX 4090", 165.2e12),
        ("AMD Instinct MI300X", 1307e12),
    ],
)
def test_a_known_device_has_the_dense_bf16_peak_of_its_preset(device_name, peak_flops):
    assert known_peak(device_name, "bfloat16") == peak_flops


@pytest.mark.parametrize(
    "device_name",
    [
        "NVIDIA H100 NVL",  # a PCIe card with another peak
        "NVIDIA H200 NVL",
        "NVIDIA H100 64GB HBM2",
        "NVIDIA H100 80GB HBM3 MIG 1g.10gb",  # a seventh of the device
        "NVIDIA A100-SXM4-40GB MIG 3g.20gb",
        "NVIDIA GH200 480GB",
        "NVIDIA H800",
        "NVIDIA H20",
        "NVIDIA L40",
        "NVIDIA GeForce RTX 3090 Ti",
        "NVIDIA GeForce RTX 4090 D",
        "NVIDIA GeForce RTX 4090 Laptop GPU",
        "NVIDIA RTX 4090",
        "AMD Instinct MI250X",  # PyTorch sees one of the two dies that the preset counts
        "Tesla V100-SXM2-16GB",
        "NVIDIA Graphics Device",
        "AMD EPYC",
        "",
    ],
)
def test_any_other_device_has_no_peak(device_name):
    assert known_peak(device_name, "bfloat16") is None


def test_the_peak_of_bf16_is_not_that_of_float32():
    assert known_peak("NVIDIA H200", "float32") is None


def test_a_chip_without_a_confirmed_peak_has_none():
    assert known_peak("Apple M3 Max", "bfloat16") is None
