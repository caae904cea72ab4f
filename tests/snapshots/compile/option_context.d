#pragma D option cpppath=/usr/bin/cpp
BEGIN { }
