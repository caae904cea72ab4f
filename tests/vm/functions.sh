# functions.sh: the cost of a hit at a function's entry and return, with each method. For `cargo xtask bench functions`.
. ./places.sh
. ./hits.sh
rounds=5
function=$(traced __do_sys_getppid)
echo "$function is probed"

module=
[ ! -e /sys/module/kinst ] || module=y

for round in $(seq $rounds); do
	report base "$(lap)" 0
	for at in entry return; do
		[ $at = entry ] && ret= || ret=ret
		[ -z "$module" ] || ours module-$at module "fbt::$function:$at"
		ours bpf-$at bpf "fbt::$function:$at"
		peer bpftrace-k${ret}func "k${ret}func:$function"
		peer bpftrace-k${ret}probe "k${ret}probe:$function"
	done
done
