/* The probes of lockstat. Their argument is a time, which Linux does not have at any single place. */

provider lockstat {
	probe adaptive__acquire(uintptr_t l) = "fbt::mutex_lock:return";
	probe adaptive__release(uintptr_t l) = "fbt::mutex_unlock:entry";
	probe adaptive__acquire__error(uintptr_t l) =
	    "fbt::mutex_lock_interruptible:return /(int)arg1 != 0/";
	probe adaptive__block(uintptr_t l) =
	    "sdt:::contention_begin /arg1 == 32/ and sdt:::contention_end of the same arg0: the time is between";
	probe adaptive__spin(uintptr_t l) =
	    "sdt:::contention_begin /arg1 == 33/ and sdt:::contention_end of the same arg0: the time is between";
	probe spin__acquire(uintptr_t l) = "fbt::_raw_spin_lock:return";
	probe spin__release(uintptr_t l) = "fbt::_raw_spin_unlock:entry";
	probe spin__spin(uintptr_t l) =
	    "sdt:::contention_begin /arg1 == 1/ and sdt:::contention_end of the same arg0: the time is between";
	probe rw__acquire(uintptr_t l) = "fbt::down_read:return and fbt::down_write:return";
	probe rw__release(uintptr_t l) = "fbt::up_read:entry and fbt::up_write:entry";
	probe rw__block(uintptr_t l) =
	    "sdt:::contention_begin /arg1 & 6/ and sdt:::contention_end of the same arg0: the time is between";
	probe rw__upgrade(uintptr_t l) = "no lock of Linux is upgraded; fbt::down_write:entry";
	probe rw__downgrade(uintptr_t l) = "fbt::downgrade_write:entry";
	probe thread__spin(uintptr_t l) =
	    "sdt:::contention_begin /arg1 == 1/ and sdt:::contention_end of the same arg0: the time is between";
};
