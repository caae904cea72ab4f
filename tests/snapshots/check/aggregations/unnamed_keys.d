BEGIN { @[pid] = count(); @[pid, tid] = count(); }
