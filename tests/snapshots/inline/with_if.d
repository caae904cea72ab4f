kinst::in_twice:entry
{
    if (arg0 > 1) trace(1); else trace(2);
}
