//! tests/compile/types.rs: kernel types from BTF and from debug information, valid and damaged.

use std::sync::LazyLock;

use kinst::debuginfo::ElfFile;
use kinst::types::TagKind;
use kinst::types::{KernelTypes, Layout, Member, Type, TypeSource};
use proptest::prelude::*;

use crate::btf::records;
use crate::exhaust::exhaust;
use crate::kernel::{self, Fixture};
use crate::needs;

const LAYOUT: Layout = Layout { strsize: 256 };

/// Lists `struct name` as in C.
fn listing(types: &impl TypeSource, kind: TagKind, name: &str) -> String {
    let Some(Type::Record(tagged)) = types.tagged(kind, name) else { return format!("no {name}") };
    let mut text = format!("{tagged} {:?}\n", tagged.bytes.unwrap_or(0));
    for Member { name, ty, bit_offset, bits, .. } in types.members(&tagged) {
        let (byte, bit) = (bit_offset / 8, bit_offset % 8);
        let place = match bits {
            Some(bits) => format!("{byte}.{bit}:{bits}"),
            None => byte.to_string(),
        };
        text += &format!("{place} {ty} {name} {}\n", LAYOUT.size(&ty).unwrap_or(0));
    }
    text
}

/// The ABI's layout of types.c, computed by hand.
const TASK: &str = "struct task_struct 160
0 long state 8
8 int pid 4
12 int tgid 4
16 enum state exit_state 4
20.0:1 unsigned int sched_reset_on_fork 4
20.1:3 unsigned int sched_contributes_to_load 4
20.4:5 int delta 4
24.0:1 unsigned int in_execve 4
24.1:4 unsigned char policy 1
24.5:2 enum pid_type kind 4
24.7:40 unsigned long wide 8
32 struct task_struct * parent 8
40 struct list_head children 16
56 struct list_head [2] tasks 32
88 char [16] comm 16
104 bool_t flag 1
108 int [3][3] matrix 36
144 double load 8
152 void * stack 8
152 short half 2
154 short other 2
";

fn check_listing(types: &impl KernelTypes) {
    assert_eq!(listing(types, TagKind::Struct, "task_struct"), TASK);
    let qstr =
        "struct qstr 16\n0 u32 hash 4\n4 u32 len 4\n0 unsigned long hash_len 8\n8 unsigned char * name 8\n";
    assert_eq!(listing(types, TagKind::Struct, "qstr"), qstr);
    let Some(Type::Enum(state)) = types.tagged(TagKind::Enum, "state") else { panic!("no enum state") };
    let values = [("STATE_NEGATIVE", -2), ("STATE_RUNNING", 0), ("STATE_DEAD", 16)];
    assert_eq!(types.enumerators(&state), values.map(|(name, value)| (name.to_owned(), value)));
    assert_eq!(types.named("fmode_t").unwrap().resolved().to_string(), "unsigned int");
    assert_eq!(types.named("filldir_t").unwrap().to_string(), "filldir_t");
    assert!(types.tagged(TagKind::Union, "task_struct").is_none(), "it is a struct");
    assert!(types.tagged(TagKind::Struct, "never").is_none());
    assert!(types.named("task_struct").is_none(), "it has a tag only");
}

fn check_symbols(types: &impl KernelTypes) {
    let ty = |name: &str| types.symbol(name).unwrap().ty.map(|ty| ty.to_string());
    assert_eq!(ty("`jiffies").as_deref(), Some("unsigned long"));
    assert_eq!(ty("vmlinux`init_task").as_deref(), Some("struct task_struct"));
    assert_eq!(ty("`linux_banner").as_deref(), Some("char [16]"));
    assert_eq!(ty("`per_thing").as_deref(), Some("int [4]"));
    assert_eq!(ty("`vfs_read").as_deref(), Some("function"));
    assert_eq!(ty("`untyped"), None);
    assert!(types.symbol("`nothing").is_none() && types.symbol("ext4`jiffies").is_none());
    let prototype = types.prototype("", "vfs_read").unwrap();
    let params: Vec<String> = prototype.params.iter().map(|(name, ty)| format!("{name}: {ty}")).collect();
    assert_eq!(params, ["file: struct file *", "buf: char *", "count: unsigned long", "pos: loff_t *"]);
    assert_eq!(prototype.returns.to_string(), "long");
    assert_eq!(types.prototype("vmlinux", "make_pair").unwrap().params.len(), 1, "`...` is not a parameter");
}

#[test]
fn btf_knows_the_layout_that_the_compiler_made() {
    let types = Fixture::with_btf().types();
    check_listing(&types);
    check_symbols(&types);
    assert_eq!(types.without_types(), None);
    assert!(types.names().contains(&"fmode_t"));
}

#[test]
fn debug_information_knows_the_same() {
    for format in ["-gdwarf-5", "-gdwarf-4"] {
        let types = Fixture::with_debug(format).types();
        check_listing(&types);
        check_symbols(&types);
    }
}

#[test]
fn a_variable_from_debug_information_has_the_type_that_btf_knows() {
    let debug = Fixture::with_debug("-gdwarf-5");
    let types = Fixture { btf: Some(without_variables(kernel::btf())), ..debug }.types();
    let init_task = types.symbol("`init_task").unwrap().ty.unwrap();
    assert_eq!(Some(init_task), types.tagged(TagKind::Struct, "task_struct"));
    check_symbols(&types);
}

/// Removes variables, like pahole: the BTF of kernels has few of them.
fn without_variables(mut btf: Vec<u8>) -> Vec<u8> {
    for (at, info) in records(&btf) {
        if info >> 24 & 0x1f == 14 {
            btf[at..at + 4].fill(0);
        }
    }
    btf
}

