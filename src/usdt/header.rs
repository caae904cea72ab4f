//! usdt/header.rs: the header for C and C++ of providers of static probes: what `dtrace -h` writes.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::provider::{Provider, semaphore};

/// The macros that all headers share.
const SHARED: &str = include_str!("usdt.h");

/// Returns the header for these providers. `name` is that of the file; a guard against a second inclusion is made from
/// it.
pub fn header(name: &str, providers: &[Provider]) -> String {
    let guard: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let guard = format!("KINST_USDT_{}", guard.to_ascii_uppercase());
    let mut text =
        format!("/* {name}: static probes; made by dtrace -h. */\n#ifndef {guard}\n#define {guard} 1\n\n");
    text += SHARED;
    let probes = || providers.iter().flat_map(|provider| &provider.probes);
    let counts: BTreeSet<usize> = probes().map(|probe| probe.arguments).collect();
    for count in counts {
        text += &macro_of(count);
    }
    for provider in providers {
        text += &of_provider(provider);
    }
    text += "\n#endif\n";
    text
}

/// Returns the macro for probes with this number of arguments.
fn macro_of(count: usize) -> String {
    let numbers = 1..=count;
    let list = |separator: &str, of: &dyn Fn(usize) -> String| {
        numbers.clone().map(of).collect::<Vec<_>>().join(separator)
    };
    let parameters: String = numbers.clone().map(|n| format!(", a{n}")).collect();
    let lets: String = numbers.clone().map(|n| format!("\t\tKINST_USDT_LET({n}, a{n}); \\\n")).collect();
    let arguments = match count {
        0 => "\"\"".to_owned(),
        _ => list(" \" \" ", &|n| format!("KINST_USDT_ARGUMENT({n})")),
    };
    let operands = list(", ", &|n| format!("KINST_USDT_OPERANDS({n})"));
    format!(
        "\n#ifndef KINST_USDT_PROBE{count}\n#define KINST_USDT_PROBE{count}(provider, name{parameters}) \\\n\tdo {{ \\\n\
         {lets}\t\t__asm__ __volatile__(KINST_USDT_NOTE(provider, name, {arguments}) ::{operands}); \\\n\
         \t}} while (0)\n#endif\n",
    )
}

fn of_provider(provider: &Provider) -> String {
    let mut text = "\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n".to_owned();
    for probe in &provider.probes {
        let semaphore = semaphore(&provider.name, &probe.name);
        // Weak: the object of -G has it too, but a program without that object works. C++ takes a second definition,
        // of another header with the probe, as an error.
        let _ = writeln!(
            text,
            "#ifndef KINST_USDT_{semaphore}\n#define KINST_USDT_{semaphore} 1\n\
             __extension__ unsigned short {semaphore}\n\t__attribute__((weak, visibility(\"hidden\"), section(\".probes\"), used));\n\
             #endif"
        );
    }
    text += "#ifdef __cplusplus\n}\n#endif\n";
    for probe in &provider.probes {
        let shown = format!("{}_{}", provider.name, probe.name.replace("__", "_")).to_ascii_uppercase();
        let names: Vec<String> = (0..probe.arguments).map(|n| format!("arg{n}")).collect();
        let passed: String = names.iter().map(|name| format!(", {name}")).collect();
        let _ = write!(
            text,
            "\n/* probe {}({}); */\n#define {shown}({}) KINST_USDT_PROBE{}({}, {}{passed})\n\
             #define {shown}_ENABLED() __builtin_expect(*(volatile unsigned short *)&{}, 0)\n",
            probe.name,
            probe.types,
            names.join(", "),
            probe.arguments,
            provider.name,
            probe.name,
            semaphore(&provider.name, &probe.name),
        );
    }
    text
}
