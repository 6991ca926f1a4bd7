import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from numpy.testing import assert_allclose

from bsmath import communication, throughput
from bsmath.step_terms import TERMS, effective, over_batch, step_terms

# A 7B model in BF16 on 64 H100 at half their peak, replicas connected by 50e9 bytes/s each: 0.55125 s for an all-reduce.
ACHIEVED = 989e12 * 0.5
JOB = {
    "fixed_time": 0.05,
    "micro_batch_time": 0.01,
    "data_parallel_size": 64,
    "plateau": 64 * ACHIEVED / 42e9,
    "gradient_bytes_total": 14e9,
    "bandwidth": 50e9,
    "overlap": 0.0,
    "zero_stage": 0,
    "weight_bytes": 14e9,
    "memory_bandwidth": 3.35e12,
}
ONE = JOB | {"data_parallel_size": 1, "plateau": ACHIEVED / 42e9}
COMPUTE = 4096 * 42e9 / ACHIEVED  # 0.347891 s, of which backward is 0.231927 s
JOBS = some.fixed_dictionaries(
    {
        "fixed_time": some.floats(0, 1),
        "micro_batch_time": some.floats(0, 0.1),
        "micro_tokens": some.floats(100, 1e5),
        "data_parallel_size": some.integers(1, 1024),
        "plateau": some.floats(1e4, 1e8),
        "gradient_bytes_total": some.floats(1e8, 1e11),
        "bandwidth": some.floats(1e9, 1e12),
        "latency": some.floats(0, 1e-5),
        "overlap": some.floats(0, 1),
        "zero_stage": some.integers(0, 3),
        "weight_bytes": some.floats(1e8, 1e11),
        "memory_bandwidth": some.floats(1e11, 1e13),
    }
)


def terms(micro_tokens=4096, grad_accum_steps=1, **changes):
    return step_terms(micro_tokens=micro_tokens, grad_accum_steps=grad_accum_steps, **JOB | changes)


def test_terms_of_the_7b_job_add_up_without_overlap():
    step = terms(grad_accum_steps=4)
    assert_allclose([step.fixed, step.micro_overhead, step.compute], [0.05, 0.04, 4 * COMPUTE])
    assert step.weight_reads == 0
    assert_allclose(step.all_reduce, 0.55125)
    assert_allclose(step.total, 0.05 + 0.04 + 4 * 0.347891 + 0.55125, rtol=1e-5)


def test_only_one_backward_pass_hides_the_all_reduce_at_any_accumulation():
    for steps in (1, 4, 100):
        assert_allclose(terms(grad_accum_steps=steps, overlap=1).all_reduce, 0.55125 - 0.231927, rtol=1e-5)
        assert_allclose(terms(grad_accum_steps=steps, overlap=0.5).all_reduce, 0.55125 - 0.115964, rtol=1e-5)


def test_full_overlap_hides_the_all_reduce_from_the_compute_bound_tokens_up():
    tokens = communication.compute_bound_tokens(64, ACHIEVED, 50e9)
    assert_allclose(tokens, 9_735, atol=1)
    exposed = terms(tokens * np.array([0.9, 1, 1.1]), overlap=1).all_reduce
    assert exposed[0] > 0.05
    assert_allclose(exposed[1:], 0, atol=1e-12)


def test_zero_3_gathers_parameters_in_every_micro_batch():
    # One pass over the ring takes 0.275625 s: reduce-scatter once, gather twice per micro-batch.
    assert_allclose(terms(grad_accum_steps=4, zero_stage=3).all_reduce, (1 + 2 * 4) * 0.275625)
    assert_allclose(terms(zero_stage=3).all_reduce, 1.5 * terms(zero_stage=0).all_reduce)
    # Behind 0.347891 s of arithmetic 0.203359 s of the gathers stay exposed; nothing is left to hide the gradients.
    assert_allclose(terms(grad_accum_steps=4, zero_stage=3, overlap=1).all_reduce, 4 * 0.203359 + 0.275625, rtol=1e-5)


def test_zero_3_hides_gradients_behind_what_its_gathers_leave():
    # 8,192 tokens: 0.695782 s of arithmetic, gathers 0.55125 s, so 0.144532 s hide a reduce-scatter of 0.275625 s.
    assert_allclose(terms(8192, zero_stage=3, overlap=1).all_reduce, 0.275625 - 0.144532, rtol=1e-5)
    assert terms(32_768, grad_accum_steps=3, zero_stage=3, overlap=1).all_reduce == 0


def test_small_micro_batches_pay_for_reading_the_weights():
    # 64 tokens: 5.4357 ms of arithmetic under 12.5373 ms of reading, twice.
    step = terms(64, grad_accum_steps=2)
    assert_allclose(step.weight_reads, 2 * (0.0125373 - 0.0054357), rtol=1e-4)
    assert terms(148).weight_reads == 0  # the achieved 494.5e12 FLOP/s over 3.35e12 bytes/s is 147.6


