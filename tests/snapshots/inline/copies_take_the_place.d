kinst::in_twice:entry,
fbt::x:entry
{
    @ = count();
}