/// Makes a module: its types are numbered after those of the kernel proper, and its names follow the kernel's.
fn module() -> Vec<u8> {
    let base = kernel::btf();
    let word = |at: usize| u32::from_le_bytes(base[at..at + 4].try_into().unwrap());
    let (first, names) = (records(&base).len() as u32 + 1, word(20));
    let task = records(&base).iter().position(|(at, info)| {
        let name = word(*at) as usize + (word(4) + word(16)) as usize;
        info >> 24 & 0x1f == 4 && base[name..].starts_with(b"task_struct\0")
    });
    let task = task.unwrap() as u32 + 1;
    let strings = b"\0mod_t\0mod_struct\0owner\0path\0";
    let types: &[u32] = &[
        // first: struct mod_struct { struct task_struct *owner; }
        names + 7,
        4 << 24 | 1,
        8,
        names + 18,
        first + 1,
        0, //
        // first + 1: the pointer
        0,
        2 << 24,
        task, //
        // first + 2: typedef
        names + 1,
        8 << 24,
        first, //
        // first + 3: struct path, declared only
        names + 24,
        7 << 24,
        0,
    ];
    let mut btf = vec![0x9f, 0xeb, 1, 0];
    let header = [24, 0, types.len() as u32 * 4, types.len() as u32 * 4, strings.len() as u32];
    btf.extend(header.iter().chain(types).flat_map(|word| word.to_le_bytes()));
    btf.extend(strings);
    btf
}

#[test]
fn a_module_continues_the_types_of_the_kernel_proper() {
    let types = Fixture { modules: vec![("ext4".into(), module())], ..Fixture::with_btf() }.types();
    for name in ["mod_t", "ext4`mod_t"] {
        let ty = types.named(name).unwrap_or_else(|| panic!("no {name}"));
        let Type::Record(tagged) = ty.resolved() else { panic!("{ty}") };
        let members = types.members(tagged);
        assert_eq!(members[0].ty.to_string(), "struct task_struct *");
        let Some(Type::Record(task)) = members[0].ty.referent() else { panic!("{}", members[0].ty) };
        assert_eq!(types.members(task)[2].name, "tgid");
    }
    assert!(types.named("vmlinux`mod_t").is_none() && types.named("xfs`mod_t").is_none());
    assert!(types.named("vmlinux`fmode_t").is_some());
    // Declared forward in the module, and defined by the kernel proper.
    let Some(Type::Record(path)) = types.tagged(TagKind::Struct, "ext4`path") else { panic!("no path") };
    assert_eq!((path.bytes, types.complete(&path).bytes), (None, Some(16)));
    assert_eq!(types.members(&path).len(), 2);
    assert!(path.same(&types.complete(&path)));
}

#[test]
fn a_kernel_without_anything_has_the_intrinsic_types() {
    let types = Fixture::default().types();
    assert_eq!(types.named("uint32_t").unwrap().to_string(), "uint32_t");
    assert!(types.named("fmode_t").is_none() && types.tagged(TagKind::Struct, "file").is_none());
    assert_eq!(types.without_types().as_deref(), Some("this kernel has no types"));
    assert!(types.symbol("`jiffies").unwrap().ty.is_none());
}

static OBJECT: LazyLock<Vec<u8>> = LazyLock::new(|| kernel::object("-gdwarf-5"));

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn damaged_btf_is_no_reason_to_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..24),
        header in prop::collection::vec((0usize..24, any::<u8>()), 0..2),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let mut btf = kernel::btf();
        for (index, byte) in changes {
            // Mostly in the section of types, which comes first.
            let at = 24 + index.index(btf.len() - 24);
            btf[at] = byte;
        }
        for (at, byte) in header {
            btf[at] = byte;
        }
        if let Some(cut) = cut {
            btf.truncate(cut.index(btf.len()));
        }
        let module = btf.clone();
        exhaust(&Fixture { btf: Some(btf), ..Fixture::default() }.types());
        exhaust(&Fixture { modules: vec![("m".into(), module)], ..Fixture::with_btf() }.types());
    }

    #[test]
    fn damaged_debug_information_is_no_reason_to_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..24),
    ) {
        let mut object = OBJECT.clone();
        for (index, byte) in changes {
            let at = index.index(object.len());
            object[at] = byte;
        }
        exhaust(&Fixture { debug: kernel::image(object), ..Fixture::default() }.types());
    }

    #[test]
    fn any_bytes_are_no_reason_to_panic(mut bytes: Vec<u8>, magic: bool) {
        if magic {
            let head = [0x9f, 0xeb, 1, 0, 24, 0, 0, 0];
            bytes.splice(0..bytes.len().min(8), head);
        }
        exhaust(&Fixture { btf: Some(bytes), ..Fixture::default() }.types());
    }
}

#[test]
fn stock_kernels_have_a_task_struct() {
    for (_, root) in needs::kernels() {
        let image = ElfFile::open(&needs::vmlinux(&root).unwrap()).unwrap();
        let btf = image.debug_section(".BTF").unwrap().into_owned();
        let types = Fixture { btf: Some(btf), ..Fixture::default() }.types();
        let Some(Type::Record(task)) = types.tagged(TagKind::Struct, "task_struct") else { panic!("none") };
        let members = types.members(&task);
        let comm = members.iter().find(|member| member.name == "comm").unwrap();
        assert_eq!(comm.ty.to_string(), "char [16]");
        let end =
            members.iter().map(|member| member.bit_offset / 8 + LAYOUT.size(&member.ty).unwrap_or(0)).max();
        assert!(end.unwrap() <= task.bytes.unwrap());
    }
}
