# arm64.sh: functions of arm64.case.
. ./places.sh

# busy SECONDS: system calls, processes and page faults on all CPUs.
busy() {
	end=$(($(date +%s) + $1))
	for cpu in $(seq $(nproc)); do
		while [ $(date +%s) -lt $end ]; do
			load read 500
			load fork 5
			load fault 20
			cat /proc/self/maps /proc/mounts >/dev/null
		done &
		pids="$pids $!"
	done
	wait $pids
	pids=
}

# every F...: a description of all instructions of the functions.
every() {
	for f; do printf 'kinst::%s:\n' $f; done | paste -sd, -
}

# busy runs in the traced command, so that the probes are there all the time.
cat >busy.sh <<'END'
. ./arm64.sh
busy $1
END

# counted SECONDS F...: hits of all instructions of the functions, per function.
counted() {
	seconds=$1; shift
	dtrace -qn "$(every "$@") { @[probefunc] = count(); }" -c "sh busy.sh $seconds" >/tmp/counted 2>/tmp/said
	cat /tmp/said >&2
	awk 'NF == 2 && $2 > 100 { n++ } END { if (n > 3) print "they were hit" }' /tmp/counted
}

# exclusives SECONDS: functions with the inlined loops of atomics, locks and reference counts.
exclusives() {
	functions=
	for f in _raw_spin_lock _raw_spin_lock_irqsave _raw_spin_unlock mutex_lock mutex_unlock mutex_trylock down_read up_read \
		down_write up_write fput dput lockref_get lockref_put_return lockref_get_not_dead path_get mntget vfs_read ksys_read \
		__fget_files wake_up_new_task put_files_struct mmput free_uid __put_task_struct do_exit exit_mm kernel_clone \
		copy_files try_to_wake_up complete_signal lru_add_drain_cpu folio_add_lru; do
		points list $f >/tmp/listed 2>/dev/null || continue
		n=$(awk '/^\+/ && $2 == 36' /tmp/listed | wc -l)
		[ $n = 0 ] || functions="$functions $f" exclusive=$((exclusive + n))
	done
	echo $exclusive exclusive instructions in $(echo $functions | wc -w) functions
	counted $1 $functions
}

# reload N: a trace is killed, its text is restored, and the module is unloaded.
reload() {
	n=0
	while [ $n -lt $1 ]; do
		dtrace -qn 'kinst::vfs_read:,kinst::ksys_read:,fbt::vfs_*:entry { @ = count(); }' -c 'load read 300' >/dev/null || break
		hold all vfs_write ksys_write vfs_read >/dev/null
		kill -9 $held
		wait $held 2>/dev/null
		until rmmod kinst 2>/dev/null; do sleep 0.05; done
		insmod /etc/module/kinst.ko || break
		n=$((n + 1))
	done
	echo loaded $n times
}

# traced N: ftrace traces and stops, N times, the function that the hook is in, too.
traced() {
	echo do_el1_brk64 vfs_read >$T/set_ftrace_filter
	(
		n=0
		while [ $n -lt $1 ]; do
			echo function >$T/current_tracer
			echo nop >$T/current_tracer
			n=$((n + 1))
		done
		echo switched $n times
		echo 0 2>/dev/null >/proc/sys/kernel/ftrace_enabled || echo refused
	) &
	counted 10 vfs_read ksys_read vfs_write rw_verify_area
	wait
	echo >$T/set_ftrace_filter
}

# jumping ROUNDS: jumps, while other sessions begin and end.
jumping() {
	n=0
	(while [ -z "$(cat /tmp/enough 2>/dev/null)" ]; do
		hold all vfs_read rw_verify_area security_file_permission >/dev/null
		points settle >/dev/null
		kill -9 $held
		wait $held 2>/dev/null
	done) &
	other=$!
	counted $1 vfs_read ksys_read vfs_write rw_verify_area fput
	echo yes >/tmp/enough
	wait $other
	rm /tmp/enough
}
