//! The paths that a Rust file names, resolved to modules of the product or to other crates. Tests are left out.
//!
//! The product is one tree of modules, over all of its crates: `kinst_dif::insn` is `dif::insn`, the file
//! crates/dif/src/insn.rs, and `codegen::stmt` is src/codegen/stmt.rs.

use syn::visit::{self, Visit};

use super::{Finding, Source};

/// One path of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Named {
    pub line: usize,
    pub root: Root,
    /// Below the root: `sites::Catalog`; for a crate, its own path.
    pub path: Vec<String>,
    /// Whether it was written with `super::super`.
    pub far: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Root {
    /// The product.
    Own,
    /// The first segment may be a crate's name, or a name in the file.
    Unknown,
}

/// A parsed file of the product.
pub(super) struct Read<'a> {
    pub source: &'a Source,
    /// The module's path in the product.
    pub module: Vec<String>,
    pub named: Vec<Named>,
}

/// The folders of the product's files.
pub(super) const PRODUCT: &[&str] = &["crates", "src"];
/// The prefix of the names of its crates, except the one in src.
const OWN_CRATE: &str = "kinst_";

/// Reads the files of the product without tests; one that cannot be parsed is a finding.
pub(super) fn read(sources: &[Source]) -> (Vec<Read<'_>>, Vec<Finding>) {
    let is_product = |source: &&Source| source.is_rust() && source.is_in(PRODUCT) && !source.is_test();
    let (mut files, mut findings) = (Vec::new(), Vec::new());
    for source in sources.iter().filter(is_product) {
        let module = module_of(&source.path).unwrap_or_default();
        match named(&source.text, &module, crate_of(&source.path)) {
            Ok(named) => files.push(Read { source, module, named }),
            Err(error) => {
                let line = error.span().start().line;
                findings.push(source.finding(line, format!("it is not Rust: {error}")));
            }
        }
    }
    (files, findings)
}

/// All paths of a file. `module` is its place in the product: `sites::catalog` for crates/sites/src/catalog/mod.rs.
fn named(text: &str, module: &[String], home: Option<&str>) -> syn::Result<Vec<Named>> {
    let file = syn::parse_file(text)?;
    let home = home.map(str::to_owned);
    let mut reader = Reader { module: module.to_vec(), home, children: Vec::new(), named: Vec::new() };
    reader.children = file.items.iter().filter_map(child).collect();
    reader.visit_file(&file);
    Ok(reader.named)
}

/// The crate of a file of crates/: `dif` for crates/dif/src/insn.rs.
fn crate_of(path: &str) -> Option<&str> {
    path.strip_prefix("crates/")?.split_once("/src/").map(|(name, _)| name)
}

/// The module of a file: `a::b` for src/a/b.rs and for src/a/b/mod.rs, nothing for src/lib.rs; `c::a` for
/// crates/c/src/a.rs, and `c` for its lib.rs.
fn module_of(path: &str) -> Option<Vec<String>> {
    let home = crate_of(path);
    let path = match home {
        Some(home) => path.strip_prefix(&format!("crates/{home}/src/"))?,
        None => path.strip_prefix("src/")?,
    };
    let mut parts: Vec<String> = home.into_iter().map(str::to_owned).collect();
    parts.extend(path.strip_suffix(".rs")?.split('/').map(str::to_owned));
    if matches!(parts.last()?.as_str(), "mod" | "lib") {
        parts.pop();
    }
    Some(parts)
}

/// The folder of a module that is one, with the file in it that declares the others: the reverse of `module_of`.
pub(super) fn folder_of(module: &[String], sources: &[&str]) -> (String, &'static str) {
    if let [home, rest @ ..] = module {
        let folder =
            [&["crates", home, "src"][..], &rest.iter().map(String::as_str).collect::<Vec<_>>()].concat();
        let folder = folder.join("/");
        for file in ["lib.rs", "mod.rs"] {
            if sources.contains(&format!("{folder}/{file}").as_str()) {
                return (folder, file);
            }
        }
    }
    ([&["src".to_owned()], module].concat().join("/"), "mod.rs")
}

