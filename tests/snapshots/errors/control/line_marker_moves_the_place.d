# 1 "probe.h" 1
# 20 "probe.h"
BEGIN
{
	trace(;
}
