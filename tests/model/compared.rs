//! tests/model/compared.rs: compares the calls of functions in a program with the hits of the places found in it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use kinst::sites::copies::calls::{Boundary, Call, Inexact};
use object::{Object as _, ObjectSymbol as _};

/// A program's symbols and its inlined calls, by function.
pub(crate) struct Compared {
    pub symbols: Vec<Symbol>,
    pub calls: BTreeMap<String, Vec<Call>>,
}

pub(crate) struct Symbol {
    pub name: String,
    pub address: u64,
    pub size: u64,
}

/// The executions of one function.
pub(crate) struct Seen {
    /// The calls of its out-of-line code.
    pub own: u64,
    /// The entries and returns of each copy.
    pub copies: Vec<(u64, u64)>,
}

/// The outcome of one function in one program, or of several.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    pub copies: usize,
    /// The copies that are reported as exact.
    pub exact_copies: usize,
    /// Copies with only inexact returns: their callers could not be read to the end.
    pub unread_copies: usize,
    pub functions: usize,
    /// Functions with only exact copies, and the number of these whose counts differ from the program's.
    pub exact: usize,
    pub wrong: usize,
    /// Wrong functions with a known reason that leaves no trace in the compiler's output.
    pub known: usize,
    /// Other functions with wrong counts.
    pub doubted: usize,
    /// Functions with calls that the compiler has removed.
    pub fewer: usize,
    pub calls: u64,
}

impl Compared {
    pub(crate) fn of(program: &Path, calls: BTreeMap<String, Vec<Call>>) -> Compared {
        Compared { symbols: symbols(program), calls }
    }

    /// The symbols whose calls count as calls of a function: the function and its clones.
    pub(crate) fn instances(&self, function: &str) -> impl Iterator<Item = &Symbol> {
        let is_own = move |symbol: &&Symbol| {
            let path = kinst_dwarf::source_name(&symbol.name);
            is_instance(&symbol.name, function)
                || path.is_some_and(|path| path.replace("(anonymous namespace)::", "") == function)
        };
        self.symbols.iter().filter(is_own)
    }

    /// The places to count hits at, in the format of sites.h.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for (function, calls) in &self.calls {
            let instances = self.instances(function);
            lines.extend(
                instances.map(|Symbol { address, size, .. }| format!("( {address:x} {:x}", address + size)),
            );
            lines.extend(calls.iter().flat_map(|call| call.entries.iter().chain(&call.returns)).map(line));
        }
        lines
    }

    /// The hits of these places.
    pub(crate) fn seen(&self, hits: &mut impl Iterator<Item = u64>) -> BTreeMap<String, Seen> {
        let mut sum = |count| -> u64 { hits.by_ref().take(count).sum() };
        let seen = self.calls.iter().map(|(function, calls)| {
            let own = sum(self.instances(function).count());
            let copies = calls.iter().map(|call| (sum(call.entries.len()), sum(call.returns.len())));
            (function.clone(), Seen { own, copies: copies.collect() })
        });
        seen.collect()
    }

    /// Compares the counts of one function with the number of its calls, and prints a difference. The compiler may have
    /// removed up to `removable` calls.
    pub(crate) fn judge(
        &self,
        way: &str,
        function: &str,
        seen: &Seen,
        counted: u64,
        removable: u64,
    ) -> Tally {
        let calls = &self.calls[function];
        if calls.is_empty() || counted == 0 {
            return Tally::default();
        }
        let exact_copies = calls.iter().filter(|call| call.inexact.is_none()).count();
        let is_unread = |call: &&Call| matches!(call.inexact, Some(Inexact::Returns(_)));
        let mut tally = Tally {
            copies: calls.len(),
            exact_copies,
            unread_copies: calls.iter().filter(is_unread).count(),
            functions: 1,
            calls: counted,
            ..Tally::default()
        };
        let is_exact = exact_copies == calls.len();
        tally.exact = usize::from(is_exact);
        let is_unbalanced = |(call, seen): (&Call, &(u64, u64))| call.inexact.is_none() && seen.0 != seen.1;
        let (total, own) = (seen.total(), seen.own);
        let word = if calls.iter().zip(&seen.copies).any(is_unbalanced) {
            tally.wrong = 1;
            "WRONG"
        } else if total == counted && seen.left() == seen.entered() {
            return tally;
        } else if is_exact && total < counted && counted - total <= removable {
            tally.fewer = 1;
            "FEWER"
        } else if is_exact {
            tally.wrong = 1;
            "WRONG"
        } else {
            tally.doubted = 1;
            "DOUBTED"
        };
        println!("{word} {way} {function}: {total} of {counted} calls, {own} of the function itself");
        self.show(function, seen);
        tally
    }

    /// The entries of copies, by the source position of the call.
    pub(crate) fn by_place(&self, function: &str, seen: &Seen) -> BTreeMap<(&str, u64), u64> {
        let mut by_place = BTreeMap::new();
        for (call, (entered, _)) in self.calls[function].iter().zip(&seen.copies) {
            *by_place.entry((call.file.as_str(), call.line)).or_default() += entered;
        }
        by_place
    }

    /// Prints the entries and returns of the copies that were executed.
    pub(crate) fn show(&self, function: &str, seen: &Seen) {
        for (call, (entered, left)) in self.calls[function].iter().zip(&seen.copies) {
            if entered + left > 0 {
                let places = |places: &[Boundary]| places.iter().map(line).collect::<Vec<_>>().join(", ");
                let caller = call.entry.caller.as_ref().map_or("", |(name, _)| name);
                println!(
                    "    {entered} entries, {left} returns: {} -> {} line {} in {caller} {}",
                    places(&call.entries),
                    places(&call.returns),
                    call.line,
                    call.inexact.map_or(String::new(), |doubt| format!("{doubt:x?}")),
                );
            }
        }
    }
}

