# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# What all scripts share: messages, the cache, and "make once".  Sourced.

set -euo pipefail

TOP=$(realpath "$(dirname "${BASH_SOURCE[0]}")/..")
CACHE=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/shverbs
mkdir -p "$CACHE"
CACHE=$(realpath "$CACHE")

# shellcheck source=scripts/versions
source "$TOP/scripts/versions"

# Nested scripts go on with the clock of the first one.
export SHVERBS_T0=${SHVERBS_T0:-$(date +%s)}

say() {
	printf '[%4ds] %s\n' "$(($(date +%s) - SHVERBS_T0))" "$*" >&2
}

die() {
	say "error: $*"
	exit 1
}

# step WHAT LOG COMMAND...: runs COMMAND with its output in LOG, shows that it
# is alive, and shows the end of LOG when it fails.
step() {
	local what=$1 log=$2 me=$BASHPID ticker rc=0
	shift 2
	say "$what"
	(
		while sleep 15 && kill -0 "$me" 2>/dev/null; do
			say "  ... $(tail -n 1 "$log" 2>/dev/null | cut -c 1-100)"
		done
	) &
	ticker=$!
	# Not `COMMAND || rc=$?`: in a function, that would turn off set -e.
	set +e
	(set -e; "$@") >"$log" 2>&1
	rc=$?
	set -e
	kill "$ticker" 2>/dev/null || true
	wait "$ticker" 2>/dev/null || true
	if [ "$rc" -ne 0 ]; then
		tail -n 40 "$log" >&2
		die "failed ($rc): $what; the whole log is $log"
	fi
}

# key WORD...: a short hash of the words and of the files among them.
key() {
	local word
	for word; do
		if [ -f "$word" ]; then cat "$word"; else printf '%s\n' "$word"; fi
	done | sha256sum | cut -c 1-12
}

# make_once NAME COMMAND...: prints the path of NAME in the cache, after having
# made it, if it is not there, by `COMMAND... PATH`.
#
# COMMAND works on a path aside, which is renamed at the end: what has its name
# is complete.  One run makes it, under a lock, and others wait for that one;
# what an interrupted run left is thrown away by the next.
make_once() {
	local name=$1 dest=$CACHE/$1 tmp=$CACHE/tmp/$1 lock rc
	shift
	if [ ! -e "$dest" ]; then
		mkdir -p "$CACHE/tmp" "$CACHE/log"
		exec {lock}>"$CACHE/tmp/$name.lock"
		if ! flock -n "$lock"; then
			say "waiting for another run, which makes $name"
			flock "$lock"
		fi
		if [ ! -e "$dest" ]; then
			rm -rf --one-file-system "$tmp"
			# The lock must not live on in what COMMAND leaves running.
			set +e
			(set -e; exec {lock}>&-; "$@" "$tmp") >&2
			rc=$?
			set -e
			[ "$rc" -eq 0 ] || die "could not make $name"
			mv -T "$tmp" "$dest"
		fi
		exec {lock}>&-
	fi
	printf '%s\n' "$dest"
}

# Runs a command in the toolchain root; see scripts/in-root.
in_root() {
	"$TOP/scripts/in-root" "$@"
}
