//! sites/target/running.rs: the symbols of the running kernel by run-time address.

use super::kernel::Kernel;
use kinst_base::image::ModuleId;

impl Kernel {
    /// Reads the symbols in advance, so that the first lookup is fast and does not show in a profile of the system.
    pub fn warm_up(&self) {
        self.symbolize(self.address_of("_stext").unwrap_or_default());
        self.all_symbols().variable(0);
    }

    /// Returns the function that contains an address of the running kernel: its name, start, and size; `None`
    /// for the address of a variable.
    pub(crate) fn function_around(&self, address: u64) -> Option<(String, u64, u64)> {
        if let (Some(symbols), Some(slide)) = (self.symbols(ModuleId::PROPER), self.slide_of_symbols())
            && let Some(symbol) = symbols.containing(address.wrapping_sub(slide))
        {
            return Some((symbols.name(symbol).to_owned(), symbol.address.wrapping_add(slide), symbol.size));
        }
        self.kallsyms().values().find_map(|symbols| {
            let symbol = symbols.containing(address)?;
            Some((symbols.name(symbol).to_owned(), symbol.address, symbol.size))
        })
    }

    /// Returns the distance of the running kernel's code from [`Kernel::symbols`] of the kernel proper.
    pub(crate) fn slide_of_symbols(&self) -> Option<u64> {
        if self.layout(ModuleId::PROPER).is_some() { self.slide() } else { Some(0) }
    }

    /// Returns the address of a symbol of the running kernel, code or data.
    pub(crate) fn address_of(&self, name: &str) -> Option<u64> {
        self.all_symbols().address_of(name)
    }

    /// Returns the number of bytes from an address to the next symbol.
    pub(crate) fn room_of(&self, address: u64) -> u64 {
        self.all_symbols().next(address).map_or(0, |next| next - address)
    }
}
