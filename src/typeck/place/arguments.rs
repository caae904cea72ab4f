//! typeck/place/arguments.rs: args[]: the arguments that the probes of a clause define.

use super::described::first_instruction;
use super::locals::parameter;
use super::passing::{Elsewhere, Passed};
use crate::parser::ast;
use crate::sugar::plain::ProbeDesc;
use crate::typeck::declare::provider::Argument;
use crate::typeck::error::{Error, Result};
use crate::typeck::operand::Operand;
use crate::typeck::state::Checker;
use crate::typeck::typed::{Expr, ExprKind};
use crate::typeck::{error, words};
use crate::vocabulary::syscalls;
use kinst_base::diag::tags;
use kinst_base::glob::is_glob;
use kinst_base::probe::{Description, Fields, is_mangled, split_clone};
use kinst_base::source::Span;
use kinst_base::space::Space;
use kinst_dif::insn::Builtin;
use kinst_dwarf::source_name;
use kinst_dwarf::variables::scope::{Frame, Missing, NoScope, Variable};
use kinst_sites::InScope;
use kinst_types::intrinsic::{INT, LONG, ULONG};
use kinst_types::{Prototype, TagKind, Type};

/// arg0 to arg9.
const ARGUMENTS: [Builtin; 10] = [
    Builtin::Arg0,
    Builtin::Arg1,
    Builtin::Arg2,
    Builtin::Arg3,
    Builtin::Arg4,
    Builtin::Arg5,
    Builtin::Arg6,
    Builtin::Arg7,
    Builtin::Arg8,
    Builtin::Arg9,
];

/// The requested element of `args[]`, and the spans of the index and the whole.
#[derive(Clone, Copy)]
struct Wanted {
    number: u64,
    index: Span,
    span: Span,
}