def test_one_device_without_other_costs_is_the_plain_step_time():
    batch = np.geomspace(1e4, 1e7, 20)
    plain = over_batch(batch, 8192, **ONE | {"micro_batch_time": 0})
    assert_allclose(plain.total, throughput.step_time(batch, 0.05, ONE["plateau"]), rtol=1e-15)
    assert not plain.all_reduce.any() and not plain.weight_reads.any()


def test_dominant_is_the_name_of_the_longest_term():
    assert terms().dominant == "all_reduce"
    assert terms(grad_accum_steps=8).dominant == "compute"
    assert terms(64, data_parallel_size=1, plateau=ONE["plateau"]).dominant == "fixed"
    assert list(terms(grad_accum_steps=np.array([1, 8])).dominant) == ["all_reduce", "compute"]


@given(JOBS, some.integers(1, 200))
def test_step_time_is_a_straight_line_at_a_fixed_micro_batch(job, steps):
    fixed, plateau = effective(**job)
    tokens = steps * job["micro_tokens"] * job["data_parallel_size"]
    assert_allclose(fixed + tokens / plateau, step_terms(grad_accum_steps=steps, **job).total, rtol=1e-9)


def test_effective_line_of_the_7b_job():
    fixed, plateau = effective(micro_tokens=4096, **JOB | {"overlap": 1})
    assert_allclose(fixed, 0.05 + 0.319323, rtol=1e-5)
    assert_allclose(plateau, 64 * 4096 / (COMPUTE + 0.01))


@given(JOBS)
def test_the_curve_over_batches_is_continuous_where_accumulation_starts(job):
    smallest = job.pop("micro_tokens") * job["data_parallel_size"]
    around = over_batch(smallest * np.array([1 - 1e-12, 1, 1 + 1e-12]), smallest, **job)
    assert_allclose(around.total, around.total[1], rtol=1e-9)


def test_the_curve_over_batches_meets_the_steps_at_whole_accumulations():
    smallest = 64 * 4096
    curve = over_batch(smallest * np.array([0.25, 1, 2, 7]), smallest, **JOB)
    expected = [terms(1024), terms(), terms(grad_accum_steps=2), terms(grad_accum_steps=7)]
    for name in TERMS:
        assert_allclose(getattr(curve, name), [getattr(step, name) for step in expected])


def test_a_vanishing_batch_still_pays_for_everything_but_arithmetic():
    step = over_batch(1e-6, 64 * 4096, **JOB)
    assert_allclose(step.total, 0.05 + 0.01 + 3 * 14e9 / 3.35e12 + 0.55125)
    assert_allclose(step.compute, 0, atol=1e-9)


@pytest.mark.parametrize("name", ["overlap", "bandwidth", "memory_bandwidth", "plateau"])
@given(job=JOBS, steps=some.integers(1, 50), share=some.floats(0.01, 1))
def test_more_of_it_is_never_slower(name, job, steps, share):
    less = job | {name: share * job[name]}
    assert step_terms(grad_accum_steps=steps, **less).total >= step_terms(grad_accum_steps=steps, **job).total * (
        1 - 1e-12
    )


@given(JOBS)
def test_a_larger_batch_never_takes_less_time_and_never_has_a_lower_rate(job):
    smallest = job.pop("micro_tokens") * job["data_parallel_size"]
    batch = smallest * np.geomspace(1e-3, 1e3, 200)
    seconds = over_batch(batch, smallest, **job).total
    assert (np.diff(seconds) >= -1e-9 * seconds[1:]).all()
    assert (np.diff(batch / seconds) >= -1e-9 * (batch / seconds)[1:]).all()


@given(JOBS, some.integers(1, 50))
def test_no_term_is_negative_and_stage_3_is_never_faster(job, steps):
    step = step_terms(grad_accum_steps=steps, **job)
    assert all(getattr(step, name) >= 0 for name in TERMS)
    sharded = step_terms(grad_accum_steps=steps, **job | {"zero_stage": 3})
    assert sharded.total >= step.total * (1 - 1e-12)


def test_terms_of_a_curve_have_one_shape_and_equal_the_scalars():
    batch = np.array([1e4, 3e5, 5e6])
    curve = over_batch(batch, 64 * 4096, **JOB | {"zero_stage": 3, "overlap": 0.7})
    for name in TERMS:
        scalars = [over_batch(b, 64 * 4096, **JOB | {"zero_stage": 3, "overlap": 0.7}) for b in batch]
        assert_allclose(getattr(curve, name), [getattr(step, name) for step in scalars])
        assert getattr(curve, name).shape == batch.shape
