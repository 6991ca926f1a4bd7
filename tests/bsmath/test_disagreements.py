import re

import pytest

from bsmath import disagreements

SOURCED = re.compile(
    r"arXiv \d{4}\.\d{4,5}|https://\S+|secondary reports|technical reports|trainers' recipes|fitted here"
)


def test_there_are_twelve_questions_and_none_twice():
    assert len({one.subject for one in disagreements.ITEMS}) == len(disagreements.ITEMS) == 12


@pytest.mark.parametrize("one", disagreements.ITEMS, ids=lambda one: one.subject)
def test_each_question_has_two_sides_with_their_sources_and_one_answer(one):
    assert len(one.sides) >= 2 and one.pages
    assert all(SOURCED.search(side.source) or side.source.startswith("Power Lines") for side in one.sides)
    assert one.here.endswith(".") and one.here.count(". ") == 0
    assert one.subject.endswith("?")


@pytest.mark.parametrize("page, count", [
    ("critical_batch", 7), ("learning_rate", 4), ("noise_scale", 2), ("throughput", 2), ("reference", 12), ("upload", 0)])  # fmt: skip
def test_each_page_gets_its_own(page, count):
    assert len(disagreements.for_page(page)) == count


def test_every_question_is_on_some_page():
    pages = ("critical_batch", "learning_rate", "noise_scale", "throughput")
    assert {one for page in pages for one in disagreements.for_page(page)} == set(disagreements.ITEMS)
