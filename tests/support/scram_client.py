"""The client's side of SCRAM, with every part of a message open to a test. It shares no code with the project."""

import hashlib
import hmac
from base64 import b64decode, b64encode


class ScramClient:
    """One exchange; `first` and `final` are messages as an honest client sends them, unless told otherwise."""

    def __init__(self, user: str, password: str, hash_name: str = "sha256", extensions: str = "") -> None:
        self.hash_name = hash_name
        self.password = password
        self.bare = f"n={user.replace('=', '=3D').replace(',', '=2C')},r=clientnonce{extensions}"
        self.salted = b""
        self.auth_message = b""

    def first(self, gs2: str = "n,,") -> bytes:
        """Return the first message."""
        return (gs2 + self.bare).encode()

    def final(
        self, challenge: bytes, *, nonce: str | None = None, binding: str = "biws", proof: str | None = None
    ) -> bytes:
        """Return the final message to a challenge."""
        server_first = challenge.decode()
        parts = dict(part.split("=", 1) for part in server_first.split(","))
        self.salted = hashlib.pbkdf2_hmac(
            self.hash_name, self.password.encode(), b64decode(parts["s"]), int(parts["i"])
        )
        without_proof = f"c={binding},r={nonce or parts['r']}"
        self.auth_message = f"{self.bare},{server_first},{without_proof}".encode()
        key = hmac.digest(self.salted, b"Client Key", self.hash_name)
        signature = hmac.digest(hashlib.new(self.hash_name, key).digest(), self.auth_message, self.hash_name)
        mine = b64encode(bytes(a ^ b for a, b in zip(key, signature, strict=True))).decode()
        return f"{without_proof},p={proof or mine}".encode()

    def is_server(self, answer: bytes) -> bool:
        """Tell whether the server has proved that it knows the password, too."""
        key = hmac.digest(self.salted, b"Server Key", self.hash_name)
        return answer == b"v=" + b64encode(hmac.digest(key, self.auth_message, self.hash_name))