impl Seen {
    pub(crate) fn entered(&self) -> u64 {
        self.copies.iter().map(|copy| copy.0).sum()
    }

    pub(crate) fn left(&self) -> u64 {
        self.copies.iter().map(|copy| copy.1).sum()
    }

    pub(crate) fn total(&self) -> u64 {
        self.own + self.entered()
    }
}

impl Tally {
    pub(crate) fn add(&mut self, other: &Tally) {
        self.copies += other.copies;
        self.exact_copies += other.exact_copies;
        self.unread_copies += other.unread_copies;
        self.functions += other.functions;
        self.exact += other.exact;
        self.wrong += other.wrong;
        self.known += other.known;
        self.doubted += other.doubted;
        self.fewer += other.fewer;
        self.calls += other.calls;
    }
}

/// The symbols of a program.
pub(crate) fn symbols(program: &Path) -> Vec<Symbol> {
    let bytes = std::fs::read(program).expect("a program");
    let file = object::File::parse(&*bytes).expect("an ELF file");
    let symbols = file.symbols().map(|symbol| Symbol {
        name: symbol.name().unwrap_or_default().to_owned(),
        address: symbol.address(),
        size: symbol.size(),
    });
    symbols.collect()
}

/// Whether two copies of a function have an entry or a return in common, as the code of the one or of what precedes it
/// was removed. A probe there fires once for both.
pub(crate) fn share_places(calls: &[Call]) -> bool {
    let has_equal = |places: Vec<String>| places.iter().collect::<BTreeSet<_>>().len() < places.len();
    has_equal(calls.iter().flat_map(|call| &call.entries).map(line).collect())
        || has_equal(calls.iter().flat_map(|call| &call.returns).map(line).collect())
}

/// An address, or an edge.
pub(crate) fn line(at: &Boundary) -> String {
    match &at.to {
        Some(to) => format!("{:x} {:x}", at.place.address, to.address),
        None => format!("{:x}", at.place.address),
    }
}

/// Whether a call of the symbol counts as a call of the function.
fn is_instance(symbol: &str, function: &str) -> bool {
    symbol.strip_prefix(function).is_some_and(|rest| {
        rest.is_empty()
            || rest.starts_with(".isra")
            || rest.starts_with(".constprop")
            || rest.starts_with(".lto_priv")
    })
}
