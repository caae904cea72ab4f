# teardown.sh: functions shared by the cases of teardown.case.
. ./places.sh

P=/sys/module/kinst/parameters

# used: prints the shared resources in use by sessions. Slots of removed probes are freed shortly after, and a killed
# process does not wait for the end of a session with many probes.
used() {
	i=0
	until [ "$(cat $P/slots) $(cat $P/sessions)" = '0 0' ] || [ $i -gt 300 ]; do i=$((i + 1)); sleep 0.1; done
	echo "sessions $(cat $P/sessions), memory $(cat $P/memory), slots $(cat $P/slots)"
}

# sleeps: suspends to memory. QEMU's disk may lose an interrupt during the resume; its driver would then wait a minute
# for each command.
sleeps() {
	for timeout in /sys/module/nvme_core/parameters/*_timeout; do echo 5 >$timeout; done
	echo mem >/sys/power/state && echo slept
}
