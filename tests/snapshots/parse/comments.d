#!/usr/sbin/dtrace -s
/* one */ /***/ /**/
BEGIN/* two */, /* three
*/ END /* four */
/ /* five */ x /* six */ /
{ /* seven */ trace(/* eight */ 1) /* " nine */; }
