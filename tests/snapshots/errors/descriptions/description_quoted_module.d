pid1234:"a.out":f:entry
{
}
