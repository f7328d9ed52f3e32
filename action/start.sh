#!/bin/sh
# Installs Keelson, starts a server in the background and tells the steps that follow where it is.
# A composite action has no step at the end of the job. It needs none: the runner ends what the steps have left running, and
# empties RUNNER_TEMP. For an earlier end there is stop.sh.
set -eu

fail() {
  echo "::error title=Keelson::$1"
  exit 1
}

command -v npm >/dev/null || fail 'npm is not on the PATH; put actions/setup-node with Node 20 or newer before this step'

# The version that belongs to this action: the same commit of the action always installs the same package.
version=${KEELSON_VERSION:-$(node -p 'require(process.argv[1]).version' "$GITHUB_ACTION_PATH/package.json")}
# npm would also take an address, a folder, another package or an option.
case $version in
latest) ;;
*[!0-9A-Za-z.-]*) fail 'the version must be one such as 1.2.3 or 1.2.3-rc.1, or latest' ;;
*)
  printf '%s\n' "$version" | LC_ALL=C grep -Eqx '[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?' ||
    fail 'the version must be one such as 1.2.3 or 1.2.3-rc.1, or latest'
  ;;
esac

# One folder for each server: a job may have several, also of different versions.
folder=$(mktemp -d "$RUNNER_TEMP/keelson-XXXXXX")
npm install --prefix "$folder/package" --no-audit --no-fund --loglevel=error "keelson@$version" ||
  fail "keelson@$version could not be installed"
bin=$folder/package/node_modules/.bin
PATH=$bin:$PATH

# Flags are separated by spaces; an asterisk in one (--controllers=*) is no pattern of files.
set -f
# shellcheck disable=SC2086
set -- ${KEELSON_FLAGS:-}
set +f
[ -z "${KEELSON_APPLY:-}" ] || set -- "--apply=$KEELSON_APPLY" "$@"

: >"$folder/ready"
# What is given after these is what counts.
nohup keelson serve --store memory --secure-port 0 --data-dir "$folder/data" "$@" --output json \
  >"$folder/ready" 2>"$folder/log" </dev/null &
server=$!
echo "$server" >"$folder/pid"

# The line is there when it ends in a newline: until then read fails.
while ! read -r ready <"$folder/ready"; do
  kill -0 "$server" 2>/dev/null || {
    rm "$folder/pid"
    cat "$folder/log" >&2
    fail 'the server has not started; the reason is above'
  }
  sleep 0.1
done

field() { printf '%s' "$ready" | node -p "JSON.parse(require('fs').readFileSync(0, 'utf8')).$1"; }
url=$(field url)
kubeconfig=$(field kubeconfig)

echo "$bin" >>"$GITHUB_PATH"
{
  echo "KUBECONFIG=$kubeconfig"
  echo "KEELSON_URL=$url"
} >>"$GITHUB_ENV"
{
  echo "url=$url"
  echo "kubeconfig=$kubeconfig"
  echo "log=$folder/log"
} >>"$GITHUB_OUTPUT"
if [ "${KEELSON_ENVTEST:-false}" = true ]; then
  assets=$(keelson envtest --dir "$folder/envtest")
  echo "KUBEBUILDER_ASSETS=$assets" >>"$GITHUB_ENV"
fi
echo "$(keelson version) at $url"
