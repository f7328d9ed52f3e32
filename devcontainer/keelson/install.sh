#!/bin/sh
# Runs as root while the container is built; the options are variables with names in capitals.
set -eu

if ! command -v npm >/dev/null; then
  echo 'keelson: npm is not on the PATH; take an image with Node 20 or newer, or add the feature ghcr.io/devcontainers/features/node' >&2
  exit 1
fi
refuse() {
  echo 'keelson: the version must be one such as 1.2.3 or 1.2.3-rc.1, or latest' >&2
  exit 1
}
# npm would also take an address, a folder, another package or an option, and this runs as root.
case ${VERSION:?} in
latest) ;;
*[!0-9A-Za-z.-]*) refuse ;;
*) printf '%s\n' "$VERSION" | LC_ALL=C grep -Eqx '[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?' || refuse ;;
esac
npm install --global --no-audit --no-fund --loglevel=error "keelson@$VERSION"
keelson version
