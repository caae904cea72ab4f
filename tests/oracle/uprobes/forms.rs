//! tests/oracle/uprobes/forms.rs: forms of x86-64 instructions: each opcode of each map, with prefixes and operands.

/// The size of a form, filled with zeros: displacements and immediate operands.
pub(super) const SIZE: usize = 16;

pub(super) type Form = [u8; SIZE];

/// Prefixes before the opcodes of the first two maps.
const PREFIXES: [&[u8]; 22] = [
    &[0x66],
    &[0xf2],
    &[0xf3],
    &[0xf0],
    &[0x2e],
    &[0x36],
    &[0x3e],
    &[0x26],
    &[0x64],
    &[0x65],
    &[0x67],
    &[0x40],
    &[0x41],
    &[0x44],
    &[0x48],
    &[0x66, 0x48],
    &[0xf3, 0x48],
    &[0xf3, 0x41],
    &[0x66, 0x66, 0x66, 0x66],
    // Prefixes that the kernel misreads.
    &[0x48, 0x66],
    &[0x48, 0x41],
    &[0x64, 0x65, 0x66, 0x67, 0xf2],
];

/// ModRM bytes with a register, memory, and an address relative to the instruction; `reg` is 0.
const OPERANDS: [u8; 3] = [0xc1, 0x01, 0x05];

/// Returns all forms.
pub(super) fn all() -> Vec<Form> {
    let mut forms = Vec::new();
    for opcode in 0..=255 {
        for map in [&[][..], &[0x0f]] {
            for reg in 0..8 {
                forms.extend(OPERANDS.map(|operand| form(&[], map, &[opcode, operand | reg << 3])));
            }
            // Without a ModRM byte, and with each last byte: the register forms of some groups.
            for prefix in PREFIXES {
                forms
                    .extend([0, 0xc1, 0x05, 0x15, 0xd8].map(|operand| form(prefix, map, &[opcode, operand])));
            }
        }
        for map in [0x38, 0x3a] {
            for prefix in [&[][..], &[0x66], &[0xf2], &[0xf3], &[0x48], &[0x66, 0x48]] {
                forms.extend(OPERANDS.map(|operand| form(prefix, &[0x0f, map], &[opcode, operand])));
            }
        }
        vectors(opcode, &mut forms);
    }
    forms.extend((0xc0..=255).map(|operand| form(&[], &[0x0f, 0x01], &[operand])));
    forms.extend(OTHERS.map(|bytes| form(&[], &[], bytes)));
    forms
}

/// Nops, those of five bytes among them, and encodings of AMD alone.
const OTHERS: [&[u8]; 10] = [
    &[0x0f, 0x1f, 0x44, 0x00, 0x00],
    &[0x67, 0x0f, 0x1f, 0x40, 0x00],
    &[0x66, 0x66, 0x66, 0x66, 0x90],
    &[0x0f, 0x1f, 0x80, 0, 0, 0, 0],
    &[0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00],
    &[0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0],
    &[0x48, 0x8d, 0x64, 0x24, 0x00],
    &[0xf3, 0x0f, 0x1e, 0xfa],
    &[0x8f, 0xe9, 0x78, 0xe1, 0xc0],
    &[0x0f, 0x0f, 0xc1, 0x9e],
];

/// VEX and EVEX forms of an opcode: each map and mandatory prefix.
fn vectors(opcode: u8, forms: &mut Vec<Form>) {
    for pp in 0..4 {
        for operand in [0xc1, 0x01, 0x05, 0xd1] {
            forms.push(form(&[0xc5, 0xf0 | pp], &[], &[opcode, operand]));
            forms.push(form(&[0xc5, 0xf8 | pp], &[], &[opcode, operand]));
            for map in 1..=3 {
                for w in [0x70, 0x78 | 0x80] {
                    forms.push(form(&[0xc4, 0xe0 | map, w | pp], &[], &[opcode, operand]));
                }
            }
            for map in [1, 2, 3, 5, 6] {
                for w in [0x74, 0x7c | 0x80] {
                    forms.push(form(&[0x62, 0xf0 | map, w | pp, 0x48], &[], &[opcode, operand]));
                }
            }
        }
    }
}

fn form(prefix: &[u8], map: &[u8], rest: &[u8]) -> Form {
    let mut form = [0; SIZE];
    let bytes = prefix.iter().chain(map).chain(rest);
    form.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    form
}
