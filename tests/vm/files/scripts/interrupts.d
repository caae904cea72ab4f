#!/usr/sbin/dtrace -s
/* Interrupts, by CPU and device, and the time in them. */
#pragma D option quiet

sdt:::irq_handler_entry { self->ts = vtimestamp; self->name = args[1]->name; @n[cpu, stringof(args[1]->name)] = count(); }
sdt:::irq_handler_exit /self->ts/ { @t[stringof(self->name)] = sum(vtimestamp - self->ts); self->ts = 0; self->name = 0; }

dtrace:::END
{
	printf("%3s %-20s %8s\n", "CPU", "DEVICE", "COUNT");
	printa("%3d %-20s %@8d\n", @n);
	printa("time in %-20s %@d\n", @t);
}
