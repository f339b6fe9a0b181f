"""Java's clients log in by Kerberos."""

from pathlib import Path

import pytest

from tests.conftest import IN_CI
from tests.integration.test_gssapi import ANNA, MODULE, GssapiBroker, broker  # noqa: F401  # a fixture
from tests.support.broker import run_java
from tests.support.kerberos import missing

pytestmark = [
    pytest.mark.interop,
    pytest.mark.skipif(bool(missing()) and not IN_CI, reason=f"Kerberos is not installed: {missing()}"),
    pytest.mark.xdist_group("kerberos"),
]


def test_javas_admin_client_logs_in(
    broker: GssapiBroker,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With a keytab, by Java's own Kerberos; it makes a topic, which nobody but ANNA may."""
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", f"-Djava.security.krb5.conf={broker.realm.environment['KRB5_CONFIG']}")
    config = tmp_path / "client.properties"
    config.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=GSSAPI\nsasl.kerberos.service.name=kafka\n"
        f'sasl.jaas.config={MODULE} keyTab="{broker.anna}" principal="{ANNA}";\n'
    )
    at = ("--bootstrap-server", f"localhost:{broker.port}", "--command-config", str(config))
    create = ("--create", "--topic", "java-kerberos", "--partitions", "1")
    done = run_java("org.apache.kafka.tools.TopicCommand", *at, *create)
    assert "Created topic java-kerberos" in done.stdout.decode()
