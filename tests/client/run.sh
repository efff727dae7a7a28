#!/usr/bin/env bash
# Generates a TypeScript client from `millrace openapi`, and runs story.ts with it.
# Usage: tests/client/run.sh PROGRAM FOLDER. FOLDER keeps the packages of npm between runs.
set -euo pipefail
program=$(realpath "$1")
mkdir -p "$2"
cp "$(dirname "$0")"/{package.json,package-lock.json,.npmrc,tsconfig.json,story.ts} "$2"
cd "$2"
if ! cmp -s package-lock.json node_modules/installed.json; then
  npm ci --ignore-scripts --no-audit --no-fund >/dev/null
  cp package-lock.json node_modules/installed.json
fi
"$program" openapi >openapi.json
node_modules/.bin/openapi-typescript openapi.json --output api.d.ts >/dev/null
node_modules/.bin/tsc --project .
node story.js "$program" 2>story.log || { cat story.log >&2; exit 1; }
