#!/bin/sh
# Sees that redis-server is there for the tests of jobs that keep their offsets in Redis. Without it, and without the
# right to install it, those tests are skipped; with CI=true that is a failure.
set -eu
command -v redis-server >/dev/null && exit 0
if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
    # A redis-server that begins to run as a service would be in nobody's way, but is of no use either.
    apt-get update -qq && RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -y -qq redis-server >/dev/null && exit 0
fi
echo "redis-server is missing and cannot be installed here: the tests with Redis will be skipped (install it with: apt-get install redis-server)" >&2
[ "${CI:-}" = true ] && exit 1
exit 0
