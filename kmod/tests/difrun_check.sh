#!/bin/sh
# difrun_check.sh DIFRUN UNIT: checks that kinst_difrun prints what its source documents.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"$2" --image >"$dir/image"
"$1" --pid 7 "$dir/image" >"$dir/out"
"$1" --pid 7 --fire <"$dir/image" >>"$dir/out"
printf 'short' | "$1" >>"$dir/out" && exit 1
cat >"$dir/want" <<'WANT'
ok
clause 0
 predicate difo=2 value=0x1 size=4
 action 0 kind=0x1 difo=0 value=0x7 size=4
 action 1 kind=0x3 difo=1 string="a\"b"
clause 1
 action 0 kind=0x1 difo=3 fault=1 offset=4 value=0x10
ok
WANT
head -n 8 "$dir/out" | diff "$dir/want" -
sed -n 9p "$dir/out" | grep -q '^record epid=1 timestamp=1000000000 payload=0700000000000000612262'
sed -n '10,$p' "$dir/out" >"$dir/rest"
cat >"$dir/want" <<'WANT'
fault epid=2 action=1 offset=4 fault=1 value=0x10
agg action=2 data=0100000000000000
state=5 exit=0 hits=2 errors=1 drops=0 dyndrops=0 aggdrops=0 dblerrors=0
refused code=1 difo=- index=-
WANT
diff "$dir/want" "$dir/rest"
echo "difrun: 1 passed, 0 failed"
