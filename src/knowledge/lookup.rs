//! knowledge/lookup.rs: types and symbols by name: from BTF, or from debug information where BTF is absent.

use super::files::Files;
use super::symbols::Located;
use kinst_base::diag::Diagnostic;
use kinst_base::image::{KERNEL_PROPER, is_kernel_proper};
use kinst_base::machine::Machine;
use kinst_base::probe::{Description, Fields, Site};
use kinst_dwarf::types as dwarf;
use kinst_sites::{Driven, InScope, Places};
use kinst_types::btf::Btf;
use kinst_types::intrinsic::Intrinsic;
use kinst_types::{KernelTypes, Member, Prototype, Symbol, TagKind, Tagged, Type, TypeOrigin, TypeSource};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Looks up types, first among the intrinsic ones, then in the kernel proper, then in the modules. It reads
/// nothing until a name is looked up that is not intrinsic.
pub struct Knowledge<F> {
    files: F,
    proper: OnceLock<Option<Arc<Btf>>>,
    modules: Mutex<Modules>,
    /// The modules whose debug information was queried; the handle of a type has the index in this list.
    debugged: Mutex<Vec<String>>,
    /// Cached results for words: the lexer looks up the same ones again and again.
    words: Mutex<HashMap<String, Option<Type>>>,
    /// Cached scopes of instructions and types from debug information: a clause needs them several times.
    scopes: Mutex<HashMap<Site, InScope>>,
    places: Mutex<HashMap<(String, u64), Type>>,
}

/// The modules whose types were read.
#[derive(Default)]
struct Modules {
    by_name: HashMap<String, Option<Arc<Btf>>>,
    /// The first module has number 1.
    by_number: Vec<Arc<Btf>>,
}

/// Marks types from debug information, in the file number of a type's handle.
const DEBUGGED: u16 = 0x8000;

/// The module named before a backtick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope<'a> {
    Any,
    Proper,
    Module(&'a str),
}

impl<'a> Scope<'a> {
    fn of(module: &'a str) -> Scope<'a> {
        match module {
            "" => Scope::Any,
            name if is_kernel_proper(name) => Scope::Proper,
            module => Scope::Module(module),
        }
    }

    /// Splits `` module`name ``.
    fn split(name: &'a str) -> (Scope<'a>, &'a str) {
        match name.split_once('`') {
            Some((module, name)) => (Scope::of(module), name),
            None => (Scope::Any, name),
        }
    }
}

impl<F: Files> Knowledge<F> {
    /// Creates the look-up over these files; reads none yet.
    pub fn new(files: F) -> Knowledge<F> {
        Knowledge {
            files,
            proper: OnceLock::new(),
            modules: Mutex::default(),
            debugged: Mutex::default(),
            words: Mutex::default(),
            scopes: Mutex::default(),
            places: Mutex::default(),
        }
    }

    fn proper(&self) -> Option<&Arc<Btf>> {
        let read = || Some(Arc::new(Btf::parse(self.files.btf(None)?, None, 0).ok()?));
        self.proper.get_or_init(read).as_ref()
    }

    fn module(&self, name: &str) -> Option<Arc<Btf>> {
        let base = Arc::clone(self.proper()?);
        let mut modules = lock(&self.modules);
        if let Some(known) = modules.by_name.get(name) {
            return known.clone();
        }
        let number = u16::try_from(modules.by_number.len() + 1).ok();
        let read = number.and_then(|number| {
            let bytes = self.files.btf(Some(name))?;
            Some(Arc::new(Btf::parse(bytes, Some(base), number).ok()?))
        });
        modules.by_name.insert(name.to_owned(), read.clone());
        modules.by_number.extend(read.clone());
        read
    }

    fn numbered(&self, number: u16) -> Option<Arc<Btf>> {
        match number.checked_sub(1) {
            None => self.proper().cloned(),
            Some(index) => lock(&self.modules).by_number.get(usize::from(index)).cloned(),
        }
    }

