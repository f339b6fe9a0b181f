#!/bin/sh
# Sees that MIT Kerberos and Python's gssapi are there for the tests of logging in by GSSAPI; its argument is the Python
# of the environment. Without them, and without the right to install them, those tests are skipped; with CI=true that is
# a failure.
set -eu
python=$1
has_all() { command -v krb5kdc && command -v kadmin.local && "$python" -c 'import gssapi'; }
has_all >/dev/null 2>&1 && exit 0
if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
    # A KDC that begins to run as a service would be in nobody's way, but is of no use either.
    apt-get update -qq && RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
        krb5-kdc krb5-admin-server krb5-user libkrb5-dev libsasl2-modules-gssapi-mit gcc libc6-dev >/dev/null &&
        "$python" -m pip install --quiet --disable-pip-version-check 'gssapi>=1.9,<2' && has_all >/dev/null && exit 0
fi
echo "MIT Kerberos is missing and cannot be installed here: the tests with GSSAPI will be skipped (install it with: apt-get install krb5-kdc krb5-admin-server krb5-user libkrb5-dev libsasl2-modules-gssapi-mit && pip install gssapi)" >&2
[ "${CI:-}" = true ] && exit 1
exit 0
