# teardown.sh: what the cases of teardown.case share.
. ./places.sh

P=/sys/module/kinst/parameters

# used: what sessions hold of what all share; probes that were taken away give their slots back a moment later.
used() {
	i=0
	until [ "$(cat $P/slots)" = 0 ] || [ $i -gt 100 ]; do i=$((i + 1)); sleep 0.1; done
	echo "sessions $(cat $P/sessions), memory $(cat $P/memory), slots $(cat $P/slots)"
}

# module NAME: unpacks a module of the kernel's into /tmp/NAME.ko.
module() {
	file=$(find /lib/modules/$(uname -r)/ -name "$1.ko*" | head -n 1)
	case $file in *.xz) xzcat $file ;; *) cat $file ;; esac >/tmp/$1.ko
}

# armed LOG: waits until the dtrace that writes LOG has said what it matched.
armed() {
	i=0
	until grep -q ' matched ' $1; do
		i=$((i + 1))
		[ $i -lt 400 ] || { echo "not armed:"; cat $1; return 1; }
		sleep 0.2
	done
}
