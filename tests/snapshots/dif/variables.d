/* test: stages: typed */
int total;
string names[int, string];
this char buffer[16];
self uint64_t start[int];

BEGIN
{
        total += arg0;
        names[pid, execname] = probefunc;
        this->buffer[3] = 'a';
        this->pointer = (int *)arg1;
        this->pointer++;
        self->start[cpu] = timestamp;
        last[1] = names[pid, "x"];
        trace(this->buffer);
        trace(this->pointer[2] + *this->pointer);
        trace(this->pointer - (int *)arg0);
}
