# jump.sh: what the cases of jump.case share.
. ./places.sh

# The jumps that there are, once the optimizer has seen to all that was armed.
jumps() { cat /sys/module/kinst/parameters/jumps; }

cat >settled.sh <<'EOF'
cat /sys/module/kinst/parameters/jumps >/tmp/jumps
exec "$@"
EOF

# long F: the offset of its first instruction that is as long as a jump and only moves data.
long() {
	points list $1 | awk '/^\+/ && $2 == 0 && $1 != "+0" && length($4) >= 10 && $4 !~ /^e/ { print $1; exit }' |
		while read at; do printf '%d\n' ${at#+}; done
}

# short F: the offsets of an instruction that a jump can stand at only with the next one, and of that one.
short() {
	for at in $(points list $1 | awk '/^\+/ && $2 == 0 && $1 != "+0" && length($4) < 10 { print $1 }'); do
		hold insn:$((${at#+})) $1 >/dev/null
		made=$(jumps)
		kill -9 $held; wait $held 2>/dev/null
		[ $made = 1 ] || continue
		next=$(points list $1 | awk -v at=$at 'found { print $1; exit } $1 == at { found = 1 }')
		echo $((${at#+})) $((${next#+}))
		return
	done
}

# description PHASE F...: every fourth instruction of the functions.
description() {
	phase=$1; shift
	for f; do
		points list $f | awk '/^\+/ && $2 == 0 && $1 != "+0" { print $1 }' | awk -v p=$phase 'NR % 4 == p' |
			while read at; do printf 'kinst::%s:%d\n' $f $((${at#+})); done
	done | paste -sd, -
}

# alike PHASE F...: counts them by breakpoints and by jumps while the same is done.
alike() {
	probes=$(description "$@")
	for option in '-x nojump' ''; do
		dtrace -q $option -n "$probes /pid == \$target/ { @[probefunc, probename] = count(); }" \
			-c 'sh settled.sh load read 200' 2>&1 | sort >/tmp/counted.${option:+breakpoints}
	done
	cmp /tmp/counted. /tmp/counted.breakpoints >/dev/null || { echo they differ; diff /tmp/counted. /tmp/counted.breakpoints; return; }
	echo "the same of $(echo $probes | tr , '\n' | wc -l) probes, $(cat /tmp/jumps) of them jumps, $(awk '{ n += $NF } END { print n }' /tmp/counted.) hits"
}
