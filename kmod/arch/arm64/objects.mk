# SPDX-License-Identifier: GPL-2.0
# The objects of the architecture, with their paths in the module.
kinst-arch-objects := $(addprefix arch/arm64/,insn.o thunk.o pool.o poke.o extable.o trappath.o thunks.o device.o hook.o brk.o places.o near.o)

# The pool of slots, and what runs at a hit.
kinst-arch-pool := arch/arm64/pool.o
kinst-arch-path := $(addprefix arch/arm64/,insn.o device.o hook.o near.o)
