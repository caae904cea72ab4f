# SPDX-License-Identifier: GPL-2.0
# The objects of the architecture, with their paths in the module.
kinst-arch-objects := $(addprefix arch/x86/,insn.o thunk.o detour.o refs.o pool.o poke.o extable.o trap.o trappath.o thunks.o \
	unwind.o device.o)

# The pool of slots; what runs in a program of a hit; and what else runs at a hit.
kinst-arch-pool := arch/x86/pool.o
kinst-arch-work := arch/x86/unwind.o
kinst-arch-path := $(addprefix arch/x86/,insn.o poke.o trap.o device.o)