impl Checker<'_> {
    /// Checks `args[i]` against the probes of the clause.
    pub(in crate::typeck) fn check_typed_argument(
        &mut self,
        indices: &[ast::Expr],
        span: Span,
    ) -> Result<Operand> {
        let [index] = indices else {
            return Err(error::Args::Subscript { tag: tags::PROTO_LEN, span }.into());
        };
        let index = self.check_expr(index)?;
        let Some(number) = index.constant().filter(|_| index.ty.is_integer()) else {
            return Err(error::Args::Subscript { tag: tags::PROTO_ARG, span: index.span }.into());
        };
        let Some(probes) = self.probes.clone() else {
            return Err(error::Args::Outside { span }.into());
        };
        if let Some(argument) = self.check_driver_argument(number, index.span, span) {
            return argument;
        }
        if let Some(argument) = self.check_site_argument(number, index.span, span) {
            return argument.map(Operand::from);
        }
        let wanted = Wanted { number, index: index.span, span };
        if let Some(argument) = self.argument_in_place(wanted) {
            return argument.map(Operand::from);
        }
        let mut argument: Option<Argument> = None;
        for probe in &probes {
            let found = self.argument_of_all(probe, wanted)?;
            match &argument {
                Some(first) if !same(first, &found) => {
                    let notes = Vec::new();
                    return Err(error::Args::Differ { span, probe: probe.span, notes }.into());
                }
                Some(_) => {}
                None => argument = Some(found),
            }
        }
        let Some((raw, native, ty)) = argument else {
            return Err(error::Args::Outside { span }.into());
        };
        let Some(raw) = ARGUMENTS.get(raw) else {
            let count = ARGUMENTS.len() as u64;
            return Err(error::Args::Index { number, count, span: index.span }.into());
        };
        let raw = Expr::new(ExprKind::Builtin(*raw), words::type_of("int64_t"), span);
        let value = Expr::new(ExprKind::Convert(Box::new(raw)), native, span);
        if self.is_compatible(&value, &ty) {
            return Ok(Expr { ty, ..value }.into());
        }
        Ok(self.translated(ty, value, span)?.into())
    }

    /// Reads an argument at the entry of one function of a program, where the debug information has it; `None` if it
    /// does not have it there. A compiler need not obey the calling convention if it knows all callers.
    fn argument_in_place(&mut self, wanted: Wanted) -> Option<Result<Expr>> {
        let place = self.place.clone()?;
        let fields = place.probe.kind.fields()?;
        Space::of_program(&fields.provider).filter(|_| !is_return(&fields))?;
        let (_, parameter) = parameter(&place, wanted.number)?;
        parameter.location.as_ref().ok()?;
        Some(self.site_argument(&place, wanted.number, wanted.index, wanted.span))
    }

    /// Returns the argument that all probes of a description must agree on. Probes whose arguments have no
    /// types, such as functions in assembly, are ignored.
    fn argument_of_all(&self, probe: &ProbeDesc, wanted: Wanted) -> Result<Argument> {
        let probes = self.probes_of(&probe.kind);
        let found = probes.iter().map(|fields| (fields, self.argument_of(fields, wanted)));
        // In a program, such an argument may be anywhere.
        let all =
            probes.len() == 1 || probes.iter().any(|fields| Space::of_program(&fields.provider).is_some());
        let mut typed = found.filter(|(_, found)| all || !is_untyped(found));
        let Some((first, argument)) = typed.next() else {
            return match probes.first() {
                Some(first) => self.argument_of(first, wanted),
                None => Err(error::Args::Unstable { span: wanted.span, probe: probe.span }.into()),
            };
        };
        for (other, found) in typed {
            let agree = match (&argument, &found) {
                (Ok(a), Ok(b)) => same(a, b),
                (a, b) => a.is_err() && b.is_err(),
            };
            if !agree {
                let shown = |fields: &Fields, found: &Result<Argument>| match found {
                    Ok((_, _, ty)) => format!("of {fields} args[{}] is {ty}", wanted.number),
                    Err(_) => format!("{fields} has no args[{}]", wanted.number),
                };
                let notes = vec![shown(first, &argument), shown(other, &found)];
                let (span, probe) = (wanted.span, probe.span);
                return Err(error::Args::Differ { span, probe, notes }.into());
            }
        }
        argument
    }

    /// Returns the probes that a description names. A description written in full is its own probe, whether it
    /// exists or not.
    fn probes_of(&self, probe: &Description) -> Vec<Fields> {
        let fields = match probe {
            Description::Id(_) => return self.env.places.probes(probe),
            Description::Fields(fields) => fields,
            Description::Site(site) => return vec![site.fields()],
        };
        let own = matches!(fields.name.as_str(), "BEGIN" | "END" | "ERROR");
        if own && matches!(fields.provider.as_str(), "" | "dtrace") {
            return vec![Fields { provider: "dtrace".to_string(), ..Fields::clone(fields) }];
        }
        let declared = self.declared_probes(fields);
        if !declared.is_empty() {
            let named = |name| Fields { name, ..Fields::clone(fields) };
            return declared.into_iter().map(named).collect();
        }
        let exact = |field: &str| !field.is_empty() && !is_glob(field);
        let written_out = match fields.provider.as_str() {
            "fbt" | "syscall" => exact(&fields.function) && exact(&fields.name),
            "sdt" => exact(&fields.name),
            provider if Space::of_program(provider).is_some() => exact(&fields.function),
            provider => exact(provider),
        };
        match written_out {
            true => vec![Fields::clone(fields)],
            false => self.env.places.probes(probe),
        }
    }

    /// Returns the argument of one probe.
    fn argument_of(&self, fields: &Fields, wanted: Wanted) -> Result<Argument> {
        let Wanted { number, index, span } = wanted;
        let outside = |count: u64| error::Args::Index { number, count, span: index }.into();
        let number = usize::try_from(number).unwrap_or(usize::MAX);
        if let Some(arguments) = self.declared_arguments(fields) {
            let count = arguments.len() as u64;
            return arguments.into_iter().nth(number).ok_or_else(|| outside(count));
        }
        if !has_prototypes(fields) {
            return Err(outside(0));
        }
        let function = || source_name(&fields.function).unwrap_or_else(|| fields.function.clone());
        let untyped = |why| error::Args::WithoutType { function: function(), why, span }.into();
        let Some(prototype) = self.prototype_of(fields) else {
            return Err(untyped(self.why_unknown(fields)));
        };
        let in_vector = |register| in_vector(&prototype, number, register, span);
        if let Some(why) = self.is_irregular(fields, number) {
            return match self.argument_number(&prototype, number) {
                Err(Elsewhere::Vector(register)) if !is_return(fields) => Err(in_vector(register)),
                _ => Err(untyped(Some(why.to_owned()))),
            };
        }
        let by_value = |ty: &Type| untyped(Some(format!("{ty} is passed by value")));
        if is_return(fields) {
            let returns = prototype.returns;
            return match number {
                0 => Ok((0, first_of_return(fields), first_of_return(fields))),
                1 if returns.is_void() => Err(outside(1)),
                1 if returns.is_by_ref() => Err(by_value(&returns)),
                1 if matches!(self.passing(&returns), Passed::Vector { .. }) => {
                    Err(error::Args::InVector { what: "args[1]".to_owned(), ty: returns, register: 0, span }
                        .into())
                }
                1 => Ok((1, returns.clone(), returns)),
                _ => Err(outside(if returns.is_void() { 1 } else { 2 })),
            };
        }
        let params = &prototype.params;
        let Some((_, ty)) = params.get(number) else { return Err(outside(params.len() as u64)) };
        if ty.is_by_ref() {
            return Err(by_value(ty));
        }
        // C++ and Rust pass some structs by reference, which their types alone do not tell.
        let mut before = params[..number].iter().map(|(_, ty)| ty).chain([&prototype.returns]);
        if is_mangled(&fields.function)
            && let Some(before) = before.find(|ty| ty.is_by_ref())
        {
            return Err(untyped(Some(format!("its place is unknown, as {before} is passed by value"))));
        }
        match self.argument_number(&prototype, number) {
            Ok(raw) if raw < ARGUMENTS.len() => Ok((raw, ty.clone(), ty.clone())),
            Ok(_) | Err(Elsewhere::Stack) if Space::of_program(&fields.provider).is_some() => Err(untyped(
                Some("it is on the stack, and the debug information does not have its place".to_owned()),
            )),
            Ok(_) | Err(Elsewhere::Stack) => Err(outside(ARGUMENTS.len() as u64)),
            Err(Elsewhere::Vector(register)) => Err(in_vector(register)),
        }
    }

    /// Returns the prototype of the function that an fbt probe is in. For a tracepoint, as with sdt's
    /// probes, it is the prototype of the function that calls all listeners, without the first parameter,
    /// which is for that function itself.
    fn prototype_of(&self, fields: &Fields) -> Option<Prototype> {
        let module = if is_glob(&fields.module) { "" } else { fields.module.as_str() };
        match fields.provider.as_str() {
            "sdt" => {}
            "syscall" => return self.system_call(&fields.function),
            provider if Space::of_program(provider).is_some() => return self.prototype_in_program(fields),
            _ => return self.env.kernel.prototype(module, &fields.function),
        }
        let caller = self.env.kernel.prototype(module, &format!("__traceiter_{}", fields.name))?;
        let params = caller.params.into_iter().skip(1).collect();
        Some(Prototype { params, ..caller })
    }

    /// Returns the prototype of a function in a program. The parameters of a clone are not in the registers that the
    /// calling convention says.
    fn prototype_in_program(&self, fields: &Fields) -> Option<Prototype> {
        if is_clone(&fields.function) {
            return None;
        }
        let scope = self.scope_at_entry(fields)?;
        let scope = scope.as_ref().as_ref().ok()?;
        let own = scope.frames.last()?;
        let params = own.parameters.iter().map(|parameter| {
            let ty = self.type_of_variable(parameter, scope);
            (parameter.name.clone(), ty)
        });
        let returns = own.returns.map_or(Type::Void, |place| self.env.kernel.type_at(&scope.module, place));
        Some(Prototype { params: params.collect(), returns: self.complete(returns) })
    }

    /// Returns why the types of a function are unknown.
    fn why_unknown(&self, fields: &Fields) -> Option<String> {
        if Space::of_program(&fields.provider).is_none() {
            return self.env.kernel.without_types();
        }
        match self.scope_at_entry(fields)?.as_ref() {
            Err(why @ (NoScope::DebugInformation(_) | NoScope::Damaged(_))) => Some(why.to_string()),
            Ok(_) | Err(_) => None,
        }
    }

    fn scope_at_entry(&self, fields: &Fields) -> Option<InScope> {
        self.env.places.scopes(&[first_instruction(fields)]).pop()
    }

    /// Returns why an argument of a function in a program may not be where the calling convention says.
    fn is_irregular(&self, fields: &Fields, number: usize) -> Option<&'static str> {
        Space::of_program(&fields.provider)?;
        let scope = self.scope_at_entry(fields)?;
        let scope = scope.as_ref().as_ref().ok()?;
        let own = scope.frames.last()?;
        let is_gone = |parameter: &Variable| parameter.location == Err(Missing::OptimisedOut);
        let is_return = is_return(fields);
        if is_return && number == 0 {
            return None;
        }
        if !is_return && is_go(&fields.function) {
            return Some("the debug information has no place of it, and Go passes arguments in its own way");
        }
        if own.is_nocall {
            return Some("the compiler passes its arguments in its own way (DW_CC_nocall)");
        }
        if is_return {
            return None;
        }
        if own.parameters.iter().take(number.saturating_add(1)).any(is_gone) {
            return Some(
                "the compiler has optimised it out, or one before it, and may pass the others in its own way",
            );
        }
        let is_elsewhere = |parameter: &Variable| parameter.location == Err(Missing::NotCovered);
        let is_known = !own.parameters.get(number).is_some_and(is_elsewhere)
            || self.receives(own, &self.prototype_in_program(fields)?);
        (!is_known).then_some(
            "the debug information does not have it at the entry, and the function does not read all registers in which \
             the calling convention passes its arguments: the compiler may pass them in its own way",
        )
    }

    /// Whether a function reads all registers in which the calling convention passes its arguments. A compiler that knows
    /// all callers may leave out arguments, and then say nothing but where it has put the value.
    fn receives(&self, own: &Frame, prototype: &Prototype) -> bool {
        /// The numbers in debug information of the registers for arguments, in order.
        const PASSED_IN: [u8; 6] = [5, 4, 1, 2, 8, 9];
        let Some(received) = &own.received else { return true };
        (0..prototype.params.len()).all(|number| match self.argument_number(prototype, number) {
            Ok(raw) => PASSED_IN
                .get(raw)
                .is_none_or(|register| received.iter().any(|received| received.number() == *register)),
            Err(_) => true,
        })
    }

    /// Returns the prototype of a system call, whose pointers refer to the memory of the process.
    fn system_call(&self, name: &str) -> Option<Prototype> {
        let params = syscalls::parameters(name)?.map(|text| {
            let base = text.trim_end_matches([' ', '*']);
            let stars = text.len() - text.trim_end_matches('*').len();
            let known = match base.split_once(' ') {
                Some(("struct", tag)) => self.env.kernel.tagged(TagKind::Struct, tag),
                Some(("union", tag)) => self.env.kernel.tagged(TagKind::Union, tag),
                _ => self.env.kernel.named(base),
            };
            let unknown = if stars == 0 { ULONG } else { Type::Void };
            let pointer = |to, _| Type::Pointer { to: Box::new(to), user: true };
            (String::new(), (0..stars).fold(known.unwrap_or(unknown), pointer))
        });
        Some(Prototype { params: params.collect(), returns: LONG })
    }

    /// Returns the types of all arguments of a description's probes; none if they are unknown or differ.
    pub(in crate::typeck) fn argument_types(&self, probe: &Description) -> Vec<Type> {
        if let Some(scope) = self.scope_of(probe) {
            return match &*scope {
                Ok(scope) => self.types_of_parameters(scope),
                Err(_) => Vec::new(),
            };
        }
        if let [one, ..] = &self.env.places.driven(probe)[..] {
            return self.types_of_driven(one);
        }
        let mut lists = self.probes_of(probe).into_iter().map(|fields| self.argument_list(&fields));
        let first = lists.next().unwrap_or_default();
        let agrees =
            |list: Vec<Type>| list.len() == first.len() && list.iter().zip(&first).all(|(a, b)| a.same(b));
        if lists.all(agrees) { first } else { Vec::new() }
    }

    /// Returns the argument names of a description's probes; `args[0]` where an argument has no name.
    pub(super) fn argument_names(&self, probe: &Description) -> Vec<String> {
        let count = self.argument_types(probe).len();
        let fields = self
            .probes_of(probe)
            .into_iter()
            .next()
            .filter(|fields| has_prototypes(fields) && !is_return(fields));
        let prototype = fields.and_then(|fields| self.prototype_of(&fields));
        let named = |number: usize| {
            let declared = prototype.as_ref().and_then(|prototype| prototype.params.get(number));
            name(number, declared.map_or("", |(name, _)| name.as_str()))
        };
        (0..count).map(named).collect()
    }

    fn argument_list(&self, fields: &Fields) -> Vec<Type> {
        if let Some(arguments) = self.declared_arguments(fields) {
            return arguments.into_iter().map(|(_, _, ty)| ty).collect();
        }
        match has_prototypes(fields).then(|| self.prototype_of(fields)).flatten() {
            None => Vec::new(),
            Some(prototype) if is_return(fields) => match prototype.returns.is_void() {
                true => vec![first_of_return(fields)],
                false => vec![first_of_return(fields), prototype.returns],
            },
            Some(prototype) => prototype.params.into_iter().map(|(_, ty)| ty).collect(),
        }
    }
}

