//! oracle/verify/variables.rs: the variables of an image, and the sizes of their types.

use super::refusal::Refusal;
use kinst_base::uapi::{self, Verify};
use kinst_dif::insn::FIRST_USER_VARIABLE;
use kinst_dif::object::Image;
use std::collections::HashMap;

/// User variables by scope and id; the value says whether it is an associative array.
pub(super) type Variables = HashMap<(u8, u32), bool>;

pub(super) fn check_variables(image: &Image) -> Result<Variables, Refusal> {
    let mut variables = Variables::new();
    let mut blocks = [0u64; 3];
    for (index, var) in image.vars.iter().enumerate() {
        let refuse = |code| Err(Refusal::at(code, index as u32));
        let array = var.kind == 0;
        let valid = (var.name as usize) < image.strtab.len()
            && (FIRST_USER_VARIABLE..=0xffff).contains(&var.id)
            && var.kind <= 1
            && var.scope <= 2
            && var.flags & !3 == 0
            && !(array && var.scope == 2);
        if !valid {
            return refuse(Verify::VARIABLE);
        }
        if !is_variable_type(&var.ty) {
            return refuse(Verify::TYPE);
        }
        if variables.insert((var.scope, var.id), array).is_some() {
            return refuse(Verify::VARIABLE);
        }
        // Thread-locals and elements live in dynamic memory; the others have a fixed place.
        if array || var.scope == 1 {
            continue;
        }
        let behind = if var.ty.flags == 0 { 0 } else { bytes_of(&image.header, &var.ty) };
        let block = &mut blocks[usize::from(var.scope)];
        *block += 8 + u64::from(behind).next_multiple_of(8);
        if *block > uapi::MAX_STATIC.into() {
            return refuse(Verify::LIMIT);
        }
    }
    Ok(variables)
}

fn is_variable_type(ty: &uapi::Dtype) -> bool {
    if ty.reserved != 0 || ty.kind > 1 || u32::from(ty.flags) & !uapi::T_BYREF != 0 {
        return false;
    }
    match (ty.flags != 0, ty.kind == 1) {
        (true, true) => ty.size <= uapi::MAX_STRSIZE,
        (true, false) => (1..=uapi::MAX_VALUE).contains(&ty.size),
        (false, true) => false,
        (false, false) => matches!(ty.size, 1 | 2 | 4 | 8),
    }
}

/// Returns the size in bytes of a value of this type in a record.
pub(super) fn bytes_of(header: &uapi::Image, ty: &uapi::Dtype) -> u32 {
    if ty.kind == 1 && ty.size == 0 { header.strsize } else { ty.size }
}
