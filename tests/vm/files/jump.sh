# jump.sh: functions shared by the cases of jump.case.
. ./places.sh

# The number of jumps, after the optimizer has processed all armed sites.
jumps() { points settle; }

cat >settled.sh <<'EOF'
points settle >/tmp/jumps
exec "$@"
EOF

# release: ends hold.
release() {
	kill -9 $held
	wait $held 2>/dev/null
	return 0
}

# jumpy F SORT: an instruction that gets a jump when only it is probed. $at is its offset, $behind the offset of the
# next one. The sort is any, alone (the jump covers only this instruction) or shared.
jumpy() {
	jump=5; [ $(uname -m) = x86_64 ] || jump=4
	case $2 in
	any) from=1 to=15 ;;
	alone) from=$jump to=15 ;;
	shared) from=1 to=$((jump - 1)) ;;
	esac
	points list $1 | awk -v from=$from -v to=$to '/^\+/ && $1 != "+0" {
		if (at != "") print at, $1
		at = $2 == 0 && length($4) >= 2 * from && length($4) <= 2 * to ? $1 : "" }' >/tmp/candidates
	while read at behind; do
		at=$((${at#+})) behind=$((${behind#+}))
		hold insn:$at $1 >/dev/null
		made=$(jumps)
		release
		[ $made = 1 ] && return
	done </tmp/candidates
	echo no jump can be made in $1
	return 1
}

# description PHASE F...: every fourth instruction of the functions.
description() {
	phase=$1; shift
	for f; do
		points list $f | awk '/^\+/ && $2 == 0 && $1 != "+0" { print $1 }' | awk -v p=$phase 'NR % 4 == p' |
			while read at; do printf 'kinst::%s:%d\n' $f $((${at#+})); done
	done | paste -sd, -
}

# alike PHASE F...: counts them by breakpoints and by jumps under the same load.
alike() {
	probes=$(description "$@")
	for option in '-x nojump' ''; do
		dtrace -q $option -n "$probes /pid == \$target/ { @[probefunc, probename] = count(); }" \
			-c 'sh settled.sh load read 200' 2>&1 | sort >/tmp/counted.${option:+breakpoints}
	done
	cmp /tmp/counted. /tmp/counted.breakpoints >/dev/null || { echo they differ; diff /tmp/counted. /tmp/counted.breakpoints; return; }
	echo "the same of $(echo $probes | tr , '\n' | wc -l) probes, $(cat /tmp/jumps) of them jumps, $(awk '{ n += $NF } END { print n }' /tmp/counted.) hits"
}
