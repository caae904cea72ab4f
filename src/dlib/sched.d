/* cpuinfo_t and curcpu; they need no type of the kernel. */

typedef int processorid_t;
typedef int psetid_t;
typedef int chipid_t;
typedef int lgrp_id_t;

typedef struct cpuinfo {
	processorid_t cpu_id;
	psetid_t cpu_pset;
	chipid_t cpu_chip;
	lgrp_id_t cpu_lgrp;
} cpuinfo_t;

translator cpuinfo_t < int C > {
	cpu_id = C;
	cpu_pset = 0;
	cpu_chip = 0;
	cpu_lgrp = 0;
};

#pragma D attributes Stable/Stable/Common curcpu
inline cpuinfo_t *curcpu = xlate <cpuinfo_t *> (cpu);
#pragma D attributes Stable/Stable/Common pset
inline psetid_t pset = curcpu->cpu_pset;
#pragma D attributes Stable/Stable/Common chip
inline chipid_t chip = curcpu->cpu_chip;
#pragma D attributes Stable/Stable/Common lgrp
inline lgrp_id_t lgrp = curcpu->cpu_lgrp;
