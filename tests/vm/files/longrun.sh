# longrun.sh SECONDS: the memory of a long trace of kernel and user stacks, while other programs begin and end.
dtrace -qn 'profile-97 { @[stack(), ustack(), execname] = count(); } tick-1s { printa(@); trunc(@); }' >/dev/null 2>said &
pid=$!
until [ "$(cat /sys/module/kinst/parameters/sessions)" != 0 ]; do sleep 0.1; done
(until [ -e enough ]; do ls -l /proc/self /sys/class/net >/dev/null 2>&1; ./calls getppid 2000; done) &
begin=$(date +%s)
while passed=$(($(date +%s) - begin)); [ $passed -lt "$1" ]; do
    sleep 60
    awk -v at=$passed '/^(RssAnon|RssFile)/ { size[$1] = $2 } END { print at + 60 " s: " size["RssAnon:"] " kB, and " size["RssFile:"] " kB of files" }' /proc/$pid/status | tee -a memory
done
touch enough
kill -TERM $pid
wait
# A least-squares fit of the last half.
awk '{ n++; x[n] = $1; y[n] = $3 } END { for (i = int(n / 2) + 1; i <= n; i++) { m++; sx += x[i]; sy += y[i]; sxx += x[i] * x[i]; sxy += x[i] * y[i] }
    if (m > 1) printf("%.0f kB an hour in the last half\n", 3600 * (m * sxy - sx * sy) / (m * sxx - sx * sx)) }' memory
cat said
