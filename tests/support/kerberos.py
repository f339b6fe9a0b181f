"""A realm of MIT Kerberos for tests: a KDC of their own on loopback, principals and keytabs."""

import os
import shutil
import subprocess
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tests.support.ports import free_ports
from tests.support.waiting import eventually

REALM = "ODRADEK.TEST"
PROGRAMS = ("krb5kdc", "kadmin.local", "kdb5_util")
TIMEOUT_S = 60


def missing() -> str:
    """Return what is missing for a realm, empty where nothing is."""
    absent = [program for program in PROGRAMS if _path(program) is None]
    if find_spec("gssapi") is None:
        absent.append("Python's gssapi")
    return ", ".join(absent)


def _path(program: str) -> str | None:
    return shutil.which(program, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


class KerberosRealm:
    """The KDC, and who is known to it."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.directory = directory
        self._process: subprocess.Popen[bytes] | None = None
        (port,) = free_ports(1)
        (directory / "krb5.conf").write_text(
            f"[libdefaults]\n default_realm = {REALM}\n dns_lookup_kdc = false\n dns_lookup_realm = false\n"
            " rdns = false\n dns_canonicalize_hostname = false\n udp_preference_limit = 1\n"
            f"[realms]\n {REALM} = {{\n  kdc = 127.0.0.1:{port}\n }}\n"
            f"[domain_realm]\n localhost = {REALM}\n"
        )
        (directory / "kdc.conf").write_text(
            f"[kdcdefaults]\n kdc_listen = 127.0.0.1:{port}\n kdc_tcp_listen = 127.0.0.1:{port}\n"
            f"[realms]\n {REALM} = {{\n  database_name = {directory}/principal\n"
            f"  key_stash_file = {directory}/stash\n  acl_file = {directory}/acl\n }}\n"
        )
        self.environment = {
            "KRB5_CONFIG": str(directory / "krb5.conf"),
            "KRB5_KDC_PROFILE": str(directory / "kdc.conf"),
            "KRB5RCACHEDIR": str(directory),
            "KRB5CCNAME": str(directory / "tickets"),
        }
        self._run("kdb5_util", "create", "-s", "-r", REALM, "-P", "master")

    def start(self) -> None:
        """Start the KDC."""
        program = _path("krb5kdc")
        assert program is not None
        log = (self.directory / "kdc.log").open("wb")
        with log:
            self._process = subprocess.Popen(
                [program, "-n", "-P", str(self.directory / "kdc.pid")],
                env={**os.environ, **self.environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def stop(self) -> None:
        """End the KDC."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(TIMEOUT_S)

    def keytab(self, principal: str) -> str:
        """Make a principal with a random key; return the path of the file that has it."""
        path = self.directory / f"{principal.replace('/', '-')}.keytab"
        self._run("kadmin.local", "-r", REALM, "-q", f"addprinc -randkey {principal}")
        self._run("kadmin.local", "-r", REALM, "-q", f"ktadd -k {path} {principal}")
        return str(path)

    def get_ticket(self, principal: str, keytab: str) -> None:
        """Get a ticket for somebody into the cache of the environment, once the KDC is there."""
        gssapi: Any = import_module("gssapi")  # its types are there only where it is

        name = gssapi.Name(principal, gssapi.NameType.kerberos_principal)
        cache = f"FILE:{self.environment['KRB5CCNAME']}"

        def is_there() -> bool:
            try:
                found = gssapi.Credentials(
                    name=name, usage="initiate", store={"client_keytab": keytab, "ccache": cache}
                )
                return bool(found.lifetime)
            except gssapi.exceptions.GSSError:
                return False

        eventually(is_there, "the KDC gives tickets", TIMEOUT_S)

    def _run(self, program: str, *arguments: str) -> None:
        path = _path(program)
        assert path is not None, program
        done = subprocess.run(
            [path, *arguments], env={**os.environ, **self.environment}, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
