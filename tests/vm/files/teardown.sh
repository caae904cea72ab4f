# teardown.sh: what the cases of teardown.case share.
. ./places.sh

P=/sys/module/kinst/parameters

# used: what sessions hold of what all share. Probes that were taken away give their slots back a moment later, and a process that is killed
# does not wait for the end of a session of many probes.
used() {
	i=0
	until [ "$(cat $P/slots) $(cat $P/sessions)" = '0 0' ] || [ $i -gt 300 ]; do i=$((i + 1)); sleep 0.1; done
	echo "sessions $(cat $P/sessions), memory $(cat $P/memory), slots $(cat $P/slots)"
}

# sleeps: suspends to memory. QEMU's disk may lose an interrupt as the machine wakes; its driver would then wait a minute for each command.
sleeps() {
	for timeout in /sys/module/nvme_core/parameters/*_timeout; do echo 5 >$timeout; done
	echo mem >/sys/power/state && echo slept
}
