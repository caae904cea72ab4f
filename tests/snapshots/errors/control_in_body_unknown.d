BEGIN
{
#define X
}
