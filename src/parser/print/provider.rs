//! parser/print/provider.rs: declarations of providers → D text.

use std::fmt;

use super::pretty::indent;
use crate::parser::ast::{Alias, AliasPlace, Expr, Provider};
use crate::parser::lex::literal::quote;

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "provider {} {{", self.name.node)?;
        for probe in &self.probes {
            indent(f, 1)?;
            write!(f, "probe {}({})", probe.name.node, probe.native)?;
            if let Some(translated) = &probe.translated {
                write!(f, " : ({translated})")?;
            }
            if let Some(alias) = &probe.alias {
                write!(f, " = {alias}")?;
            }
            f.write_str(";\n")?;
        }
        f.write_str("};")
    }
}

impl fmt::Display for Alias {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Alias::Absent(nearest) => f.write_str(&quote(nearest.node.as_bytes())),
            Alias::Places(places) => {
                let places: Vec<String> = places.iter().map(AliasPlace::to_string).collect();
                f.write_str(&places.join(",\n\t    "))
            }
        }
    }
}

impl fmt::Display for AliasPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |list: Vec<String>| list.join(", ");
        let probes = self.probes.iter().map(|probe| quote(probe.to_string().as_bytes()));
        f.write_str(&list(probes.collect()))?;
        if let Some(condition) = &self.condition {
            write!(f, " if ({condition})")?;
        }
        write!(f, " ({})", list(self.values.iter().map(Expr::to_string).collect()))
    }
}
