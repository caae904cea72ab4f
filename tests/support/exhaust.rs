//! tests/support/exhaust.rs: all queries for a kernel's types.

use kinst::knowledge::{Files, Knowledge};
use kinst::types::TagKind;
use kinst::types::{KernelTypes, Layout, Tagged, Type, TypeSource};

const LAYOUT: Layout = Layout { strsize: 256 };

/// Looks up the fixture's names, and the names of the types themselves.
pub(crate) fn exhaust(types: &Knowledge<impl Files>) {
    let names: Vec<String> = types.names().iter().map(|name| (*name).to_owned()).collect();
    let own = ["task_struct", "qstr", "file", "path", "nowhere", "state", "pid_type", "list_head", "dentry"];
    let own = own.iter().copied().chain(["m`task_struct"]).map(str::to_owned);
    for name in names.into_iter().chain(own) {
        if let Some(ty) = types.named(&name) {
            ask(types, &ty);
        }
        for kind in [TagKind::Struct, TagKind::Union, TagKind::Enum] {
            if let Some(ty) = types.tagged(kind, &name) {
                ask(types, &ty);
            }
        }
        types.prototype("", &name);
        types.prototype("m", &name);
        types.symbol(&format!("`{name}"));
    }
    for name in ["vfs_read", "narrow", "after_pair", "make_pair"] {
        types.prototype("", name);
    }
    for name in ["`jiffies", "`init_task", "`linux_banner", "`per_thing"] {
        types.symbol(name);
    }
}

fn ask(types: &Knowledge<impl Files>, ty: &Type) {
    let _ = (ty.to_string(), LAYOUT.size(ty), ty.same(ty));
    if let Type::Record(tagged) | Type::Enum(tagged) = ty.resolved() {
        members(types, tagged);
    }
    if let Some(Type::Record(tagged)) = ty.referent() {
        members(types, tagged);
    }
}

fn members(types: &Knowledge<impl Files>, tagged: &Tagged) {
    types.complete(tagged);
    for member in types.members(tagged) {
        let _ = (member.ty.to_string(), LAYOUT.size(&member.ty), member.ty.is_by_ref());
    }
    types.enumerators(tagged);
    let _ = (types.parameters(tagged), types.virtual_bases(tagged));
}
