"""`make audit` tells what was found, and what nobody could be asked about."""

from tests import audit

PACKAGES = {"numpy": "2.4.6", "scipy": "1.17.1"}


def report(*dependencies):
    return {"dependencies": list(dependencies), "fixes": []}


def test_a_package_that_was_skipped_counts_as_not_answered():
    said = report({"name": "numpy", "version": "2.4.6", "vulns": []}, {"name": "scipy", "skip_reason": "not on PyPI"})
    assert audit.answered(said) == {"numpy": []}
    assert audit.answered("connection refused") == {}


def test_a_vulnerability_is_named_with_its_service_and_the_version_without_it():
    known = {"pypi": {"numpy": [{"id": "PYSEC-1", "fix_versions": ["2.4.7"]}], "scipy": []}}
    said, found = audit.told(PACKAGES, known, {})
    assert found
    assert said == [
        "numpy 2.4.6: PYSEC-1 (PyPI), fixed in 2.4.7",
        "Vulnerabilities were found: 2 of 2 run-time packages were looked up.",
    ]


def test_what_no_service_answered_for_is_not_called_safe():
    said, found = audit.told(PACKAGES, {"pypi": {"numpy": []}, "osv": {}}, {"osv": "timed out"})
    assert not found
    assert said == [
        "OSV did not answer: timed out",
        "NOT CHECKED, as no service answered for them: scipy 1.17.1.",
        "No known vulnerability: 1 of 2 run-time packages were looked up.",
    ]
    assert audit.told(PACKAGES, {}, {})[0][-1].startswith("Nothing was checked: 0 of 2")
