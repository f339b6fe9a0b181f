"""What can go wrong between a client and a broker.

ClientError
├── ConnectionLostError   the broker cannot be reached or does not answer: trying again may help
├── UnusableAnswerError   who answers is no Kafka broker, or not the one that is wanted
├── LoginFailedError      the broker does not let the client in: trying again would not help
└── NotServedError        the broker does not know the request, or no version of it that is known here
"""


class ClientError(Exception):
    """A request has no answer; the message is a sentence that names the broker."""


class ConnectionLostError(ClientError):
    """A broker cannot be reached, closed the connection, or did not answer in time."""


class UnusableAnswerError(ClientError):
    """An answer cannot be understood, or comes from somebody without a trusted certificate."""


class LoginFailedError(ClientError):
    """A broker does not take what the client says of who it is, or does not prove who it is itself."""


class NotServedError(ClientError):
    """A broker serves no version of a request that is known here."""