    /// Queries the debug information of a module.
    fn ask_debug<T>(&self, module: &str, ask: impl Fn(&dwarf::Types<'_>) -> Option<T>) -> Option<T> {
        if module.starts_with('/') {
            return self.ask_program(module, ask);
        }
        let sections = dwarf::Sections::load(self.files.debug(module)?)?;
        let number = {
            let mut debugged = lock(&self.debugged);
            let place = debugged.iter().position(|name| name == module).unwrap_or_else(|| {
                debugged.push(module.to_owned());
                debugged.len() - 1
            });
            DEBUGGED | u16::try_from(place).ok()?
        };
        let defined = |kind, name: &str| {
            self.search(Scope::of(module), |btf| btf.tagged(kind, name).filter(is_complete))
                .or_else(|| self.search(Scope::Proper, |btf| btf.tagged(kind, name).filter(is_complete)))
        };
        ask(&sections.types(TypeOrigin::Kernel(number), &defined))
    }

    /// Queries the debug information of a program, by its file's key. Its types are its own: no name is looked up
    /// elsewhere.
    fn ask_program<T>(&self, key: &str, ask: impl Fn(&dwarf::Types<'_>) -> Option<T>) -> Option<T> {
        let number = key.strip_prefix('/')?.parse().ok()?;
        let file = self.files.program(key)?;
        let sections = dwarf::Sections::load(file.debug_file()?)?;
        ask(&sections.types(TypeOrigin::File(number), &|_, _| None))
    }

    /// Queries the debug information of a scope that has no BTF.
    fn ask_instead<T>(&self, scope: Scope<'_>, ask: impl Fn(&dwarf::Types<'_>) -> Option<T>) -> Option<T> {
        match scope {
            Scope::Module(name) if self.module(name).is_none() => self.ask_debug(name, ask),
            Scope::Any | Scope::Proper if self.proper().is_none() => self.ask_debug(KERNEL_PROPER, ask),
            _ => None,
        }
    }

    /// Queries the debug information that defines a handle.
    fn ask_owner<T>(&self, tagged: &Tagged, ask: impl Fn(&dwarf::Types<'_>) -> T) -> Option<T> {
        let number = match tagged.id.origin {
            TypeOrigin::Kernel(number) => number,
            TypeOrigin::File(number) => {
                return self.ask_program(&format!("/{number}"), |types| Some(ask(types)));
            }
            TypeOrigin::Program => return None,
        };
        let place = usize::from(number.checked_sub(DEBUGGED)?);
        let module = lock(&self.debugged).get(place).cloned()?;
        self.ask_debug(&module, |types| Some(ask(types)))
    }

    /// The first result in a scope.
    fn search<T>(&self, scope: Scope<'_>, ask: impl Fn(&Btf) -> Option<T>) -> Option<T> {
        let proper = || self.proper().and_then(|btf| ask(btf));
        match scope {
            Scope::Proper => proper(),
            Scope::Module(name) => self.module(name).and_then(|btf| ask(&btf)),
            Scope::Any => proper().or_else(|| {
                let modules = self.files.modules();
                modules.iter().find_map(|name| self.module(name).and_then(|btf| ask(&btf)))
            }),
        }
    }

    /// The file that defines a struct, union or enum.
    fn file_of(&self, tagged: &Tagged) -> Option<Arc<Btf>> {
        match tagged.id.origin {
            TypeOrigin::Kernel(number) => self.numbered(number),
            TypeOrigin::Program | TypeOrigin::File(_) => None,
        }
    }
}

impl<F: Files> TypeSource for Knowledge<F> {
    fn named(&self, name: &str) -> Option<Type> {
        if let Some(ty) = Intrinsic.named(name) {
            return Some(ty);
        }
        if let Some(known) = lock(&self.words).get(name) {
            return known.clone();
        }
        let (scope, plain) = Scope::split(name);
        let found = match Intrinsic.named(plain).filter(|_| scope != Scope::Any) {
            Some(base @ (Type::Void | Type::String)) => Some(base),
            _ => self
                .search(scope, |btf| btf.named(plain))
                .or_else(|| self.ask_instead(scope, |types| types.named(plain))),
        };
        lock(&self.words).insert(name.to_owned(), found.clone());
        found
    }

    fn tagged(&self, kind: TagKind, name: &str) -> Option<Type> {
        let (scope, name) = Scope::split(name);
        let defined = |btf: &Btf| btf.tagged(kind, name).filter(is_complete);
        self.search(scope, defined)
            .or_else(|| self.search(scope, |btf| btf.tagged(kind, name)))
            .or_else(|| self.ask_instead(scope, |types| types.tagged(kind, name)))
    }

    fn complete(&self, tagged: &Tagged) -> Tagged {
        let forward = tagged.bytes.is_none() && !tagged.name.is_empty();
        if !forward {
            return tagged.clone();
        }
        // A module may declare it forward without a definition, while the kernel proper or another module
        // defines it.
        if let TypeOrigin::File(_) = tagged.id.origin {
            let defined = self.ask_owner(tagged, |types| types.defined(tagged.kind, &tagged.name)).flatten();
            return defined.unwrap_or_else(|| tagged.clone());
        }
        let own = self.file_of(tagged).and_then(|btf| btf.tagged(tagged.kind, &tagged.name));
        match own.filter(is_complete).or_else(|| self.tagged(tagged.kind, &tagged.name)) {
            Some(Type::Record(found) | Type::Enum(found)) if found.bytes.is_some() => found,
            _ => tagged.clone(),
        }
    }

    fn members(&self, record: &Tagged) -> Vec<Member> {
        let record = self.complete(record);
        match self.file_of(&record) {
            Some(btf) => btf.members(record.id.index),
            None => self.ask_owner(&record, |types| types.members(&record)).unwrap_or_default(),
        }
    }

    fn parameters(&self, record: &Tagged) -> Vec<(String, Type)> {
        self.ask_owner(record, |types| types.parameters(record)).unwrap_or_default()
    }

    fn virtual_bases(&self, record: &Tagged) -> Vec<Type> {
        self.ask_owner(record, |types| types.virtual_bases(record)).unwrap_or_default()
    }

    fn enumerators(&self, tagged: &Tagged) -> Vec<(String, i64)> {
        let tagged = self.complete(tagged);
        match self.file_of(&tagged) {
            Some(btf) => btf.enumerators(tagged.id.index),
            None => self.ask_owner(&tagged, |types| types.enumerators(&tagged)).unwrap_or_default(),
        }
    }

    fn names(&self) -> Vec<&str> {
        let kernel = self.proper().into_iter().flat_map(|btf| btf.names());
        Intrinsic.names().into_iter().chain(kernel).collect()
    }
}

impl<F: Files> KernelTypes for Knowledge<F> {
    fn symbol(&self, name: &str) -> Option<Symbol> {
        let (scope, name) = Scope::split(name);
        let module = match scope {
            Scope::Any => None,
            Scope::Proper => Some(KERNEL_PROPER),
            Scope::Module(module) => Some(module),
        };
        let found = self.files.symbol(module, name)?;
        let ty = if found.function { Some(Type::Function) } else { self.variable(&found) };
        let per_cpu = self.is_per_cpu(&found);
        let Located { module, address, mut bytes, .. } = found;
        if bytes == 0 && matches!(ty.as_ref().map(Type::resolved), Some(Type::Array { len: 0, .. })) {
            bytes = self.files.symbol_size(&module, name);
        }
        Some(Symbol { module, name: name.to_owned(), address, bytes, per_cpu, ty })
    }

    fn prototype(&self, module: &str, function: &str) -> Option<Prototype> {
        let scope = Scope::of(module);
        self.search(scope, |btf| btf.prototype(function))
            .or_else(|| self.ask_instead(scope, |types| types.prototype(function)))
    }

    fn type_at(&self, module: &str, place: u64) -> Type {
        let key = (module.to_owned(), place);
        if let Some(known) = lock(&self.places).get(&key) {
            return known.clone();
        }
        let found = self.ask_debug(module, |types| Some(types.at(place))).unwrap_or(Type::Void);
        lock(&self.places).insert(key, found.clone());
        found
    }

    fn has_module(&self, name: &str) -> bool {
        Scope::of(name) == Scope::Proper || self.files.has_module(name)
    }

    fn without_types(&self) -> Option<String> {
        let some = self.proper().is_some() || self.files.debug(KERNEL_PROPER).is_some();
        (!some).then(|| self.files.without_types())
    }
}

impl<F: Files> Places for Knowledge<F> {
    fn probes(&self, description: &Description) -> Vec<Fields> {
        self.files.probes(description)
    }

    fn unmatched(&self, description: &Description) -> Option<Box<Diagnostic>> {
        self.files.unmatched(description)
    }

    fn instructions(&self, description: &Fields) -> Result<Vec<Site>, Box<Diagnostic>> {
        self.files.instructions(description)
    }

    fn machine(&self) -> Machine {
        self.files.machine()
    }

    fn driven(&self, description: &Description) -> Vec<Driven> {
        self.files.driven(description)
    }

    fn scopes(&self, sites: &[Site]) -> Vec<InScope> {
        let mut known = lock(&self.scopes);
        let mut seen: HashSet<&Site> = HashSet::new();
        let missing = sites.iter().filter(|site| !known.contains_key(site) && seen.insert(site));
        let missing: Vec<Site> = missing.cloned().collect();
        let found = self.files.scopes(&missing);
        known.extend(missing.into_iter().zip(found.into_iter().map(Arc::new)));
        sites.iter().filter_map(|site| known.get(site).cloned()).collect()
    }
}

impl<F: Files> Knowledge<F> {
    /// The linker puts per-CPU variables of the kernel proper between two symbols.
    fn is_per_cpu(&self, symbol: &Located) -> bool {
        let bound = |name| Some(self.files.symbol(Some(KERNEL_PROPER), name)?.address);
        let bounds = || Some(bound("__per_cpu_start")?..bound("__per_cpu_end")?);
        let variable = !symbol.function && symbol.module == KERNEL_PROPER;
        variable && bounds().is_some_and(|bounds| bounds.contains(&symbol.address))
    }

    /// BTF has few variables; debug information has all.
    fn variable(&self, symbol: &Located) -> Option<Type> {
        self.search(Scope::of(&symbol.module), |btf| btf.variable(&symbol.name)).or_else(|| {
            let address = self.files.linked(symbol)?;
            self.ask_debug(&symbol.module, |types| types.variable(address))
        })
    }
}

fn is_complete(ty: &Type) -> bool {
    matches!(ty, Type::Record(Tagged { bytes: Some(_), .. }) | Type::Enum(_))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
