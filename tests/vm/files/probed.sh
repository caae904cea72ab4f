# probed.sh: fires the probes of the driver probed; `probed.sh settled` first waits until all jumps are made.
if [ "$1" = settled ]; then
	echo "jumps $(./points settle)"
fi
echo 1 >/sys/module/probed/parameters/fire
