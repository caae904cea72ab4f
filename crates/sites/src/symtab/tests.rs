//! sites/symtab/tests.rs: symbols by address and by name.

use super::*;

const KALLSYMS: &str = "\
0000000000000000 A fixed_percpu_data
ffffffff81000000 T _text
ffffffff81000000 T startup_64
ffffffff81000100 t show
ffffffff81000140 T __x64_sys_getppid
ffffffff81000140 T __se_sys_getppid
ffffffff81000140 t aliased
ffffffff81000180 t show
ffffffff810001c0 t split.isra.0
ffffffff810001e0 t split.part.0
ffffffff810001f0 t split.cold
ffffffff81000200 D some_data
ffffffff82000000 T _sinittext
ffffffff82000000 t early_setup
ffffffff82001000 R __init_end
ffffffffc0000000 t show\t[ext4]
ffffffffc0001000 t bpf_prog_1\t[bpf]
";

#[test]
fn kallsyms_are_sorted_by_module() {
    let modules = Symbols::of_kallsyms(KALLSYMS, true);
    assert_eq!(modules.len(), 2);
    let vmlinux = &modules["vmlinux"];
    let containing = |address| vmlinux.containing(address).map(|symbol| vmlinux.name(symbol));
    assert_eq!(containing(0xffffffff81000013), Some("startup_64"));
    assert_eq!(containing(0xffffffff80ffffff), None);
    assert_eq!(containing(0xffffffff81000150), Some("__se_sys_getppid"));
    let shows: Vec<u64> = vmlinux.named("show").iter().map(|symbol| symbol.address).collect();
    assert_eq!(shows, [0xffffffff81000100, 0xffffffff81000180]);
    assert!(vmlinux.named("early_setup").iter().all(|symbol| symbol.gone()));
    assert_eq!(vmlinux.named("some_data").len(), 0);
    assert_eq!(modules["ext4"].named("show").len(), 1);
}

#[test]
fn parts_of_a_function_are_no_instances() {
    let modules = Symbols::of_kallsyms(KALLSYMS, true);
    assert_eq!(modules["vmlinux"].instances("split"), ["split.isra.0"]);
    assert_eq!(modules["vmlinux"].instances("show"), ["show"]);
    assert!(modules["vmlinux"].instances("early_setup").is_empty());
    assert!(modules["vmlinux"].instances("sho").is_empty());
    for (suffix, clone) in
        [("", true), (".isra.0.constprop.1", true), (".isra.0.cold", false), (".part.0", false), ("x", false)]
    {
        assert_eq!(is_clone_suffix(suffix), clone, "{suffix}");
    }
}

#[test]
fn hidden_addresses_keep_the_order() {
    let text = "0000000000000000 T first\n0000000000000000 t again\n";
    let modules = Symbols::of_kallsyms(text, true);
    let names: Vec<&str> = modules["vmlinux"].iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["first", "again"]);
    assert!(modules["vmlinux"].containing(0).is_none());
}
