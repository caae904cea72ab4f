# ustack.sh: how many samples of Debian's programs have complete stacks.
. ./tree.sh
tree programs
mkdir -p /programs/samples
awk 'BEGIN { srand(1); split("alpha beta gamma delta epsilon", word)
	for (i = 0; i < 40000; i++) print word[1 + int(rand() * 5)], word[1 + int(rand() * 5)], int(rand() * 100000) }' >/programs/samples/text

# whole: the samples in out whose stack reaches the function of the C library that calls main(), or _start.
whole() {
	awk '/^stack/ { n = $2; all += n; seen = 0; next }
		/`(__libc_start_main|_start|clone|clone3)(\+|$)/ { if (!seen++) good += n }
		END { printf("%d of %d, %.1f %%\n", good, all, all ? 100 * good / all : 0) }' out
}

# sampled NAME COMMAND: samples it for some seconds, without and with copies of its stack.
sampled() {
	case $1 in
	bash) name=run how= ;; # it is the script's own shell
	*) name=$1 how=exec ;;
	esac
	printf '#!/bin/bash\nexec >/dev/null\ncd /samples\n%s %s\n' "$how" "$2" >/programs/samples/run
	chmod +x /programs/samples/run
	sample="profile-997 /pid == \$target && execname == \"$name\"/ { @[ustack()] = count(); } END { printa(\"stack %@d%k\\n\", @); }"
	dtrace -x ustackframes=200 -qn "$sample tick-1s { exit(0); }" -c 'chroot /programs /samples/run' >out 2>err
	before=$(whole)
	dtrace -x ustackframes=200 -x ustackcopy=16k -qn "$sample tick-4s { exit(0); }" -c 'chroot /programs /samples/run' >out 2>err
	after=$(whole)
	grep -i drop err
	echo "$1: $before without copies, $after with: $(echo $after | awk '{ print ($1 > 300 && $1 >= 0.95 * $3) ? "good" : "bad" }')"
	# The other samples, by their last frame.
	awk '/^stack/ { n = $2; seen = 0; next } /`(__libc_start_main|_start|clone|clone3)(\+|$)/ { seen = 1 }
		NF { last = $1 } !NF { if (n && !seen) lost[last] += n; n = 0 }
		END { for (at in lost) print "#", lost[at], at }' out
}
