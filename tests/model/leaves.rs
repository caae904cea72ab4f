//! tests/model/leaves.rs: values of C and C++ member by member, as dtrace records them and as gdb reads them.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::commands::{run, support};
use crate::live::{can_trace, dtrace, text};
use crate::needs;

/// The leaves of a value: by their path, a number, an enumerator, a text or an address.
type Leaves = BTreeMap<String, String>;

fn put(value: &Value, path: &str, leaves: &mut Leaves) {
    match value {
        Value::Object(members) => match (members.get("enumerator"), members.get("value")) {
            (Some(Value::String(name)), Some(_)) => drop(leaves.insert(path.to_owned(), name.clone())),
            (Some(_), Some(number)) => put(number, path, leaves),
            _ => members.iter().for_each(|(name, member)| put(member, &format!("{path}.{name}"), leaves)),
        },
        Value::Array(elements) => {
            for (index, element) in elements.iter().enumerate() {
                put(element, &format!("{path}[{index}]"), leaves);
            }
        }
        Value::String(text) => drop(leaves.insert(path.to_owned(), text.clone())),
        other => drop(leaves.insert(path.to_owned(), other.to_string())),
    }
}

/// The actions of the first record of a script.
fn recorded(program: &str, script: &str) -> Vec<Value> {
    let ran = dtrace(&["-O", "json", "-qn", script, "-c", program], None);
    assert!(ran.status.success(), "{script}: {}", text(&ran.stderr));
    let lines = text(&ran.stdout);
    let mut records = lines.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let record = records.find(|line| line["type"] == "record").expect("a record");
    record["actions"].as_array().expect("actions").clone()
}

/// The lines that gdb prints with a word in front.
fn of_gdb(program: &str, place: &str, command: &str, word: &str) -> Vec<String> {
    let script = support("leaves.py").display().to_string();
    let place = format!("break {place}");
    let arguments = ["-nx", "-batch", "-x", &script, "-ex", &place, "-ex", "run", "-ex", command, program];
    let lines = run("gdb", &arguments);
    lines.lines().filter_map(|line| line.strip_prefix(word)).map(str::to_owned).collect()
}

fn leaves_of_gdb(program: &str, place: &str, command: &str) -> Leaves {
    let lines = of_gdb(program, place, command, "leaf ");
    let leaf = |line: &String| {
        let (path, value) = line.split_once('=').expect("path=value");
        (path.to_owned(), value.to_owned())
    };
    lines.iter().map(leaf).collect()
}

/// The number that a text stands for, `0x8.8p-3` of a long double included.
fn number(text: &str) -> Option<f64> {
    match text {
        "nan" | "NaN" => return None,
        _ if text.contains('p') => {}
        _ => return text.parse().ok(),
    }
    let (sign, digits) = text.strip_prefix('-').map_or((1.0, text), |digits| (-1.0, digits));
    let (mantissa, power) = digits.strip_prefix("0x")?.split_once('p')?;
    let (whole, rest) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let bits = u64::from_str_radix(&format!("{whole}{rest}"), 16).ok()?;
    let power = power.parse::<i32>().ok()? - 4 * i32::try_from(rest.len()).ok()?;
    Some(sign * bits as f64 * 2f64.powi(power))
}

/// Whether a leaf of dtrace is that of gdb. The stack and the heap, after the end of the program, are elsewhere in each
/// run.
fn is_same(dtrace: &str, gdb: &str, end: u64) -> bool {
    let address = |text: &str| u64::from_str_radix(text.strip_prefix("0x")?, 16).ok();
    if let (Some(one), Some(other)) = (address(dtrace), address(gdb)) {
        return one == other || one >= end && other >= end;
    }
    if let Some(quoted) = gdb.strip_prefix('"') {
        let unquoted: Result<String, _> = serde_json::from_str(&format!("\"{quoted}"));
        return unquoted.is_ok_and(|text| text == dtrace);
    }
    if gdb == "nan" {
        return dtrace == "NaN";
    }
    // Whole numbers are compared digit by digit.
    let is_whole = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    dtrace == gdb
        || !(is_whole(dtrace) && is_whole(gdb)) && number(dtrace).is_some_and(|one| number(gdb) == Some(one))
}

/// Whether it is in the virtual base of a class: its place is in the object, and print() says that it does not show it.
fn of_virtual_base(path: &str) -> bool {
    let member = path.strip_prefix(".diamond.").map(|member| member.trim_end_matches("#2"));
    matches!(member, Some("base" | "_vptr.Base" | "_vptr$Base"))
}

