"""The same examples in every run, so that a commit that passed here passes in CI; HYPOTHESIS_PROFILE=search looks for new ones."""

import os

from hypothesis import settings

settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("search", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))
