#!/usr/bin/env -S dtrace -s
/*
 * taskrefs.d: which functions take and drop references to which task, to find a leaked one.
 *
 *	./taskrefs.d [-c COMMAND]
 *
 * get_task_struct() and put_task_struct() are inlined everywhere, with the task as their argument.
 * The first table counts the references taken (+) and dropped (-) by each function, the second is
 * the balance of each task. A balance that grows while the same work is repeated is a leak. Where
 * the compiler did not preserve the argument, dtrace warns at the start, and the copy counts for task 0.
 * sock_hold and sock_put can be paired in the same way. Ends at ^C or with COMMAND.
 */
#pragma D option quiet
#pragma D option missinglocals=zero
#pragma D option aggsortkey

BEGIN
{
	printf("Counting references to tasks\n");
}

kinst::get_task_struct:entry
{
	this->task = args[0];
	this->id = this->task == NULL ? 0 : this->task->pid;
	this->name = this->task == NULL ? "?" : stringof(this->task->comm);
	@who[this->id, this->name, "+", probefunc] = count();
	@balance[this->id, this->name] = sum(1);
}

kinst::put_task_struct:entry
{
	this->task = args[0];
	this->id = this->task == NULL ? 0 : this->task->pid;
	this->name = this->task == NULL ? "?" : stringof(this->task->comm);
	@who[this->id, this->name, "-", probefunc] = count();
	@balance[this->id, this->name] = sum(-1);
}

END
{
	printf("%7s %-16s %3s %-32s %8s\n", "TASK", "NAME", "+/-", "BY", "TIMES");
	printa("%7d %-16s %3s %-32s %@8d\n", @who);
	printf("\n%7s %-16s %8s\n", "TASK", "NAME", "BALANCE");
	printa("%7d %-16s %@8d\n", @balance);
}
