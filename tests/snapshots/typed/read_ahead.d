/* test: kernel */
BEGIN { v = hits["a"]; }
BEGIN { printf("%s", name[1]); }
BEGIN /! pending["sda", (uint8_t)1]/ { trace(self->entered[tid]); trace(task[0]->pid); }
fbt:::entry { hits[execname]++; name[pid] = execname; pending[execname, 2] = timestamp; }
fbt:::return { self->entered[tid] = (uint16_t)arg0; task[pid] = &`init_task; old[1] = old[1] + 1; }
