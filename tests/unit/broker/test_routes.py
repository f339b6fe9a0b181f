"""The table of handlers: what is imported when."""

import pkgutil
import subprocess
import sys

from odradek.broker import handlers
from odradek.broker.routes import CONTROLLER_ROUTES, SERVED

PROGRAM = """
import sys
from unittest.mock import MagicMock
from odradek.broker.broker_handlers import BrokerHandlers
from odradek.broker.routes import load_all, load_all_of_controller

def loaded():
    return {name for name in sys.modules if name.startswith(("odradek.broker.handlers.", "odradek.protocol.messages."))}

early = loaded()
for _ in load_all(BrokerHandlers(MagicMock())):
    pass
from odradek.broker.controller_handlers import ControllerHandlers
of_controller = ControllerHandlers(MagicMock())
of_controller.handle = MagicMock()
for _ in load_all_of_controller(of_controller):
    pass
print(*early)
print(*loaded())
"""


def test_handlers_are_imported_late_and_then_all_of_them() -> None:
    """The table alone imports no handler; once all were loaded, no request has to open a file of a module."""
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, timeout=60)
    early, loaded = (set(line.split()) for line in done.stdout.splitlines())
    assert "odradek.broker.handlers.fetch" not in early
    assert not {f"odradek.protocol.messages.{key.name.lower()}" for key in {*SERVED, *CONTROLLER_ROUTES}} & early
    assert {f"odradek.protocol.messages.{key.name.lower()}" for key in {*SERVED, *CONTROLLER_ROUTES}} <= loaded
    assert {f"odradek.broker.handlers.{module.name}" for module in pkgutil.iter_modules(handlers.__path__)} <= loaded
