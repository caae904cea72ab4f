//! fuzz/src/types.rs: any bytes are types of the kernel proper, types of a module, or nothing.

use kinst::parser::ast::TagKind;
use kinst::types::kernel::{Files, KernelTypes};
use kinst::types::{Kernel, Layout, Tagged, Type, TypeSource};

use super::kernel::{self, Fixture};

/// The first byte says whether the rest is the kernel's, a module's, or a module's upon itself.
pub fn btf(data: &[u8]) {
    let Some((kind, bytes)) = data.split_first() else { return };
    let module = || vec![("m".to_owned(), bytes.to_vec())];
    let fixture = match kind % 3 {
        0 => Fixture { btf: Some(bytes.to_vec()), ..Fixture::default() },
        1 => Fixture { btf: Some(kernel::btf()), modules: module(), ..Fixture::default() },
        _ => Fixture { btf: Some(bytes.to_vec()), modules: module(), ..Fixture::default() },
    };
    exhaust(&fixture.types());
}

const LAYOUT: Layout = Layout { strsize: 256 };

/// Asks all that there is to ask of the first names, and of those that the fixture has.
fn exhaust(types: &KernelTypes<impl Files>) {
    let names: Vec<String> = types.names().iter().take(64).map(|name| (*name).to_owned()).collect();
    let own = ["task_struct", "qstr", "file", "state", "list_head", "m`task_struct"].map(str::to_owned);
    for name in names.iter().chain(&own) {
        if let Some(ty) = types.named(name) {
            ask(types, &ty);
        }
        for kind in [TagKind::Struct, TagKind::Union, TagKind::Enum] {
            if let Some(ty) = types.tagged(kind, name) {
                ask(types, &ty);
            }
        }
        types.prototype("", name);
        types.prototype("m", name);
        types.symbol(&format!("`{name}"));
    }
    for name in ["vfs_read", "narrow", "make_pair"] {
        types.prototype("", name);
    }
    for name in ["`jiffies", "`init_task", "`per_thing"] {
        types.symbol(name);
    }
}

fn ask(types: &KernelTypes<impl Files>, ty: &Type) {
    let _ = (ty.to_string(), LAYOUT.size(ty), ty.same(ty));
    if let Type::Record(tagged) | Type::Enum(tagged) = ty.resolved() {
        members(types, tagged);
    }
    if let Some(Type::Record(tagged)) = ty.referent() {
        members(types, tagged);
    }
}

fn members(types: &KernelTypes<impl Files>, tagged: &Tagged) {
    types.complete(tagged);
    for member in types.members(tagged) {
        let _ = (member.ty.to_string(), LAYOUT.size(&member.ty), member.ty.is_by_ref());
    }
    types.enumerators(tagged);
}
