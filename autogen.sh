#!/bin/sh
# Makes configure and Makefile.in from a checkout.
set -e
cd "$(dirname "$0")"
exec autoreconf --install --warnings=all
