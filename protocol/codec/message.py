"""What a declared message is: a class with slots, a keyword constructor, equality, and a `Schema` for the compiler.

Like a slotted dataclass, but cheap to declare: the class body is turned into slots at once, and the constructor is
generated when the first instance is made. A broker declares hundreds of structs and makes few kinds of them at its
start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import ClassVar, dataclass_transform

from odradek.protocol.codec.fields import Field, Versions, parse_versions

NO_API = -1


class Schema:
    """What is known of a declared class beyond its Python form."""

    __slots__ = ("api_key", "decoders", "encoders", "fields", "flexible", "versions")

    def __init__(self, fields: tuple[Field, ...], api_key: int, versions: str, flexible: str | None) -> None:
        self.fields = fields
        self.api_key = api_key
        """The API's key, or the type number of a metadata or coordinator record, or NO_API."""
        self.versions: Versions = parse_versions(versions)
        """The versions that exist. Of a `Struct`: any, it lives inside a message."""
        self.flexible: Versions = parse_versions(flexible)
        """The versions with compact lengths and tagged fields (KIP-482)."""
        self.encoders: dict[int, Callable[[bytearray, object], None]] = {}
        """Compiled so far, by version."""
        self.decoders: dict[int, Callable[[bytes | memoryview, int], tuple[object, int]]] = {}
        """Compiled so far, by version."""


class StructType(type):
    """Turns the fields of a class body into slots."""

    def __new__(
        cls,
        name: str,
        bases: tuple[type, ...],
        namespace: dict[str, object],
        api_key: int = NO_API,
        versions: str = "0+",
        flexible: str | None = None,
    ) -> StructType:
        """Make the class; the keywords are those of `Message`."""
        fields = []
        for field_name, value in namespace.items():
            if type(value) is Field:
                value.name = field_name
                fields.append(value)
        for field in fields:
            del namespace[field.name]
        namespace["__slots__"] = tuple(field.name for field in fields)
        namespace["SCHEMA"] = Schema(tuple(fields), api_key, versions, flexible)
        return super().__new__(cls, name, bases, namespace)


@dataclass_transform(kw_only_default=True)
class Struct(metaclass=StructType):
    """A struct inside messages. Fields are given by keyword, each has Kafka's default."""

    SCHEMA: ClassVar[Schema]
    __slots__ = ()

    def __init__(self, **values: object) -> None:
        """Give the class its own constructor, then use that."""
        constructor = _constructor(type(self).SCHEMA.fields)
        type(self).__init__ = constructor  # type: ignore[method-assign]  # the generated one takes its place
        constructor(self, **values)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(mine == theirs for (_, mine), (_, theirs) in zip(self._items(), other._items(), strict=True))

    __hash__ = None  # type: ignore[assignment]  # can be changed in place, so is no key

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self._items())})"

    def _items(self) -> Iterator[tuple[str, object]]:
        return ((field.name, getattr(self, field.name)) for field in self.SCHEMA.fields)


@dataclass_transform(kw_only_default=True)
class Message(Struct):
    """A whole message, declared with `api_key`, `versions` (all there are) and `flexible` (those with tags)."""


_MISSING = object()


def _constructor(fields: tuple[Field, ...]) -> Callable[..., None]:
    """Generate `__init__` with a keyword per field."""
    names: dict[str, object] = {"MISSING": _MISSING}
    parameters, body = [], []
    for field in fields:
        default = f"default_{field.name}"
        names[default] = field.default
        if field.has_fresh_default:
            parameters.append(f"{field.name}=MISSING")
            body.append(f" self.{field.name} = {default}() if {field.name} is MISSING else {field.name}")
        else:
            parameters.append(f"{field.name}={default}")
            body.append(f" self.{field.name} = {field.name}")
    keywords = f", *, {', '.join(parameters)}" if parameters else ""
    source = "\n".join([f"def __init__(self{keywords}):", *(body or [" pass"])])
    exec(compile(source, "<constructor>", "exec"), names)  # noqa: S102 - the source is the one above
    constructor: Callable[..., None] = names["__init__"]  # type: ignore[assignment]  # the source above defines it
    return constructor
