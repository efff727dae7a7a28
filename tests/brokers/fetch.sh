#!/usr/bin/env bash
# Downloads the package nats-server of newer Debian suites than this machine's into
# build/brokers/SUITE, without installing it. The archive is the one in this machine's apt settings;
# apt checks the signatures against Debian's keys. A server that is there already is kept; --refresh
# downloads all of them again. `./dev brokers` calls it.
set -euo pipefail
cd "$(dirname "$0")/../.."

folder=$PWD/build/brokers
keys=/usr/share/keyrings/debian-archive-keyring.gpg
release=$(. /etc/os-release && echo "$VERSION_CODENAME")

die() {
  printf 'tests/brokers/fetch.sh: %s\n' "$*" >&2
  exit 1
}

refresh=
if [ "${1:-}" = --refresh ]; then
  refresh=1
  shift
fi
[ $# -gt 0 ] || set -- trixie sid

missing=()
for suite in "$@"; do
  [ -z "$refresh" ] && [ -x "$folder/$suite/nats-server" ] || missing+=("$suite")
done
[ ${#missing[@]} -gt 0 ] || exit 0

[ -r "$keys" ] || die "$keys cannot be read; install the package debian-archive-keyring"

archive() { # prints the URL of the archive for this machine's main packages
  apt-get indextargets --format '$(ORIGIN) $(RELEASE) $(COMPONENT) $(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
    awk -v release="$release" '$1 == "Debian" && $2 == release && $3 == "main" { print $4; exit }'
}
from=$(archive)
if [ -z "$from" ] && [ "$(id -u)" -eq 0 ]; then
  apt-get update -qq || true
  from=$(archive)
fi
[ -n "$from" ] || die "apt has no archive of Debian $release; run apt-get update, or check the sources of apt"

mkdir -p "$folder/apt/lists/partial" "$folder/apt/archives/partial" "$folder/apt/preferences"
: >"$folder/apt/sources.list"
for suite in "${missing[@]}"; do
  echo "deb [signed-by=$keys] $from $suite main" >>"$folder/apt/sources.list"
done
options=(
  -o "Dir::Etc::sourcelist=$folder/apt/sources.list" -o Dir::Etc::sourceparts=-
  -o Dir::Etc::preferences=/dev/null -o "Dir::Etc::preferencesparts=$folder/apt/preferences"
  -o "Dir::State::lists=$folder/apt/lists" -o Dir::State::status=/dev/null
  -o "Dir::Cache::archives=$folder/apt/archives" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache=
  -o APT::Sandbox::User=root
)
apt-get "${options[@]}" -qq update ||
  die "the package lists of ${missing[*]} cannot be downloaded from $from"

for suite in "${missing[@]}"; do
  rm -rf "$folder/$suite.new"
  mkdir "$folder/$suite.new"
  (cd "$folder/$suite.new" && apt-get "${options[@]}" -qq download "nats-server/$suite") ||
    die "the suite $suite has no package nats-server that can be downloaded"
  dpkg-deb --extract "$folder/$suite.new"/*.deb "$folder/$suite.new/files"
  mv "$folder/$suite.new/files/usr/sbin/nats-server" "$folder/$suite.new/nats-server"
  rm -r "$folder/$suite.new/files"
  packaged=$(dpkg-deb --field "$folder/$suite.new"/*.deb Version)
  says=$("$folder/$suite.new/nats-server" --version) ||
    die "nats-server $packaged of $suite does not run on this machine"
  [ "$says" = "nats-server: v${packaged%%-*}" ] ||
    die "the package nats-server $packaged of $suite holds \"$says\""
  rm -rf "${folder:?}/$suite"
  mv "$folder/$suite.new" "$folder/$suite"
  printf '%s: %s\n' "$suite" "$says" >&2
done
