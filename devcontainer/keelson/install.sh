#!/bin/sh
# Runs as root while the container is built; the options are variables with names in capitals.
set -eu

if ! command -v npm >/dev/null; then
  echo 'keelson: npm is not on the PATH; take an image with Node 20 or newer, or add the feature ghcr.io/devcontainers/features/node' >&2
  exit 1
fi
npm install --global --no-audit --no-fund --loglevel=error "keelson@${VERSION:-latest}"
keelson version
