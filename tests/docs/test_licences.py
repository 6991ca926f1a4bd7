"""docs/licences.md names what requirements.txt installs, and the licences allow what the project does with it."""

import re

from tests import licences

PAGE = licences.FILE.read_text(encoding="utf-8")


def test_the_page_has_the_versions_of_the_requirements():
    listed = dict(re.findall(r"^\| ([\w-]+) \| (\d\S*) \|", PAGE, re.MULTILINE))
    assert listed == licences.pinned()


def test_the_page_lists_everything_that_they_bring_along():
    listed = set(re.findall(r"^\| ([\w-]+) \|", PAGE, re.MULTILINE)) - {"package"}
    here = set(licences.closure()) - set(licences.OWN.values())
    # A machine may bring more (a package for its system), but what is here must be there.
    assert here <= listed


def test_no_package_is_under_a_licence_that_binds_the_dashboard():
    said = {name: licences.licence(name) for name in licences.closure() if name not in licences.OWN.values()}
    assert not [name for name, licence in said.items() if not licence or licences.COPYLEFT.search(licence)]


def test_the_search_for_such_licences_finds_them_and_not_the_lesser_one():
    assert licences.COPYLEFT.search("GPL-3.0-or-later") and licences.COPYLEFT.search("GNU General Public License v2")
    assert not licences.COPYLEFT.search("GNU Lesser General Public License v3") and not licences.COPYLEFT.search(
        "LGPL-3.0"
    )