struct Reader {
    module: Vec<String>,
    /// The crate that `crate` refers to.
    home: Option<String>,
    /// Modules that are declared in the file.
    children: Vec<String>,
    named: Vec<Named>,
}

fn child(item: &syn::Item) -> Option<String> {
    match item {
        syn::Item::Mod(module) if !is_test(&module.attrs) => Some(module.ident.to_string()),
        _ => None,
    }
}

fn is_test(attrs: &[syn::Attribute]) -> bool {
    let is_cfg = |attr: &syn::Attribute| attr.path().is_ident("cfg");
    attrs.iter().any(|attr| is_cfg(attr) && attr.parse_args::<syn::Ident>().is_ok_and(|word| word == "test"))
}

impl Reader {
    fn add(&mut self, line: usize, written: &[String]) {
        let Some(first) = written.first() else { return };
        let far = written.iter().take(2).filter(|segment| *segment == "super").count() == 2;
        let mut module = self.module.clone();
        let mut rest = written;
        let root = match first.as_str() {
            "crate" => {
                module.clear();
                module.extend(self.home.clone());
                rest = &rest[1..];
                Root::Own
            }
            other if other.starts_with(OWN_CRATE) => {
                module.clear();
                module.push(other[OWN_CRATE.len()..].to_owned());
                rest = &rest[1..];
                Root::Own
            }
            "self" | "super" => {
                while let Some((segment, behind)) = rest.split_first() {
                    match segment.as_str() {
                        "super" => drop(module.pop()),
                        "self" => {}
                        _ => break,
                    }
                    rest = behind;
                }
                Root::Own
            }
            child if self.children.iter().any(|name| name == child) => Root::Own,
            _ => {
                module.clear();
                Root::Unknown
            }
        };
        module.extend(rest.iter().cloned());
        self.named.push(Named { line, root, path: module, far });
    }

    fn tree(&mut self, prefix: &[String], tree: &syn::UseTree) {
        let with = |ident: &syn::Ident| [prefix, &[ident.to_string()]].concat();
        match tree {
            syn::UseTree::Path(path) => self.tree(&with(&path.ident), &path.tree),
            syn::UseTree::Group(group) => group.items.iter().for_each(|tree| self.tree(prefix, tree)),
            syn::UseTree::Name(name) if name.ident == "self" => {
                self.add(name.ident.span().start().line, prefix);
            }
            syn::UseTree::Name(name) => self.add(name.ident.span().start().line, &with(&name.ident)),
            syn::UseTree::Rename(rename) => self.add(rename.ident.span().start().line, &with(&rename.ident)),
            syn::UseTree::Glob(glob) => self.add(glob.star_token.spans[0].start().line, prefix),
        }
    }
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        let attrs = match item {
            syn::Item::Mod(item) => &item.attrs,
            syn::Item::Fn(item) => &item.attrs,
            syn::Item::Impl(item) => &item.attrs,
            syn::Item::Use(item) => &item.attrs,
            _ => return visit::visit_item(self, item),
        };
        if !is_test(attrs) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        // A module in the file is treated as a part of it.
        self.module.push(item.ident.to_string());
        visit::visit_item_mod(self, item);
        self.module.pop();
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.tree(&[], &item.tree);
    }

    /// `pub(in crate::a)` restricts uses, and is not a use itself.
    fn visit_vis_restricted(&mut self, _: &'ast syn::VisRestricted) {}

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if let Some(first) = path.segments.first().filter(|_| segments.len() > 1) {
            self.add(first.ident.span().start().line, &segments);
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, mac: &'ast syn::Macro) {
        // The contents of a macro are tokens; sequences that look like paths are read as paths.
        let mut tokens: Vec<(usize, String)> = Vec::new();
        flatten(mac.tokens.clone(), &mut tokens);
        let mut at = 0;
        while at < tokens.len() {
            let mut segments = Vec::new();
            let line = tokens[at].0;
            while let Some((_, word)) = tokens.get(at).filter(|(_, word)| is_word(word)) {
                segments.push(word.clone());
                let next = tokens.get(at + 1..at + 3).unwrap_or_default();
                if !next.iter().all(|(_, sign)| sign == ":") || next.len() < 2 {
                    break;
                }
                at += 3;
            }
            if segments.len() > 1 {
                self.add(line, &segments);
            }
            at += 1;
        }
        visit::visit_macro(self, mac);
    }
}

