# Runs programs without the module and with it: their output, errors and status must be the same, except that hits
# inside another probe's work are lost without it. A line `/* with: OPTIONS */` has the options of a program.

run() {
	sed -n 's|^/\* with: \(.*\) \*/$|\1|p' $2.d >options
	eval dtrace -x backend=$1 $(cat options) -s $2.d >$2.$1 2>said
	echo "status $?" >>$2.$1
	# dd reports its work when it ends, before or after the last errors.
	grep -v -e 'hits* missed inside' -e ' records ' said >$2.$1.err
}

rmmod kinst
for name in "$@"; do run bpf $name; done
insmod /etc/module/kinst.ko
for name in "$@"; do
	run module $name
	diff $name.module $name.bpf && diff $name.module.err $name.bpf.err && echo "$name: the same, $(wc -l <$name.bpf) lines, $(wc -l <$name.bpf.err) errors"
done
