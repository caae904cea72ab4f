//! sites/absent.rs: site indices for programs without inlined functions, and for -Z.

use super::model::{Boundary, FoundSite, FunctionSites, SiteIndex, SourceLine};
use kinst_base::diag::{Diagnostic, tags};
use kinst_base::space::Space;

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
pub struct Lenient<'i>(pub Box<dyn SiteIndex + 'i>);

impl Lenient<'_> {
    fn none_of<T>(answer: Result<Vec<T>, Box<Diagnostic>>) -> Result<Vec<T>, Box<Diagnostic>> {
        match answer {
            Err(error) if error.tag == tags::PDESC_ZERO => Ok(Vec::new()),
            answer => answer,
        }
    }
}

impl SiteIndex for Lenient<'_> {
    fn inline_sites(
        &self,
        module: &str,
        function: &str,
        boundary: Boundary,
    ) -> Result<Vec<FunctionSites>, Box<Diagnostic>> {
        Lenient::none_of(self.0.inline_sites(module, function, boundary))
    }

    fn in_space(&self, space: Space) -> Option<Box<dyn SiteIndex + '_>> {
        Some(Box::new(Lenient(self.0.in_space(space)?)))
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
