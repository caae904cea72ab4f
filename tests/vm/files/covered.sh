# covered.sh FUNCTIONS: whether the lines that --coverage reports as executed are the lines with a count, for that many
# functions of a load. Each counts twice, as a load varies. Excluded are functions that are also called by interrupts,
# which an idle CPU has too, or by kernel threads, which write back what the load wrote at times of their own.
load() {
	cat <<'END'
mkdir -p /tmp/there
for n in 1 2 3; do
	ls -lR /sys/module >/tmp/there/list 2>/dev/null
	for n in 1 2 3 4 5; do dd if=/tmp/there/list of=/tmp/there/$n bs=4k; cat /tmp/there/$n | wc; mv /tmp/there/$n /tmp/there/moved; ln -f /tmp/there/moved /tmp/there/$n; done
	ls /nowhere; cat /proc/meminfo /proc/self/maps /proc/interrupts; rm -r /tmp/there/*
	sync; hostname; df; ps; mkdir /tmp/there/folder
done >/dev/null 2>&1
exit 0
END
}
load >load.sh
dtrace -q -x aggsize=16m -c 'sh load.sh' -n '
    fbt:vmlinux::entry /progenyof($target)/ { @load[probefunc] = count(); }
    fbt:vmlinux::entry /pid == 0 || ppid == 2/ { @others[probefunc] = count(); }
    END { printa("load %s %@d\n", @load); printa("others %s %@d\n", @others); }' 2>/dev/null >seen
awk '$2 ~ /#/ { next } $1 == "others" { others[$2] } $1 == "load" && $3 >= 5 { load[$2] }
    END { for (name in load) if (!(name in others)) print name }' seen | sort >called
awk -v most="$1" -v all="$(grep -c . called)" 'int(NR * most / all) > int((NR - 1) * most / all)' called >chosen
# during OPTIONS: prints dtrace's output for the load, which is silent.
during() {
	: >begun
	dtrace "$@" 2>begun &
	until grep -q matched begun || ! kill -0 $! 2>/dev/null; do sleep 0.1; done
	sh load.sh
	kill -TERM $!
	wait $!
	cat begun >>said
}
sed 's/^/--coverage vmlinux:/' chosen >watched
sed 's/^/--annotate vmlinux:/' chosen >counted
for n in 1 2; do
	during $(cat watched) --lcov $n.info >summary
	during $(cat counted) --json >$n.exact
done
tail -n 1 summary | grep -o '^.*all$'
awk 'FILENAME ~ /info$/ && /^SF:/ { file = substr($0, 4) }
    FILENAME ~ /info$/ && /^DA:/ { split(substr($0, 4), part, ","); state[FILENAME, file ":" part[1]] = part[2]; lines[file ":" part[1]] }
    FILENAME ~ /exact$/ && match($0, /"count":[0-9]+/) {
        count = substr($0, RSTART + 8, RLENGTH - 8)
        if (!match($0, /"file":"[^"]*"/)) next
        file = substr($0, RSTART + 8, RLENGTH - 9)
        # The other counts are per call.
        if (!match($0, /"line":[0-9]+,"live"/)) next
        line = file ":" substr($0, RSTART + 7, RLENGTH - 14)
        if (count + 0 > exact[FILENAME, line] + 0) exact[FILENAME, line] = count + 0
        known[line]
    }
    END {
        for (line in lines) {
            # Exclude timers, which do not belong to the load.
            if (!(line in known) || line ~ /^kernel\/(sched|time|rcu)\//) continue
            all++
            one = state["1.info", line] ":" (exact["1.exact", line] > 0)
            if (one != state["2.info", line] ":" (exact["2.exact", line] > 0)) { unstable++; continue }
            if (one == "0:0" || one == "1:1") { same++; executed += one == "1:1" } else { wrong++; print line, one, exact["1.exact", line] + 0 }
        }
        print all + 0, "lines,", unstable + 0, "of which differ from run to run"
        print same + 0, "are the same,", executed + 0, "of these executed"
        print wrong + 0, "differ"
    }' 1.info 2.info 1.exact 2.exact
grep -v -e matched -e 'had not ended' -e 'counts may be off' -e 'has exited' said | sort | uniq -c | sort -rn | head -n 10
