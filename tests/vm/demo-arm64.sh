# demo-arm64.sh: run in the guest by `cargo xtask demo --arch arm64`: an inlined function, traced with BPF, without the
# module. It fails unless the copies are left as often as they are entered.

function=file_start_write
export DTRACE_OPT_BACKEND=bpf

. ./show.sh

echo "$(uname -srm), as Debian ships it. $function is inlined wherever it is used: the symbol table has $(
    grep -cw "$function" /proc/kallsyms) of it."

show dtrace --index --import kernel.index
show dtrace -l -n "kinst::$function:entry" -n "kinst::$function:return"
load='dd if=/dev/zero of=/tmp/file bs=1 count=1000'
show dtrace -d -o counts -c "$load" -n "kinst::$function:entry /execname == \"dd\"/ { @[\"entries\", probefunc] = count(); }
kinst::$function:return /execname == \"dd\"/ { @[\"returns\", probefunc] = count(); }"
cat counts

awk '$1 == "entries" { entries += $3 } $1 == "returns" { returns += $3 }
END {
    balanced = entries >= 1000 && entries == returns
    printf "\n%d entries, %d returns: %s\n", entries, returns, balanced ? "balanced" : "NOT balanced"
    exit !balanced
}' counts
