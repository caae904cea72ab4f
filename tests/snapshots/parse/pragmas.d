#pragma D attributes Stable/Evolving/Common x
#pragma D attributes Private/Private/Unknown provider sched args
#pragma D binding "1.5" x
#pragma D depends_on provider sched
#pragma D option quiet
int x;
