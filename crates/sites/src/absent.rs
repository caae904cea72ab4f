//! sites/absent.rs: site indices for programs without inlined functions, and for -Z.

use super::model::{Boundary, FoundSite, FunctionSites, SiteIndex, SourceLine};
use kinst_base::diag::{Diagnostic, tags};

/// The index for programs that name no inlined function.
pub struct NothingWanted;

impl SiteIndex for NothingWanted {
    fn inline_sites(&self, _: &str, _: &str, _: Boundary) -> Result<Vec<FunctionSites>, Box<Diagnostic>> {
        Ok(Vec::new())
    }

    fn line_sites(&self, _: &str, _: &str, _: &SourceLine) -> Result<Vec<FoundSite>, Box<Diagnostic>> {
        Ok(Vec::new())
    }
}

/// The index for -Z: a function that does not exist has no sites. Its description stays unchanged and matches
/// no probe.
pub struct Lenient(pub Box<dyn SiteIndex>);

impl Lenient {
    fn none_of<T>(answer: Result<Vec<T>, Box<Diagnostic>>) -> Result<Vec<T>, Box<Diagnostic>> {
        match answer {
            Err(error) if error.tag == tags::PDESC_ZERO => Ok(Vec::new()),
            answer => answer,
        }
    }
}

impl SiteIndex for Lenient {
    fn inline_sites(
        &self,
        module: &str,
        function: &str,
        boundary: Boundary,
    ) -> Result<Vec<FunctionSites>, Box<Diagnostic>> {
        Lenient::none_of(self.0.inline_sites(module, function, boundary))
    }

    fn line_sites(
        &self,
        module: &str,
        function: &str,
        line: &SourceLine,
    ) -> Result<Vec<FoundSite>, Box<Diagnostic>> {
        Lenient::none_of(self.0.line_sites(module, function, line))
    }
}
