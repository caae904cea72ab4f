# Runs the examples of documents as a user would: each one until it has printed something, then it is ended. tests/outside/documents.rs
# finds the same examples.

examples() {
    awk '
        /^```/ { block = !block; next }
        block { if (sub(/^# dtrace /, "dtrace ")) print; next }
        {
            count = split($0, words, "`")
            for (n = 2; n <= count; n += 2) {
                if (words[n] ~ /:f:|:f.cold:|:NAME:|FUNCTION|caller:offset|module:function/) continue
                if (words[n] ~ /^(dtrace|inlinecall) /) print words[n]
                else if (words[n] ~ /^(kinst:|fbt:|syscall:|sched:|proc:|io:|sdt:)/) print "dtrace -n '\''" words[n] "'\''"
            }
        }' "$1"
}

load() {
    while :; do
        cat /etc/passwd /nowhere
        dd if=/dev/zero of=/tmp/load bs=4k count=4
        nc 127.0.0.1 9
        sleep 0.05
    done >/dev/null 2>&1
}

# The rows of the output: what is neither empty nor the heading.
rows() { grep -v -e '^ *$' -e '^CPU ' out | wc -l; }

run() {
    : >out
    : >err
    sh -c "exec $1" >out 2>err </dev/null &
    pid=$!
    tries=0
    all=0
    while kill -0 $pid 2>/dev/null; do
        all=$((all + 1))
        [ $all -ge 900 ] && break
        # Aggregations are printed at the end.
        if grep -q matched err; then
            tries=$((tries + 1))
            [ $tries -ge 30 ] && break
            [ "$(rows)" -gt 0 ] && [ $tries -ge 5 ] && break
        fi
        sleep 0.1
    done
    # Not SIGINT, which a shell without job control makes its background commands ignore.
    kill -TERM $pid 2>/dev/null
    (sleep 20; kill -KILL $pid) 2>/dev/null &
    watch=$!
    wait $pid
    status=$?
    kill $watch 2>/dev/null
    return $status
}

echo 'syscall::read:entry { @[execname] = count(); }' >script.d
ln -sf "$(ls /usr/lib/debug/boot/vmlinux-* | head -n 1)" vmlinux
load &
load=$!
for document; do
    # The map of the sources names options, and the table of scripts other systems' probes: no commands to type.
    case $document in *ARCHITECTURE.md | *SCRIPTS.md) continue ;; esac
    examples "$document" >examples.txt
    while read -r example; do
        run "$example"
        status=$?
        # A probe that is only named may wait long for its event.
        case $example in
        *'{'*) wanted=1 ;;
        *) wanted=0 ;;
        esac
        if [ $status -eq 0 ] && [ "$(rows)" -ge $wanted ] && ! grep -q -e 'error' -e 'warning' -e 'cannot' err; then
            echo "ok $document: $example"
        else
            echo "FAIL $document: $example: status $status, $(rows) rows"
            head -n 5 err
        fi
    done <examples.txt
done
kill $load