fn is_word(token: &str) -> bool {
    token.starts_with(|first: char| first.is_alphabetic() || first == '_')
}

fn flatten(stream: proc_macro2::TokenStream, into: &mut Vec<(usize, String)>) {
    for token in stream {
        match token {
            proc_macro2::TokenTree::Group(group) => {
                into.push((group.span_open().start().line, "(".to_owned()));
                flatten(group.stream(), into);
                into.push((group.span_close().start().line, ")".to_owned()));
            }
            token => into.push((token.span().start().line, token.to_string())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, module: &str) -> Vec<String> {
        let module: Vec<String> = module.split("::").map(str::to_owned).collect();
        let found = named(text, &module, None).expect("it is Rust");
        let shown = |named: Named| {
            let root = if named.root == Root::Own { "crate" } else { "?" };
            format!(
                "{}: {root}::{}{}",
                named.line,
                named.path.join("::"),
                if named.far { " far" } else { "" }
            )
        };
        found.into_iter().map(shown).collect()
    }

    #[test]
    fn groups_are_taken_apart_and_paths_resolved() {
        let text = "use crate::{diag::{Label, Tag as T}, parser::ast};\nuse super::Site;\nuse super::super::far::Off;\n\
                    fn f() -> crate::source::Span { assert_eq!(logos::Logos, super::x::Y) }";
        let wanted = [
            "1: crate::diag::Label",
            "1: crate::diag::Tag",
            "1: crate::parser::ast",
            "2: crate::sites::Site",
            "3: crate::far::Off far",
            "4: crate::source::Span",
            "4: ?::logos::Logos",
            "4: crate::sites::x::Y",
        ];
        assert_eq!(shown(text, "sites::catalog"), wanted);
    }

    #[test]
    fn tests_are_left_out_and_children_are_known() {
        let text =
            "mod edges;\nuse edges::Edge;\nuse std::{fs, io};\n#[cfg(test)]\nmod tests { use crate::x::Y; }";
        assert_eq!(shown(text, "sites"), ["2: crate::sites::edges::Edge", "3: ?::std::fs", "3: ?::std::io"]);
    }

    #[test]
    fn crates_are_modules_of_the_product() {
        let text = "use crate::insn::Insn;\nuse kinst_base::{probe::Place, uapi};\nuse super::x::Y;";
        let module = ["dif", "dump"].map(str::to_owned);
        let found = named(text, &module, Some("dif")).expect("it is Rust");
        let found: Vec<String> = found.iter().map(|named| named.path.join("::")).collect();
        assert_eq!(found, ["dif::insn::Insn", "base::probe::Place", "base::uapi", "dif::x::Y"]);
    }

    #[test]
    fn files_are_modules() {
        let of = |path: &str| module_of(path).map(|parts| parts.join("::"));
        assert_eq!(of("src/a/b.rs").as_deref(), Some("a::b"));
        assert_eq!(of("src/a/b/mod.rs").as_deref(), Some("a::b"));
        assert_eq!(of("src/lib.rs").as_deref(), Some(""));
        assert_eq!(of("crates/c/src/a/mod.rs").as_deref(), Some("c::a"));
        assert_eq!(of("crates/c/src/lib.rs").as_deref(), Some("c"));
        assert_eq!(of("xtask/src/main.rs"), None);
        let folder = |module: &str| {
            let module: Vec<String> = module.split("::").map(str::to_owned).collect();
            folder_of(&module, &["crates/c/src/lib.rs", "crates/c/src/a/mod.rs", "src/c/mod.rs"])
        };
        assert_eq!(folder("c"), ("crates/c/src".to_owned(), "lib.rs"));
        assert_eq!(folder("c::a"), ("crates/c/src/a".to_owned(), "mod.rs"));
        assert_eq!(folder("b::a"), ("src/b/a".to_owned(), "mod.rs"));
    }
}
