"""The documents of `odradek service`."""

from odradek.documents.document import Document

INSTALLED: Document = {
    "name": "the service, as systemctl takes it",
    "unit": "the file of its unit; where it would be with --print",
    "text": "what the unit says",
    "directories[]": "a directory that the broker writes to",
    "account": "the user that it runs as; null for a service of your own user",
    "status": "what the broker says it is at; null where it was not started",
}

UNINSTALLED: Document = {
    "name": "the service",
    "unit": "the file that was removed",
}

STATUS: Document = {
    "name": "the service",
    "active": "active, activating, deactivating, inactive or failed, as systemd has it",
    "detail": "systemd's word for the step that it is in, such as running or auto-restart",
    "status": "what the broker says it is at; empty where it says nothing",
    "pid": "the process; null where there is none",
    "restarts": "how often systemd has started it again since it was started by hand or with the machine",
    "enabled": "whether it starts with the machine, or with the user's first log-in",
    "unit": "the file of its unit",
}
