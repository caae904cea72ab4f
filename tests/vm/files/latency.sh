# latency.sh CASE: --annotate --latency of functions that are slow in known places (kmod/tests/vm/slow).
modules=/lib/modules/$(uname -r)
[ -d $modules/updates ] || { rm $modules; mkdir -p $modules/updates; cp slow.ko $modules/updates/; }
[ -d /sys/module/slow ] || insmod slow.ko
echo 'echo 400 >/sys/module/slow/parameters/calls' >load

# Lines, with the nanoseconds of each.
lines() {
    dtrace -q --annotate $1 --latency --json -c 'sh load' >objects
    sed -n 's/.*"line":\([0-9]*\).*"spent":{.*"ns":\([0-9]*\).*/\1 \2/p' objects |
        awk '{ ns[$1] += $2; all += $2 } END { for (line in ns) print line, ns[line], int(100 * ns[line] / all); print "all", all }'
}

# check TEXT LINE LEAST MOST: checks the share of a line.
check() {
    awk -v line=$2 -v least=$3 -v most=$4 -v text="$1" '$1 == line { found = $3 } END { print (found >= least && found <= most) ? text : text ": " found " %" }' shares
}

case $1 in
branch)
    sh load
    spent=$(cat /sys/module/slow/parameters/spent)
    lines slow_branch >shares
    cat shares
    check 'the slow branch is as slow as it is made' 18 70 78
    check 'so is the other one' 22 20 28
    awk -v spent=$spent '$1 == "all" { ratio = $2 / spent; print "ratio", ratio; if (ratio > 0.9 && ratio < 1.1) print "the whole is what the module measured itself" }' shares
    ;;
deep)
    lines slow_deep >shares
    cat shares
    check 'before the call' 33 17 23
    check 'the call' 35 54 66
    check 'after the call' 36 17 23
    ;;
copies)
    lines slow_piece >shares
    cat shares
    check 'the slow line' 44 95 100
    dtrace --annotate slow_piece --latency -c 'sh load'
    dtrace --annotate slow_piece --latency --html page.html -c 'sh load'
    echo page $(grep -c '"time":{"about":"[0-9.]* [mu]s in calls' page.html)
    ;;
clock)
    echo 'sh load; date -s @1700000000; sh load' >set
    dtrace -q --annotate slow_branch --latency -c 'sh set' 2>&1 >/dev/null | sed 's/[0-9.]* s //'
    ;;
esac