/// Compares all leaves.
#[track_caller]
fn assert_same(dtrace: &Leaves, gdb: &Leaves, end: u64, way: &str) {
    let differs =
        |(path, value): &(&String, &String)| gdb.get(*path).is_none_or(|other| !is_same(value, other, end));
    let shown =
        |(path, value): (&String, &String)| format!("{path}: dtrace {value:?}, gdb {:?}", gdb.get(path));
    let differing: Vec<String> = dtrace.iter().filter(differs).map(shown).collect();
    assert!(differing.is_empty(), "{way}: {differing:#?}");
    let is_missing = |path: &&String| !dtrace.contains_key(*path) && !of_virtual_base(path);
    let missing: Vec<&String> = gdb.keys().filter(is_missing).collect();
    assert!(missing.is_empty(), "{way}: only gdb has {missing:#?}");
}

/// The number of members at the top of a value: each is a kind.
fn kinds(value: &Value) -> usize {
    value.as_object().map_or(0, serde_json::Map::len)
}

#[track_caller]
fn compare(source: &str, function: &str, argument: &str, ways: &[[&str; 3]], least: usize) {
    if !can_trace() || !needs::program("gdb") || !needs::program("nm") {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let program = dir.path().join("program").display().to_string();
    let file = support(source).display().to_string();
    for [compiler, level, standard] in ways {
        run(compiler, &["-w", "-g", "-no-pie", level, standard, "-o", &program, &file]);
        let way = format!("{compiler} {level} {source}");
        let script = format!("pid$target:a.out:{function}:entry {{ print(*args[0]); }}");
        let value = &recorded(&program, &script)[0]["value"];
        let mut leaves = Leaves::new();
        put(value, "", &mut leaves);
        let gdb = leaves_of_gdb(&program, function, &format!("leaves *{argument}"));
        assert_same(&leaves, &gdb, address_of(&program, "_end"), &way);
        assert!(kinds(value) >= least, "{way}: {} kinds", kinds(value));
    }
}

#[test]
fn kinds_of_c() {
    let ways = [["gcc", "-O0", "-std=gnu11"], ["gcc", "-O2", "-std=gnu11"], ["clang", "-O1", "-std=gnu11"]];
    compare("kinds.c", "look", "k", &ways, 66);
}

#[test]
fn kinds_of_cpp() {
    let ways = [["g++", "-O0", "-std=c++17"], ["g++", "-O2", "-std=c++17"], ["clang++", "-O1", "-std=c++17"]];
    compare("classes.cpp", "look", "&m", &ways, 62);
}

/// The value of a symbol.
fn address_of(program: &str, symbol: &str) -> u64 {
    let lines = run("nm", &[program]);
    let line = lines.lines().find(|line| line.ends_with(&format!(" {symbol}"))).expect("the symbol");
    let address = line.split_whitespace().next().expect("an address");
    u64::from_str_radix(address, 16).expect("a number")
}

/// Variables in registers, in parts of registers, constants, and in memory.
#[test]
fn variables_of_optimised_code() {
    if !can_trace() || !needs::program("gdb") || !needs::program("nm") {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let program = dir.path().join("program").display().to_string();
    let file = support("kinds.c").display().to_string();
    for [compiler, level, least] in
        [["gcc", "-O0", "9"], ["gcc", "-O2", "8"], ["gcc", "-O1", "8"], ["clang", "-O1", "5"]]
    {
        run(compiler, &["-w", "-g", "-no-pie", level, "-o", &program, &file]);
        let script = format!("pid$target:a.out:-:{:x} {{ print(locals); }}", address_of(&program, "here"));
        let mut leaves = Leaves::new();
        let (mut variables, mut missing) = (0, Vec::new());
        for variable in recorded(&program, &script)[0]["variables"].as_array().expect("variables") {
            let name = variable["name"].as_str().expect("a name");
            match variable.get("unavailable") {
                Some(why) => missing.push((name.to_owned(), why.as_str().unwrap_or_default().to_owned())),
                None => {
                    variables += 1;
                    put(&variable["value"], name, &mut leaves);
                }
            }
        }
        let mut gdb = leaves_of_gdb(&program, "*&here", "variables");
        let unknown = of_gdb(&program, "*&here", "variables", "gone ");
        leaves.retain(|path, _| !unknown.iter().any(|name| path.split(['.', '[']).next() == Some(name)));
        // gdb has all registers, dtrace those that a probe in a program can read, and says why it has no value.
        for (name, why) in &missing {
            gdb.retain(|path, _| path.split(['.', '[']).next() != Some(name));
            assert!(!why.is_empty(), "{compiler} {level} {name}");
        }
        assert_same(&leaves, &gdb, address_of(&program, "_end"), &format!("{compiler} {level}"));
        let least: usize = least.parse().expect("a number");
        assert!(variables >= least, "{compiler} {level}: {variables} variables, and not {missing:?}");
    }
}
