//! typeck/error.rs: what can be wrong with a program that parses; one variant, one message.

use super::builtin;
use crate::diag::{Diagnostic, Tag, tags};
use crate::source::Span;
use crate::types::Type;

/// Where a variable was declared, and its type there.
type Declared<T> = Option<(T, Span)>;

/// The tag is part of the variant, or a field where several tags have one message.
#[derive(Clone, Debug, PartialEq)]
pub enum Error {
    // Names.
    Undefined { name: String, similar: Option<String>, span: Span },
    Unassigned { name: String, similar: Option<String>, span: Span },
    FunctionUndefined { name: String, similar: Option<String>, span: Span },
    NotFunction { name: String, span: Span },
    FunctionAsVariable { name: String, span: Span },
    ArrayAsScalar { name: String, span: Span },
    BareScope { span: Span },
    TooManyVariables { span: Span },
    Unsupported { what: String, span: Span },
    KernelType { name: String, span: Span },
    KernelSymbol { name: String, span: Span },
    TypedArguments { span: Span },
    // Calls.
    ArgumentCount { function: String, found: usize, least: usize, most: Option<usize>, span: Span },
    ArgumentType { function: String, number: usize, expected: String, found: Type, span: Span },
    ActionInExpression { action: String, span: Span },
    AggregatingInExpression { function: String, span: Span },
    ActionOperand { op: &'static str, action: String, span: Span },
    // Operators.
    NotInteger { op: &'static str, found: Type, span: Span },
    NotScalar { op: &'static str, found: Type, span: Span },
    ConditionNotScalar { found: Type, span: Span },
    NotArithmetic { op: &'static str, found: Type, span: Span },
    Incompatible { op: &'static str, left: Type, right: Type, span: Span },
    DynamicOperand { op: &'static str, span: Span },
    DivisionByZero { span: Span },
    NotPointer { found: Type, span: Span },
    DereferenceVoid { span: Span },
    DereferenceFunction { span: Span },
    NotRecord { found: Type, span: Span },
    NoMember { member: String, record: Type, similar: Option<String>, span: Span },
    AddressOfVariable { span: Span },
    AddressOfValue { span: Span },
    NoSize { found: Type, span: Span },
    OffsetofType { found: Type, span: Span },
    Stringof { found: Type, span: Span },
    Cast { from: Type, to: Type, span: Span },
    IntOverflow { span: Span },
    // Assignments.
    NotLvalue { span: Span },
    ReadOnly { name: String, span: Span },
    ArrayAssign { found: Type, span: Span },
    AssignType { expected: Type, found: Type, span: Span, declared: Option<(String, Span)> },
    NoValue { found: Type, to: Type, span: Span },
    StepVoid { op: &'static str, found: Type, span: Span },
    PredicateNotScalar { found: Type, span: Span },
    // Arrays.
    LocalArray { name: String, span: Span },
    SeveralIndices { span: Span },
    OutOfBounds { index: u64, len: u64, span: Span },
    RegisterIndex { array: &'static str, span: Span },
    KeyCount { name: String, expected: usize, found: usize, span: Span, declared: Span },
    KeyType { name: String, number: usize, expected: Type, found: Type, span: Span, declared: Span },
    KeyKind { name: String, number: usize, span: Span, declared: Span },
    KeyVoid { found: Type, span: Span },
    // Aggregations.
    AggregationInExpression { span: Span },
    AggregationUpdate { span: Span },
    BareAggregation { span: Span },
    AggregationDimensions { span: Span },
    AggregationRedefined { name: String, function: String, before: &'static str, span: Span, declared: Span },
    NotAggregating { found: Option<String>, span: Span },
    AggregatedScalar { function: &'static str, found: Type, span: Span },
    Quantize { tag: Tag, title: String, span: Span },
    NotAggregation { tag: Tag, name: &'static str, span: Span },
    AggregationUndefined { tag: Tag, aggregation: String, similar: Option<String>, span: Span },
    AggregationArgCount { tag: Tag, action: &'static str, expected: &'static str, found: usize, span: Span },
    // Actions.
    Order { tag: Tag, title: &'static str, span: Span, before: Span },
    TraceAggregation { action: &'static str, span: Span },
    TraceVoid { action: &'static str, span: Span },
    TracememCount { found: usize, span: Span },
    TracememAddress { found: Type, span: Span },
    TracememSize { span: Span },
    TracememLength { found: Type, span: Span },
    StackCount { user: bool, found: usize, span: Span },
    StackFrames { user: bool, span: Span },
    UstackStrsize { span: Span },
    ActionScalar { tag: Tag, action: &'static str, found: Type, span: Span },
    PrintaCount { span: Span },
    PrintaKeys { tag: Tag, title: &'static str, names: (String, String), span: Span, first: Span },
    // Formats.
    FormatConstant { action: &'static str, span: Span },
    FormatEmpty { action: &'static str, span: Span },
    FormatSyntax { title: String, span: Span },
    FormatMissing { letter: char, span: Span, call: Span },
    FormatExtra { action: &'static str, span: Span, format: Span },
    FormatType { letter: char, expected: &'static str, found: Type, span: Span, format: Span },
    FormatKeyType { letter: char, expected: &'static str, span: Span },
    CountMissing { what: &'static str, span: Span, call: Span },
    CountType { what: &'static str, found: Type, span: Span },
    AggregationConversion { action: &'static str, span: Span },
    FreopenName { span: Span },
    // Declarations and types.
    BadStorage { span: Span },
    UselessDeclaration { span: Span },
    ScopedDeclaration { span: Span },
    LocalArrayDeclared { name: String, span: Span },
    VoidObject { span: Span },
    EmptyArray { name: String, span: Span },
    ArrayLength { span: Span },
    ArrayTooBig { span: Span },
    ArrayObject { span: Span },
    Redeclared { name: String, declared: Declared<Type>, span: Span },
    UnknownType { name: String, similar: Option<String>, span: Span },
    BadTypeMix { span: Span },
    CharLength { span: Span },
    SignedNonInteger { span: Span },
    VoidModified { span: Span },
}

impl Error {
    /// A name that nobody assigned so far.
    pub fn is_undefined(&self) -> bool {
        matches!(self, Error::Undefined { .. } | Error::Unassigned { .. })
    }

    pub fn diagnostic(&self) -> Diagnostic {
        self.of_names()
            .or_else(|| self.of_calls())
            .or_else(|| self.of_operators())
            .or_else(|| self.of_assignments())
            .or_else(|| self.of_arrays())
            .or_else(|| self.of_aggregations())
            .or_else(|| self.of_actions())
            .or_else(|| self.of_formats())
            .or_else(|| self.of_declarations())
            .unwrap_or_else(|| error(tags::UNKNOWN, "the program is not valid"))
    }

    fn of_names(&self) -> Option<Diagnostic> {
        Some(match self {
            Error::Undefined { name, similar, span } => {
                let diagnostic = error(tags::IDENT_UNDEF, format!("`{name}` is not defined"));
                let diagnostic = diagnostic.at(*span, "no variable of this name is assigned so far");
                did_you_mean(diagnostic, similar).help(format!(
                    "a variable begins to exist where it is assigned, in the order of the program: `{name} = …;`"
                ))
            }
            Error::Unassigned { name, similar, span } => {
                let diagnostic = error(tags::VAR_UNDEF, format!("`{name}` is read but nothing assigns it"));
                let diagnostic = diagnostic.at(*span, "not assigned or declared so far");
                did_you_mean(diagnostic, similar)
                    .help("assign it in this clause or in one before it, in the order of the program")
            }
            Error::FunctionUndefined { name, similar, span } => {
                let diagnostic = error(tags::FUNC_UNDEF, format!("there is no function `{name}`"));
                let diagnostic = diagnostic.at(*span, "unknown function");
                let similar = similar.as_ref().map(|similar| format!("{similar}()"));
                did_you_mean(diagnostic, &similar)
            }
            Error::NotFunction { name, span } => {
                error(tags::FUNC_IDKIND, format!("`{name}` is a variable, not a function"))
                    .at(*span, "cannot be called")
            }
            Error::FunctionAsVariable { name, span } => {
                error(tags::IDENT_BADREF, format!("`{name}` is a function, not a variable"))
                    .at(*span, "used without being called")
                    .help(format!("call it: `{name}(…)`"))
            }
            Error::ArrayAsScalar { name, span } => {
                error(tags::IDENT_BADREF, format!("`{name}` is an array and needs an index"))
                    .at(*span, "used without an index")
                    .help(format!("name one element: `{name}[…]`"))
            }
            Error::BareScope { span } => {
                error(tags::IDENT_BADREF, "`self` and `this` are no values by themselves")
                    .at(*span, "a variable must follow")
                    .help("write `self->name` or `this->name`")
            }
            Error::TooManyVariables { span } => {
                error(tags::ID_OFLOW, "the program has more variables than DIF can number")
                    .at(*span, "one variable too many")
                    .note("each scope has 64,256 numbers for variables")
            }
            Error::Unsupported { what, span } => {
                error(tags::UNKNOWN, format!("{what} is not supported yet")).at(*span, "not supported yet")
            }
            Error::KernelType { name, span } => {
                error(tags::UNKNOWN, format!("kernel types are not supported yet: {name}"))
                    .at(*span, "needs the type information of the kernel")
                    .help("use integers and pointers to integers, such as `*(uint64_t *)(arg0 + 8)`")
            }
            Error::KernelSymbol { name, span } => {
                error(tags::UNKNOWN, format!("kernel symbols are not supported yet: {name}"))
                    .at(*span, "needs the symbols and types of the kernel")
            }
            Error::TypedArguments { span } => {
                error(tags::ARGS_TYPE, "`args[]` needs the types of the kernel, which are not supported yet")
                    .at(*span, "the argument's type is not known")
                    .help("use the raw arguments `arg0` to `arg9`, which are 64-bit integers")
            }
            _ => return None,
        })
    }

    fn of_calls(&self) -> Option<Diagnostic> {
        Some(match self {
            Error::ArgumentCount { function, found, least, most, span } => {
                let expected = match most {
                    None => format!("at least {}", arguments(*least)),
                    Some(most) if most == least => arguments(*most),
                    Some(most) => format!("{least} to {}", arguments(*most)),
                };
                let title = format!("{function}() takes {expected}, not {found}");
                usage(error(tags::PROTO_LEN, title).at(*span, "wrong number of arguments"), function)
            }
            Error::ArgumentType { function, number, expected, found, span } => {
                let title = format!("argument {number} of {function}() must be {expected}, not {found}");
                usage(error(tags::PROTO_ARG, title).at(*span, format!("this is {found}")), function)
            }
            Error::ActionInExpression { action, span } => {
                error(tags::CG_EXPR, format!("the action {action}() cannot be part of an expression"))
                    .at(*span, "an action has no value")
                    .help(format!("make it a statement of its own: `{action}(…);`"))
            }
            Error::AggregatingInExpression { function, span } => {
                let title = format!("the aggregating function {function}() has no value");
                error(tags::CG_EXPR, title)
                    .at(*span, "only an aggregation takes it")
                    .help(format!("assign it to an aggregation: `@name = {function}(…);`"))
            }
            Error::ActionOperand { op, action, span } => {
                error(tags::OP_ACT, format!("the action {action}() cannot be an operand of `{op}`"))
                    .at(*span, "an action has no value")
                    .help("use `if`/`else`, or two clauses with predicates")
            }
            _ => return None,
        })
    }

    fn of_operators(&self) -> Option<Diagnostic> {
        Some(match self {
            Error::NotInteger { op, found, span } => {
                operand(tags::OP_INT, format!("`{op}` needs integers, not {found}"), found, *span)
            }
            Error::NotScalar { op, found, span } => operand(
                tags::OP_SCALAR,
                format!("`{op}` needs an integer or a pointer, not {found}"),
                found,
                *span,
            ),
            Error::ConditionNotScalar { found, span } => operand(
                tags::OP_SCALAR,
                format!("the condition of `if` must be an integer or a pointer, not {found}"),
                found,
                *span,
            ),
            Error::NotArithmetic { op, found, span } => {
                operand(tags::OP_ARITH, format!("`{op}` needs integers, not {found}"), found, *span)
            }
            Error::Incompatible { op, left, right, span } => {
                let title = format!("`{op}` does not go with {left} and {right}");
                let diagnostic = error(tags::OP_INCOMPAT, title).at(*span, format!("{left} {op} {right}"));
                incompatible_help(diagnostic, op, left, right)
            }
            Error::DynamicOperand { op, span } => {
                error(tags::OP_DYN, format!("an aggregation cannot be an operand of `{op}`"))
                    .at(*span, "an aggregation has no value here")
            }
            Error::DivisionByZero { span } => {
                error(tags::DIV_ZERO, "division by zero").at(*span, "this is 0")
            }
            Error::NotPointer { found, span } => {
                error(tags::DEREF_NONPTR, format!("a pointer is needed here, not {found}"))
                    .at(*span, format!("this is {found}"))
                    .help("cast an address first, for example `(int *)arg0`")
            }
            Error::DereferenceVoid { span } => {
                error(tags::DEREF_VOID, "what a `void *` points to has no type")
                    .at(*span, "cannot be loaded")
                    .help("cast the pointer first, for example `*(int *)p`")
            }
            Error::DereferenceFunction { span } => {
                error(tags::DEREF_FUNC, "a function cannot be loaded").at(*span, "points to a function")
            }
            Error::NotRecord { found, span } => {
                error(tags::OP_SOU, format!("only a struct or union has members, not {found}"))
                    .at(*span, format!("this is {found}"))
            }
            Error::NoMember { member, record, similar, span } => {
                let diagnostic = error(tags::TYPE_MEMBER, format!("{record} has no member `{member}`"));
                did_you_mean(diagnostic.at(*span, "no such member"), similar)
            }
            Error::AddressOfVariable { span } => error(tags::ADDROF_VAR, "a variable of D has no address")
                .at(*span, "`&` is not possible here"),
            Error::AddressOfValue { span } => {
                error(tags::ADDROF_LVAL, "only what is in memory has an address").at(*span, "this is a value")
            }
            Error::NoSize { found, span } => {
                error(tags::SIZEOF_TYPE, format!("{found} has no size")).at(*span, "the size is not known")
            }
            Error::OffsetofType { found, span } => {
                error(tags::OFFSETOF_TYPE, format!("only a struct or union has members, not {found}"))
                    .at(*span, format!("this is {found}"))
            }
            Error::Stringof { found, span } => {
                error(tags::STRINGOF_TYPE, format!("{found} cannot be read as a string"))
                    .at(*span, format!("this is {found}"))
            }
            Error::Cast { from, to, span } => {
                error(tags::CAST_INVAL, format!("{from} cannot be cast to {to}")).at(*span, "invalid cast")
            }
            Error::IntOverflow { span } => {
                error(tags::INT_OFLOW, "the constant does not fit 64 bits").at(*span, "too large")
            }
            _ => return None,
        })
    }

    fn of_assignments(&self) -> Option<Diagnostic> {
        Some(match self {
            Error::NotLvalue { span } => {
                error(tags::OP_LVAL, "this cannot be assigned").at(*span, "not a variable, nor memory")
            }
            Error::ReadOnly { name, span } => error(tags::OP_WRITE, format!("`{name}` cannot be written"))
                .at(*span, "read only")
                .help("use a variable of your own, for example `this->value = …;`"),
            Error::ArrayAssign { found, span } => {
                let diagnostic = error(tags::OP_ARRFUN, format!("{found} cannot be assigned"));
                let diagnostic = diagnostic.at(*span, format!("this is {found}"));
                match found.is_string_compatible() {
                    true => diagnostic.help("to keep the text, assign `stringof(…)` of it"),
                    false => diagnostic,
                }
            }
            Error::AssignType { expected, found, span, declared } => {
                let title = format!("{found} cannot be assigned to {expected}");
                let diagnostic = error(tags::OP_INCOMPAT, title).at(*span, format!("this is {found}"));
                match declared {
                    Some((name, at)) => {
                        diagnostic.and(*at, format!("`{name}` became {expected} here, for the whole program"))
                    }
                    None => diagnostic,
                }
            }
            Error::NoValue { found, span, .. } => {
                let what =
                    if found.is_void() { "this has no value (void)" } else { "an aggregation has no value" };
                error(tags::OP_INCOMPAT, format!("{what} to assign")).at(*span, "no value")
            }
            Error::StepVoid { op, found, span } => {
                error(tags::OP_VFPTR, format!("`{op}` cannot step a {found}: what it points to has no size"))
                    .at(*span, format!("this is {found}"))
                    .help("cast the pointer to the type that it points to")
            }
            Error::PredicateNotScalar { found, span } => {
                let title = format!("a predicate must be an integer or a pointer, not {found}");
                let diagnostic = error(tags::PRED_SCALAR, title).at(*span, format!("this is {found}"));
                match found.is_string() {
                    true => diagnostic.help("compare it: `/ … != \"\"/`"),
                    false => diagnostic,
                }
            }
            _ => return None,
        })
    }

    fn of_arrays(&self) -> Option<Diagnostic> {
        Some(match self {
            Error::LocalArray { name, span } => {
                error(tags::ARR_LOCAL, format!("`{name}` cannot be an associative array"))
                    .at(*span, "`this->` has no associative arrays")
                    .help(format!("use a thread-local one: `{}`", name.replace("this->", "self->")))
            }
            Error::SeveralIndices { span } => {
                error(tags::ARR_BADREF, "a pointer or a scalar array takes one index")
                    .at(*span, "several indices")
            }
            Error::OutOfBounds { index, len, span } => {
                error(tags::ARR_BOUNDS, format!("index {index} is beyond an array of {len}"))
                    .at(*span, format!("0 to {} are possible", len - 1))
            }
            Error::RegisterIndex { array, span } => error(
                tags::REGS_IDX,
                format!("the index of `{array}[]` must be an integer constant, 0 or more"),
            )
            .at(*span, "not such a constant"),
            Error::KeyCount { name, expected, found, span, declared } => {
                let title = format!("`{name}` has {expected} keys, not {found}");
                error(tags::PROTO_LEN, title)
                    .at(*span, format!("{found} given"))
                    .and(*declared, "first used so")
            }
            Error::KeyType { name, number, expected, found, span, declared } => {
                let title = format!("key {number} of `{name}` is {expected}, not {found}");
                error(tags::PROTO_ARG, title)
                    .at(*span, format!("this is {found}"))
                    .and(*declared, "first used so")
            }
            Error::KeyKind { name, number, span, declared } => {
                let title = format!("key {number} of `{name}` was of another kind before");
                error(tags::PROTO_ARG, title)
                    .at(*span, "stack, symbol and value keys do not mix")
                    .and(*declared, "first used so")
            }
            Error::KeyVoid { found, span } => error(tags::KEY_TYPE, format!("{found} cannot be a key"))
                .at(*span, format!("this is {found}")),
            _ => return None,
        })
    }

    fn of_aggregations(&self) -> Option<Diagnostic> {
        Some(match self {
            Error::AggregationInExpression { span } => {
                error(tags::CG_EXPR, "assigning an aggregation is a statement, not an expression")
                    .at(*span, "cannot be part of an expression")
            }
            Error::AggregationUpdate { span } => {
                error(tags::OP_INCOMPAT, "an aggregation is only assigned with `=`")
                    .at(*span, "an aggregation")
                    .help("aggregating functions add up by themselves: `@name = sum(…);`")
            }
            Error::BareAggregation { span } => error(tags::AGG_NULL, "an aggregation alone does nothing")
                .at(*span, "no function is applied")
                .help("feed it with `@name = count();` or print it with `printa(@name);`"),
            Error::AggregationDimensions { span } => {
                error(tags::AGG_MDIM, "an aggregation has one list of keys")
                    .at(*span, "two pairs of brackets")
                    .help("write the keys in one list: `@name[a, b]`")
            }
            Error::AggregationRedefined { name, function, before, span, declared } => {
                let title = format!("`@{name}` cannot have both {before}() and {function}()");
                error(tags::AGG_REDEF, title)
                    .at(*span, format!("{function}() here"))
                    .and(*declared, format!("{before}() here"))
                    .help("use an aggregation of another name")
            }
            Error::NotAggregating { found, span } => {
                let title = match found {
                    Some(function) => format!("{function}() is not an aggregating function"),
                    None => "an aggregation takes the call of an aggregating function".to_string(),
                };
                error(tags::AGG_FUNC, title)
                    .at(*span, "not an aggregating function")
                    .help("count() sum() avg() min() max() stddev() quantize() lquantize() llquantize()")
            }
            Error::AggregatedScalar { function, found, span } => operand(
                tags::AGG_SCALAR,
                format!("{function}() aggregates integers and pointers, not {found}"),
                found,
                *span,
            ),
            Error::Quantize { tag, title, span } => error(*tag, title.clone()).at(*span, "here"),
            Error::NotAggregation { tag, name, span } => {
                error(*tag, format!("{name}() needs an aggregation by its name, without keys"))
                    .at(*span, "not the name of an aggregation")
                    .help(format!("write `{name}(@name)`"))
            }
            Error::AggregationUndefined { tag, aggregation, similar, span } => {
                let diagnostic = error(*tag, format!("nothing is assigned to `@{aggregation}`"));
                let similar = similar.as_ref().map(|similar| format!("@{similar}"));
                did_you_mean(diagnostic.at(*span, "not assigned so far"), &similar)
            }
            Error::AggregationArgCount { tag, action, expected, found, span } => {
                error(*tag, format!("{action}() takes {expected}"))
                    .at(*span, format!("{} given", arguments(*found)))
            }
            _ => return None,
        })
    }

    fn of_actions(&self) -> Option<Diagnostic> {
        Some(match self {
            Error::Order { tag, title, span, before } => {
                error(*tag, *title).at(*span, "not possible here").and(*before, "after this").help(
                    "use several clauses for the same probe; their actions run in the order of the program",
                )
            }
            Error::TraceAggregation { action, span } => {
                let tag = if *action == "print" { tags::PRINT_AGG } else { tags::TRACE_AGG };
                error(tag, format!("{action}() cannot take an aggregation"))
                    .at(*span, "an aggregation")
                    .help("print it with `printa(@name)`")
            }
            Error::TraceVoid { action, span } => {
                let tag = if *action == "print" { tags::PRINT_VOID } else { tags::TRACE_VOID };
                error(tag, format!("{action}() needs a value")).at(*span, "void has no value")
            }
            Error::TracememCount { found, span } => {
                error(tags::TRACEMEM_ARGS, "tracemem() takes an address, a size and, if wanted, a length")
                    .at(*span, format!("{} given", arguments(*found)))
            }
            Error::TracememAddress { found, span } => operand(
                tags::TRACEMEM_ADDR,
                format!("tracemem() needs an address, not {found}"),
                found,
                *span,
            ),
            Error::TracememSize { span } => {
                error(tags::TRACEMEM_SIZE, "the size of tracemem() must be a positive integer constant")
                    .at(*span, "not such a constant")
                    .help("a length that varies is the third argument: `tracemem(address, 256, length)`")
            }
            Error::TracememLength { found, span } => operand(
                tags::TRACEMEM_DYNSIZE,
                format!("the length of tracemem() must be an integer, not {found}"),
                found,
                *span,
            ),
            Error::StackCount { user, found, span } => {
                let (tag, title) = match user {
                    true => {
                        (tags::USTACK_PROTO, "ustack() takes at most a number of frames and a string size")
                    }
                    false => (tags::STACK_PROTO, "stack() takes at most a number of frames"),
                };
                error(tag, title).at(*span, format!("{} given", arguments(*found)))
            }
            Error::StackFrames { user, span } => {
                let (tag, name) =
                    if *user { (tags::USTACK_FRAMES, "ustack()") } else { (tags::STACK_SIZE, "stack()") };
                error(tag, format!("the number of frames of {name} must be a positive integer constant"))
                    .at(*span, "not such a constant")
            }
            Error::UstackStrsize { span } => error(
                tags::USTACK_STRSIZE,
                "the string size of ustack() must be an integer constant, 0 or more",
            )
            .at(*span, "not such a constant"),
            Error::ActionScalar { tag, action, found, span } => operand(
                *tag,
                format!("the number of {action}() must be an integer, not {found}"),
                found,
                *span,
            ),
            Error::PrintaCount { span } => error(tags::PRINTA_PROTO, "printa() needs an aggregation")
                .at(*span, "no aggregation given")
                .help("write `printa(@name)` or `printa(\"format\", @name)`"),
            Error::PrintaKeys { tag, title, names, span, first } => {
                error(*tag, format!("`@{}` and `@{}` {title}", names.0, names.1))
                    .at(*span, "cannot be printed together")
                    .and(*first, "with this one")
            }
            _ => return None,
        })
    }

    fn of_formats(&self) -> Option<Diagnostic> {
        Some(match self {
            Error::FormatConstant { action, span } => {
                error(tags::PRINTF_ARG_FMT, format!("the format of {action}() must be a string constant"))
                    .at(*span, "not a string constant")
                    .help(format!("print it with `{action}(\"%s\", …)`"))
            }
            Error::FormatEmpty { action, span } => {
                error(tags::PRINTF_FMT_EMPTY, format!("the format of {action}() is empty")).at(*span, "empty")
            }
            Error::FormatSyntax { title, span } => error(tags::SYNTAX, title.clone())
                .at(*span, "in this format")
                .help("a percent sign itself is written `%%`"),
            Error::FormatMissing { letter, span, call } => {
                error(tags::PRINTF_ARG_PROTO, format!("there is no argument for `%{letter}`"))
                    .at(*span, "takes an argument")
                    .and(*call, "too few arguments")
            }
            Error::FormatExtra { action, span, format } => {
                error(tags::PRINTF_ARG_EXTRA, format!("{action}() has more arguments than its format takes"))
                    .at(*span, "not printed")
                    .and(*format, "all conversions have their arguments")
            }
            Error::FormatType { letter, expected, found, span, format } => {
                let title = format!("`%{letter}` prints {expected}, not {found}");
                let diagnostic = error(tags::PRINTF_ARG_TYPE, title)
                    .at(*span, format!("this is {found}"))
                    .and(*format, format!("takes {expected}"));
                format_help(diagnostic, *letter, found)
            }
            Error::FormatKeyType { letter, expected, span } => {
                error(tags::PRINTF_ARG_TYPE, format!("`%{letter}` prints {expected}, not what the key is"))
                    .at(*span, format!("takes {expected}"))
                    .note("the conversions take the elements of the key in order; `%@…` takes the value")
            }
            Error::CountMissing { what, span, call } => {
                error(tags::PRINTF_DYN_PROTO, format!("there is no argument for the {what} `*`"))
                    .at(*span, format!("the {what} is an argument"))
                    .and(*call, "too few arguments")
            }
            Error::CountType { what, found, span } => {
                let title = format!("the {what} `*` must be an integer, not {found}");
                operand(tags::PRINTF_DYN_TYPE, title, found, *span)
            }
            Error::AggregationConversion { action, span } => {
                error(tags::PRINTF_AGG_CONV, format!("`%@` is for printa(), not for {action}()"))
                    .at(*span, "the value of an aggregation")
            }
            Error::FreopenName { span } => {
                error(tags::FREOPEN_INVALID, "this name is reserved").at(*span, "cannot be opened")
            }
            _ => return None,
        })
    }

    fn of_declarations(&self) -> Option<Diagnostic> {
        Some(match self {
            Error::BadStorage { span } => {
                error(tags::DECL_BADCLASS, "a variable of D is global, `self` or `this`")
                    .at(*span, "not a class of a D variable")
            }
            Error::UselessDeclaration { span } => {
                error(tags::DECL_USELESS, "the declaration declares nothing").at(*span, "a name is missing")
            }
            Error::ScopedDeclaration { span } => {
                error(tags::DECL_SCOPE, "a declared name has no scope").at(*span, "has a backtick")
            }
            Error::LocalArrayDeclared { name, span } => {
                error(tags::DECL_LOCASSC, format!("`{name}` cannot be an associative array"))
                    .at(*span, "`this` has no associative arrays")
                    .help("declare it with `self`, or global")
            }
            Error::VoidObject { span } => {
                error(tags::DECL_VOIDOBJ, "a variable cannot be void").at(*span, "declared void")
            }
            Error::EmptyArray { name, span } => error(tags::DECL_ARRNULL, format!("`{name}` needs a length"))
                .at(*span, "an array of no length"),
            Error::ArrayLength { span } => {
                error(tags::DECL_ARRSUB, "the length of an array must be a positive integer constant")
                    .at(*span, "not such a constant")
            }
            Error::ArrayTooBig { span } => {
                error(tags::DECL_ARRBIG, "the array is too large").at(*span, "more than 2^32 - 1 elements")
            }
            Error::ArrayObject { span } => {
                error(tags::DECL_DYNOBJ, "an associative array cannot be part of another type")
                    .at(*span, "only a variable can be one")
            }
            Error::Redeclared { name, declared, span } => {
                let diagnostic = error(tags::DECL_IDRED, format!("`{name}` is already there"));
                let diagnostic = diagnostic.at(*span, "declared again");
                match declared {
                    Some((ty, at)) => diagnostic.and(*at, format!("here, as {ty}")),
                    None => diagnostic.note("the name belongs to D itself"),
                }
            }
            Error::UnknownType { name, similar, span } => {
                let diagnostic = error(tags::UNKNOWN, format!("there is no type `{name}`"));
                did_you_mean(diagnostic.at(*span, "unknown type"), similar)
                    .note("kernel types are not supported yet")
            }
            Error::CharLength { span } => {
                error(tags::DECL_CHARATTR, "char is neither short nor long").at(*span, "this type")
            }
            Error::SignedNonInteger { span } => {
                error(tags::DECL_SIGNINT, "only an integer is signed or unsigned").at(*span, "this type")
            }
            Error::VoidModified { span } => {
                error(tags::DECL_VOIDATTR, "void is neither signed nor short nor long").at(*span, "this type")
            }
            Error::BadTypeMix { span } => {
                error(tags::DECL_COMBO, "these words do not make a type").at(*span, "this type")
            }
            _ => return None,
        })
    }
}

fn error(tag: Tag, title: impl Into<String>) -> Diagnostic {
    Diagnostic::error(tag, title)
}

fn operand(tag: Tag, title: String, found: &Type, span: Span) -> Diagnostic {
    error(tag, title).at(span, format!("this is {found}"))
}

fn did_you_mean(diagnostic: Diagnostic, similar: &Option<String>) -> Diagnostic {
    match similar {
        Some(similar) => diagnostic.help(format!("did you mean `{similar}`?")),
        None => diagnostic,
    }
}

fn arguments(count: usize) -> String {
    match count {
        0 => "no arguments".into(),
        1 => "1 argument".into(),
        count => format!("{count} arguments"),
    }
}

/// The prototype of a subroutine, as a note.
fn usage(diagnostic: Diagnostic, function: &str) -> Diagnostic {
    let Some(builtin::What::Subroutine(prototype)) = builtin::lookup(function).map(|entry| entry.what) else {
        return diagnostic;
    };
    let required = prototype.params.len() - prototype.optional;
    let params: Vec<String> = (prototype.params.iter().enumerate())
        .map(|(i, param)| if i < required { param.to_string() } else { format!("[{param}]") })
        .collect();
    diagnostic.note(format!("{} {function}({})", prototype.returns, params.join(", ")))
}

fn incompatible_help(diagnostic: Diagnostic, op: &str, left: &Type, right: &Type) -> Diagnostic {
    let compares = matches!(op, "==" | "!=" | "<" | "<=" | ">" | ">=");
    let char_pointers = left.is_string_compatible() && right.is_string_compatible();
    match op {
        "+" if left.is_string() && right.is_string() => diagnostic.help("join strings with `strjoin(a, b)`"),
        _ if compares && char_pointers => diagnostic.help("compare texts with `stringof(…)` on both sides"),
        _ => diagnostic,
    }
}

fn format_help(diagnostic: Diagnostic, letter: char, found: &Type) -> Diagnostic {
    match letter {
        's' | 'S' if found.is_string_compatible() => {
            diagnostic.help("a `char *` is only an address: print `stringof(…)` of it")
        }
        's' | 'S' if found.is_integer() => diagnostic.help("print a number with `%d` or `%x`"),
        'd' | 'i' | 'u' | 'x' | 'X' | 'o' if found.is_string_compatible() => {
            diagnostic.help("print a string with `%s`")
        }
        'd' | 'i' | 'u' | 'x' | 'X' | 'o' if found.is_pointer() => {
            diagnostic.help("print a pointer with `%p`, or its symbol with `%a`")
        }
        _ => diagnostic,
    }
}
