# annotated.sh FUNCTIONS SECONDS: counts executions in that many functions that a load calls: directly at each
# instruction, and derived from a few of them, in the same run.
mkdir -p /tmp/there
while :; do
    ls -lR /proc/self /sys/kernel /sys/module >/tmp/there/list 2>/dev/null
    for n in 1 2 3 4 5; do dd if=/tmp/there/list of=/tmp/there/$n bs=4k; cat /tmp/there/$n | wc; mv /tmp/there/$n /tmp/there/moved; ln -f /tmp/there/moved /tmp/there/$n; done
    ls /nowhere; cat /proc/meminfo /proc/self/maps /proc/interrupts; rm -r /tmp/there/*; kill -0 $$; sleep 0.05
    sync; hostname; df; ps; mkdir /tmp/there/folder
done >/dev/null 2>&1 &
load=$!
dtrace -q -x aggsize=16m -n 'fbt:vmlinux::entry { @[probefunc] = count(); } tick-4s { exit(0); }' 2>/dev/null >calls
awk 'NF == 2 && $2 >= 20 && $1 !~ /#/ { print $1 }' calls | sort >called
echo "$(grep -c . called) functions are called"
awk -v most="$1" -v all="$(grep -c . called)" 'int(NR * most / all) > int((NR - 1) * most / all)' called >chosen
# In groups, so that the load continues.
awk '{ print >"group." int(NR / 50) }' chosen
for group in group.*; do
    dtrace $(sed 's/^/--annotate vmlinux:/' "$group") --exact --for "$2s" >>shown 2>>said
done
kill $load
awk '/^vmlinux:/ { functions++ } / calls?; .* blocks$/ { run += $1 > 0 } END { print functions + 0, "listings,", run + 0, "with calls" }' shown
awk '/instructions .* have the derived count/ { all += $4; right += $6 } /: counted .*, derived / { wrong++ } END { print all + 0, "instructions,", right + 0, "as they follow,", wrong + 0, "otherwise" }' said
# A call that is in progress at the end has passed some places and not others; so has, unless counts are by call, one at
# the beginning on each CPU. All other differences are errors. A function's cold part belongs to the same calls.
cpus=$(grep -c ^processor /proc/cpuinfo)
awk -v cpus=$cpus '/had not ended/ { split($2, part, ":"); under_way[part[3]] }
    /counted in part$/ { split($2, part, ":"); in_part[part[3]] }
    /: counted .*, derived / { split($2, part, ":"); sub(/\.cold$/, "", part[1]); differs = $4 + 0 > $6 ? $4 - $6 : $6 - $4
        if (!(part[1] in under_way) && !(part[1] in in_part && differs <= 2 * cpus)) { wrong[part[1]]++; sum++ } }
    END { print "unexplained:", sum + 0; for (name in wrong) print name, wrong[name] }' said
grep -v -e ': counted .*, derived ' -e 'had not ended' -e 'add up$' -e 'have the derived count' -e ' matched ' said | sort | uniq -c | sort -rn | head -n 20