/// The error about an argument in a vector register.
fn in_vector(prototype: &Prototype, number: usize, register: usize, span: Span) -> Box<Error> {
    let (name, ty) = prototype.params.get(number).cloned().unwrap_or((String::new(), Type::Void));
    let what = match name.as_str() {
        "" => format!("args[{number}]"),
        name => format!("args[{number}], which is {name},"),
    };
    error::Args::InVector { what, ty, register, span }.into()
}

/// The index N of `argN`, for arg0 to arg9.
pub(super) fn number_of(name: &str) -> Option<usize> {
    ARGUMENTS.iter().position(|argument| argument.name() == name)
}

/// Whether two arguments have the same location and the same types.
fn same(a: &Argument, b: &Argument) -> bool {
    a.0 == b.0 && a.1.same(&b.1) && a.2.same(&b.2)
}

/// Whether the probes of this provider have function arguments.
fn has_prototypes(fields: &Fields) -> bool {
    let provider = fields.provider.as_str();
    matches!(provider, "fbt" | "sdt" | "syscall") || Space::of_program(provider).is_some()
}

/// Whether a function of a program is a clone that the compiler has made (`f.isra.0`). Symbols of Rust have other dots.
fn is_clone(function: &str) -> bool {
    match is_mangled(function) {
        true => [".constprop.", ".isra.", ".part.", ".cold"].iter().any(|clone| function.contains(clone)),
        false => !split_clone(function).1.is_empty(),
    }
}

/// Whether a function of a program is one of Go: its name begins with its package.
fn is_go(function: &str) -> bool {
    !is_mangled(function) && !function.contains("::") && function.contains('.') && !is_clone(function)
}

fn is_return(fields: &Fields) -> bool {
    fields.provider != "sdt" && fields.name == "return"
}

/// The type of the first argument of a return probe: in fbt the offset of the return, in syscall the value.
fn first_of_return(fields: &Fields) -> Type {
    let is_offset = fields.provider == "fbt" || Space::of_program(&fields.provider).is_some();
    if is_offset { INT } else { LONG }
}

fn is_untyped(found: &Result<Argument>) -> bool {
    matches!(found, Err(error) if matches!(**error, Error::Args(error::Args::WithoutType { .. })))
}

/// The name of a parameter, which a declaration may leave out.
pub(super) fn name(number: usize, name: &str) -> String {
    if name.is_empty() { format!("args[{number}]") } else { name.to_owned() }
}
