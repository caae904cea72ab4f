/* test: stages: typed */
kinst::f:entry
{
        self->ts = timestamp;
}

kinst::f:return
/self->ts/
{
        @[probefunc, caller] = quantize(timestamp - self->ts);
        self->ts = 0;
}
