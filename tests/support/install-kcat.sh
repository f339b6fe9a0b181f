#!/bin/sh
# Sees that kcat is there for the tests that pipe files through it. Without it, and without the right to install it,
# those tests are skipped; with CI=true that is a failure.
set -eu
command -v kcat >/dev/null && exit 0
if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq kcat >/dev/null && exit 0
fi
echo "kcat is missing and cannot be installed here: the kcat tests will be skipped (install it with: apt-get install kcat)" >&2
[ "${CI:-}" = true ] && exit 1
exit 0
