# Runs the examples of documents as a user would, several at a time, under a load: documents.sh DOCUMENT...; `help` is
# dtrace's help. An example that traces must print a row, and is then ended; others end by themselves. Messages are
# errors, except the count of matched probes.

# Rounds of work in which the probes fire. The current round is in a file.
load() {
    round=0
    while :; do
        round=$((round + 1))
        echo $round >round.new
        mv round.new round
        cat /etc/passwd /nowhere
        dd if=/dev/zero of=/tmp/load bs=4k count=4
        dd if="$(ls /dev/nvme0n1 /dev/vda 2>/dev/null)" of=/dev/null bs=4k count=1 iflag=direct
        nc 127.0.0.1 9
        ./work 1
        sleep 0.2
    done >/dev/null 2>&1
}

# The traced lines among the first ones: neither the heading nor the program that -d prints before, whose clauses end
# with a brace. Few are read during the run, as each reader of a trace of vfs_read() makes it longer.
rows() { head -n "$2" "$1/out" | awk '/^}/ { rows = 0; next } NF && !/^ *CPU +ID/ { rows++ } END { print rows + 0 }'; }

round() { read -r number <round && echo "$number"; }

# Runs one example, until it has printed a row, or, for aggregations, whose rows are printed at the end, until a whole
# round has passed. Some events, such as a wait for the disk, are not in every round.
example() {
    document=${1%% *}
    command=${1#* }
    folder=$(mktemp -d)
    begin=$(date +%s)
    sh -c "exec $command" >"$folder/out" 2>"$folder/err" </dev/null &
    pid=$!
    from=
    tries=0
    case $command in *'{'*@*) rounds=2 ;; *'{'*) rounds=12 ;; *) rounds=2 ;; esac
    while kill -0 $pid 2>/dev/null && [ $tries -lt 400 ]; do
        tries=$((tries + 1))
        sleep 0.3
        if [ -z "$from" ]; then
            grep -q ' matched [0-9]* probe' "$folder/err" && from=$(round)
        elif [ "$(rows "$folder" 300)" -gt 0 ] || [ "$(round)" -ge $((from + rounds)) ]; then
            break
        fi
    done
    # Not SIGINT, which a shell without job control makes its background commands ignore.
    kill -TERM $pid 2>/dev/null
    # All examples run at once, and some symbolize many stacks at their end.
    (sleep $((60 * ${PACE:-1})); kill -KILL $pid) >/dev/null 2>&1 &
    watch=$!
    wait $pid
    status=$?
    kill $watch 2>/dev/null
    rows=$(rows "$folder" 5000)
    # Harmless messages: the count of probes, untraceable places, inexact copies, calls in progress at the end,
    # the expected number of probes, missing source text, and a path that is not in memory yet.
    case $command in *copyinstr*) absent='invalid address' ;; *) absent=' matched ' ;; esac
    said=$(grep -v -e ' matched [0-9]* probe' -e 'left out [0-9]* places' -e 'may be entered elsewhere' -e 'may be missing' -e 'had not ended' -e 'ended after [0-9]* calls' -e 'lines have no text' -e "$absent" "$folder/err")
    # A lone description need not print a row, as its event may be rare; nor need an example with a fixed PID.
    case $command in
    *'/pid == '[0-9]*) wanted=0 ;;
    *'{'*) wanted=1 ;;
    *) wanted=0 ;;
    esac
    # An example that does not trace must print something, unless it writes a file.
    case $command in
    *' --fmt '*) rows=$(grep -c . script.d) ;;
    *) [ -z "$from" ] && wanted=1 && rows=$(grep -c . "$folder/out") ;;
    esac
    verdict=ok
    [ $status -eq 0 ] && [ -z "$said" ] && [ "$rows" -ge $wanted ] && [ $tries -lt 400 ] || verdict=FAIL
    echo "$verdict $document: $command: status $status, $rows rows, $(($(date +%s) - begin)) s"
    [ $verdict = ok ] || head -n 5 "$folder/err" | sed 's/^/    /'
    rm -r "$folder"
}

if [ "$1" = --example ]; then
    example "$2"
    exit
fi
echo 'syscall::read:entry { @[execname] = count(); }' >script.d
ln -sf "$(ls /usr/lib/debug/boot/vmlinux-* | head -n 1)" vmlinux
{ echo '```'; dtrace --help | sed -n '/^Examples:/,$s/^  dtrace/# dtrace/p'; echo '```'; } >help
# The module kills sessions without a call for 30 seconds. Symbolizing many stacks takes longer on a slow machine.
deadman=/sys/module/kinst/parameters/deadman
[ -w $deadman ] && echo $((30 * ${PACE:-1})) >$deadman
# The index of inlined functions is made at first use: make it once now, not in all examples at once.
dtrace -l -n 'kinst::get_page:entry' >index.out
load &
load=$!
# Start with the examples that compile longest: some read much of the debug information.
renice -n 10 -p $load
for document in "$@"; do
    awk -f examples.awk "$document" | sed "s,^,$document ,"
done | awk '!seen[substr($0, index($0, " "))]++' | tr '\n' '\0' | xargs -0 -n 1 -P 6 sh documents.sh --example
kill $load
