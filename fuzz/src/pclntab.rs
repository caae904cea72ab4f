//! fuzz/src/pclntab.rs: the table of functions of a Go program.

use kinst::sites::GoTable;

/// Reads the table from the input, after a byte that says where the data of functions begin.
pub fn pclntab(data: &[u8]) {
    let Some((&[trees], bytes)) = data.split_first_chunk() else { return };
    // As much code as the tables of so many bytes describe: the functions' sizes are limited by it.
    let end = 0x40_1000 + 16 * bytes.len() as u64;
    let code = |address: u64| if address >= 0x40_1000 { end.saturating_sub(address) } else { 0 };
    let Ok(table) = GoTable::parse(bytes, Some(0x40_1000)) else { return };
    let functions = table.functions(&code);
    assert!(functions.windows(2).all(|two| two[1].address - two[0].address >= two[0].size), "{functions:?}");
    let trees = bytes.get(usize::from(trees) * 16..).unwrap_or_default();
    for function in &functions {
        let last = function.address + (function.size - 1);
        assert!(!function.name.is_empty() && last < end, "{function:?}");
        table.containing(function.address, &code);
        table.frame(function, last);
        for call in table.inlined(function, trees) {
            assert!(!call.ranges.is_empty(), "{call:?}");
            let mut at = function.address;
            for range in &call.ranges {
                assert!(at <= range.start && range.start < range.end, "{call:?}");
                at = range.end;
            }
            assert!(at <= function.address + function.size, "{call:?}");
        }
    }
}
