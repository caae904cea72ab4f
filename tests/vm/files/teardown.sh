# teardown.sh: what the cases of teardown.case share.
. ./places.sh

P=/sys/module/kinst/parameters

# used: what sessions hold of what all share; probes that were taken away give their slots back a moment later.
used() {
	i=0
	until [ "$(cat $P/slots)" = 0 ] || [ $i -gt 100 ]; do i=$((i + 1)); sleep 0.1; done
	echo "sessions $(cat $P/sessions), memory $(cat $P/memory), slots $(cat $P/slots)"
}
