"""Fixtures of pytest: one server for all tests, and for each test what it has to itself."""
import pytest

from . import ApiError, Keelson


def pytest_addoption(parser):
    group = parser.getgroup("keelson")
    group.addoption("--keelson-apply", action="append", default=[], metavar="PATH", help="manifests that the server has from the start")
    group.addoption("--keelson-flag", action="append", default=[], metavar="FLAG", help="a flag of keelson serve, such as --nodes=0")


@pytest.fixture(scope="session")
def keelson_options():
    """Arguments of Keelson; override it in conftest.py for other ones, or use --keelson-apply and --keelson-flag."""
    return {}


@pytest.fixture(scope="session")
def keelson(request, keelson_options):
    """A server for all tests of the session, in memory."""
    config = request.config
    options = {"apply": config.getoption("--keelson-apply"), "flags": config.getoption("--keelson-flag"), **keelson_options}
    with Keelson(**options) as server:
        yield server


@pytest.fixture
def namespace(keelson):
    """The name of a namespace for one test; it is deleted afterwards."""
    name = keelson.create_namespace()
    yield name
    try:
        keelson.send("DELETE", f"/api/v1/namespaces/{name}")
    except ApiError as error:
        # The test has deleted it, or put the server back to its start.
        if error.status != 404:
            raise


@pytest.fixture
def keelson_clock(keelson):
    """The clock of the server. It goes on after the test, if it was frozen; time that has passed has passed."""
    yield keelson.clock
    keelson.clock.resume()


@pytest.fixture
def faults(keelson):
    """Faults, which are gone after the test."""
    yield keelson.faults
    keelson.faults.clear()
