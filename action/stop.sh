#!/bin/sh
# Stops the servers that this job has started, and waits until they have ended.
set -eu

for file in "$RUNNER_TEMP"/keelson-*/pid; do
  [ -f "$file" ] || continue
  server=$(cat "$file")
  rm "$file"
  kill "$server" 2>/dev/null || continue
  # A server takes ten seconds at most to finish its requests.
  tenths=0
  while [ "$tenths" -lt 200 ] && kill -0 "$server" 2>/dev/null; do
    [ "$tenths" -ne 150 ] || kill -KILL "$server" 2>/dev/null || break
    tenths=$((tenths + 1))
    sleep 0.1
  done
done
