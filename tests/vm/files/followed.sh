# followed.sh FUNCTION...: follows the calls of functions and counts their instructions, both over the same load, and
# compares: an instruction must be executed as often as it is on the paths, times the number of calls of each path.
mkdir -p /tmp/there
load() {
    ./calls write 1 2 3 4096 5
    for n in 1 2 3; do dd if=/proc/self/maps of=/tmp/there/$n bs=512; cat /tmp/there/$n | wc; mv /tmp/there/$n /tmp/there/moved; done
    ls -lR /proc/self /tmp; ls /nowhere; ps; rm -r /tmp/there/*; sleep 0.01; hostname
}
mkfifo go
for function in "$@"; do
    (read -r word; load) <go >/dev/null 2>&1 &
    load=$!
    mine="/progenyof($load)/"
    : >counting
    : >following
    dtrace --annotate "$function" -v --when "$mine" >counted 2>counting &
    counter=$!
    dtrace --path "$function" -v --calls 100000 -b 16m --when "$mine" >ways 2>following &
    follower=$!
    until grep -q matched counting && grep -q matched following; do
        kill -0 $counter && kill -0 $follower || break
        sleep 0.1
    done
    echo go >go
    wait $load
    kill -TERM $counter $follower
    wait $counter $follower
    grep -v -e matched -e ' had not ended' counting following
    awk -v name="$function" '
        FILENAME == "counted" && /^vmlinux:/ { part = $1; sub(/^vmlinux:/, "", part); sub(/,$/, "", part) }
        FILENAME == "counted" && /^ *[0-9?]+[* ] *[0-9]+  / { sub(/\*/, " "); counted[part "+" $2] = $1 }
        FILENAME == "ways" && /^[0-9]+ calls?/ { calls = $1; broken = $3 == "broken," ? $2 : 0; ways = $(broken ? 4 : 3) }
        FILENAME == "ways" && /^path / { times = $3 }
        FILENAME == "ways" && $1 == "?" { unknown++ }
        FILENAME == "ways" && /^    [a-z_0-9.]+[+]/ { on[$1] += times }
        END {
            for (at in counted) if (counted[at] != "?") { all++; if (counted[at] == on[at] + 0) equal++; else print name, at, counted[at], on[at] + 0 }
            for (at in on) if (!(at in counted)) print name, at, "is not counted"
            print name ":", calls + 0, "calls,", broken + 0, "broken,", ways + 0, "ways,", unknown + 0, "unknown;", all + 0, "instructions,", equal + 0, "equal"
        }' counted ways
done
