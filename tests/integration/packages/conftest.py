"""Distributions, built once for all tests that look at them, and an environment with the wheel."""

import pytest

from tests.support.distributions import Distributions, InstalledEnvironment, build_all


@pytest.fixture(scope="session")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Distributions:
    """What is published, built from the repository."""
    return build_all(tmp_path_factory.mktemp("distributions"))


@pytest.fixture(scope="session")
def installed(distributions: Distributions, tmp_path_factory: pytest.TempPathFactory) -> InstalledEnvironment:
    """A virtual environment in which the wheel is installed."""
    return InstalledEnvironment(tmp_path_factory.mktemp("installed"), distributions.wheel)
