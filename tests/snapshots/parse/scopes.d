BEGIN
{
	self->x = this->y; self->x[1, "a"] = 2; this->string = 1; self->if = self->for; a->self.this;
	vmlinux`jiffies; `jiffies; 8021q`vlan; a.out`main; libc.so.6`environ.x; a . b`c; mod``sym; self->p->q[3].r++;
	regs[R_RSI]; args[0]->f; arg0; curthread->comm
}
