"""Schemas by their ids, from a registry that speaks Confluent's HTTP interface."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any, Final
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from odradek.records.schemas import (
    NOT_INSTALLED,
    Decoder,
    RegisteredSchema,
    SchemaKind,
    decoder_of,
    schema_frame,
)
from odradek.terminal.errors import CommandError, WrongUsageError

TIMEOUT_S: Final = 10.0
LARGEST_ANSWER: Final = 8 << 20
DEEPEST: Final = 20
"""References of references."""


class SchemaRegistry:
    """A registry at an address, which may have a user and a password in it; what it told is kept."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise WrongUsageError("--registry takes an address such as http://127.0.0.1:8081")
        host = parts.netloc.rpartition("@")[2]
        self.address = urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", ""))
        self._headers = {"Accept": "application/vnd.schemaregistry.v1+json, application/json"}
        if parts.username is not None:
            account = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            self._headers["Authorization"] = f"Basic {b64encode(account.encode()).decode()}"
        self._decoders: dict[int, Decoder] = {}

    def decode(self, data: bytes | None, what: str) -> tuple[bool, Any]:
        """Return whether bytes name a schema, and if so their value by it; `what` says whose they are.

        CommandError where the registry does not tell the schema, or they do not fit it.
        """
        frame = schema_frame(data)
        if frame is None:
            return False, None
        decoder = self._decoders.get(frame.schema_id)
        if decoder is None:
            decoder = self._decoders[frame.schema_id] = self._decoder(frame.schema_id, what)
        try:
            return True, decoder(frame.payload)
        except ValueError as wrong:
            raise CommandError(
                f"{what}, of schema {frame.schema_id}: {wrong}; --registry left out shows its bytes"
            ) from None

    def _decoder(self, schema_id: int, what: str) -> Decoder:
        try:
            return decoder_of(self._schema(f"/schemas/ids/{schema_id}", f"{what}: schema {schema_id}", 0))
        except ModuleNotFoundError as missing:
            raise CommandError(NOT_INSTALLED.format(missing.name)) from missing
        except ValueError as wrong:
            raise CommandError(f"schema {schema_id} of {self.address} cannot be used: {wrong}") from None

    def _schema(self, path: str, what: str, depth: int) -> RegisteredSchema:
        if depth > DEEPEST:
            raise ValueError("its references go too deep")
        told = self._ask(path, what)
        kind = told.get("schemaType") or SchemaKind.AVRO.value
        if kind not in set(SchemaKind):
            raise ValueError(f"{kind} is no kind of schema that is known here")
        if kind == SchemaKind.PROTOBUF.value:  # as text it would take a compiler
            told = self._ask(f"{path}?format=serialized", what)
        references = {}
        for each in told.get("references") or ():
            subject, version = quote(str(each["subject"]), safe=""), int(each["version"])
            place = f"/subjects/{subject}/versions/{version}"
            references[str(each["name"])] = self._schema(place, f"{what}: {each['name']}", depth + 1)
        text = told.get("schema")
        if not isinstance(text, str):
            raise ValueError("the registry tells no schema")
        return RegisteredSchema(SchemaKind(kind), text, references)

    def _ask(self, path: str, what: str) -> dict[str, Any]:
        from urllib.error import HTTPError  # only now: hardly a command asks a registry
        from urllib.request import Request, urlopen

        request = Request(self.address + path, headers=self._headers)  # noqa: S310 - looked at above
        try:
            with urlopen(request, timeout=TIMEOUT_S) as answer:  # noqa: S310
                data = answer.read(LARGEST_ANSWER + 1)
        except HTTPError as refused:
            refused.close()
            raise CommandError(f"{what} is not told by {self.address}: {refused.code} {refused.reason}") from None
        except OSError as failed:
            reason = getattr(failed, "reason", failed)
            raise CommandError(
                f"the registry at {self.address} does not answer ({reason}); is --registry right?"
            ) from None
        if len(data) > LARGEST_ANSWER:
            raise CommandError(f"{what}: {self.address} answers with more than {LARGEST_ANSWER} bytes")
        try:
            found = json.loads(data)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise CommandError(f"{what}: {self.address} does not answer as a schema registry; is --registry right?")
        return found
