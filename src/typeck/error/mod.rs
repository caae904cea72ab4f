//! typeck/error/: what can be wrong with a program that parses; one variant, one message.

mod aggregations;
mod calls;
mod declarations;
mod definitions;
mod formats;
mod kernel;
mod locals;
mod names;
mod operators;
mod variables;

use crate::attributes::Attributes;
use crate::diag::{Diagnostic, Tag, tags};
use crate::source::Span;
use crate::types::Type;

pub use locals::{Absence, Unknown};

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
    LibraryVariable { name: &'static str, why: Option<String>, span: Span },
    Absent { tag: Tag, what: String, reason: &'static str, span: Span },
    KernelType { name: String, why: Option<String>, span: Span },
    SymbolUndefined { name: String, span: Span },
    UserSymbol { name: String, span: Span },
    SymbolWithoutType { name: String, why: Option<String>, span: Span },
    Ambiguous { name: String, ty: Type, span: Span },
    // args[].
    ArgumentsSubscript { tag: Tag, span: Span },
    ArgumentsOutside { span: Span },
    ArgumentsUnstable { span: Span, probe: Span },
    ArgumentsDiffer { span: Span, probe: Span, notes: Vec<String> },
    ArgumentIndex { number: u64, count: u64, span: Span },
    ArgumentWithoutType { function: String, why: Option<String>, span: Span },
    // locals->, and args[] at an instruction.
    LocalsAlone { span: Span },
    LocalsOutside { what: &'static str, probe: Option<Span>, span: Span },
    LocalUndefined { unknown: Unknown, span: Span },
    LargeZero { what: String, place: String, bytes: u64, most: u64, span: Span },
    LocalType { what: String, found: Type, span: Span },
    LocalAbsent { absence: Absence, zero: bool },
    NoScope { what: String, place: String, why: String, probe: Span, span: Span },
    NoPlace { probe: String, span: Span },
    Description { diagnostic: Box<Diagnostic>, span: Span },
    // Calls.
    ArgumentCount { function: String, found: usize, least: usize, most: Option<usize>, span: Span },
    ArgumentType { function: String, number: usize, expected: String, found: Type, span: Span },
    ActionInExpression { action: String, span: Span },
    AggregatingInExpression { function: String, span: Span },
    // An error about a value that is void because an action stands there.
    OfAction { error: Box<Error>, action: Box<Error> },
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
    ArrowNotPointer { found: Type, span: Span },
    DereferenceVoid { span: Span },
    DereferenceFunction { span: Span },
    NotRecord { found: Type, span: Span },
    BitField { what: &'static str, span: Span },
    NoMember { tag: Tag, member: String, record: Type, similar: Option<String>, span: Span },
    AddressOfVariable { span: Span },
    AddressOfValue { span: Span },
    NoSize { found: Type, span: Span },
    OffsetofType { found: Type, span: Span },
    Stringof { found: Type, span: Span },
    Cast { from: Type, to: Type, span: Span },
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
    TraceDynamic { action: &'static str, found: Type, span: Span },
    TraceVoid { action: &'static str, span: Span },
    PrintmSize { span: Span },
    PrintmAddress { found: Type, span: Span },
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
    FormatLeft { letter: char, expected: &'static str, found: &'static str, span: Span, format: Span },
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
    LongNonArithmetic { span: Span },
    TagRedefined { name: String, span: Span, declared: Span },
    MemberTwice { name: String, span: Span },
    Incomplete { found: Type, span: Span },
    LargeRecord { name: String, span: Span },
    BitsConstant { span: Span },
    BitsType { found: Type, span: Span },
    BitsSize { bits: u64, most: u64, found: Type, span: Span },
    EnumeratorConstant { span: Span },
    EnumeratorRange { span: Span },
    EnumeratorTwice { name: String, span: Span },
    IncompleteMember { found: Type, why: Option<String>, span: Span },
    LargeValue { found: Type, bytes: Option<u64>, span: Span },
    IncompleteValue { tag: Tag, found: Type, why: Option<String>, span: Span },
    OffsetofBits { span: Span },
    ParameterStorage { span: Span },
    ParameterVoid { kind: &'static str, span: Span },
    ParameterVoidName { kind: &'static str, span: Span },
    ParameterType { kind: &'static str, found: Type, span: Span },
    ParameterName { kind: &'static str, span: Span },
    ParameterVariadic { kind: &'static str, span: Span },
    // Pragmas.
    PragmaWord { what: &'static str, found: String, similar: Option<String>, span: Span },
    PragmaScope { name: String, span: Span },
    PragmaUnused { name: String, span: Span },
    Unstable { what: String, found: Attributes, least: Attributes, span: Span },
    PragmaDependency { class: String, name: String, span: Span },
    // Inlines, translators, providers.
    InlineType { expected: Type, found: Type, span: Span },
    TooManyExpansions { most: u32, span: Span },
    TranslatorOutput { found: Type, span: Span },
    TranslatorRedefined { output: Type, input: Type, span: Span, declared: Span },
    TranslatorMember { member: String, record: Type, similar: Option<String>, span: Span },
    TranslatorType { member: String, expected: Type, found: Type, span: Span },
    NoTranslator { output: Type, input: Type, span: Span },
    NotTranslated { member: String, record: Type, span: Span, declared: Span },
    TranslatedValue { found: Type, span: Span },
    ProviderName { name: String, span: Span },
    ProbeTwice { name: String, span: Span },
    ProbeArguments { most: usize, span: Span },
    TranslatedParameter { name: String, span: Span },
    ProbeTranslator { input: Type, output: Type, span: Span },
    ProviderRedefined { name: String, span: Span },
}

impl Error {
    /// A name that nobody assigned so far.
    pub fn is_undefined(&self) -> bool {
        matches!(self, Error::Undefined { .. } | Error::Unassigned { .. })
    }

    /// The descriptions of a clause have different `args[]`: each may have its own.
    pub fn is_of_several_probes(&self) -> bool {
        matches!(self, Error::ArgumentsDiffer { .. })
    }

    pub fn is_undefined_aggregation(&self) -> bool {
        matches!(self, Error::Undefined { name, .. } if name.starts_with('@'))
    }

    /// An action on an aggregation that nothing is assigned to so far.
    pub fn is_unassigned_aggregation(&self) -> bool {
        matches!(self, Error::AggregationUndefined { .. })
    }

    /// What an action or aggregating function has to say of its arguments. All expressions of the clause are looked
    /// at before.
    pub fn is_of_action(&self) -> bool {
        if let Error::OfAction { error, .. } = self {
            return error.is_of_action();
        }
        matches!(
            self,
            Error::ActionInExpression { .. }
                | Error::AggregatingInExpression { .. }
                | Error::BareAggregation { .. }
                | Error::AggregatedScalar { .. }
                | Error::Quantize { .. }
                | Error::NotAggregation { .. }
                | Error::AggregationUndefined { .. }
                | Error::AggregationArgCount { .. }
                | Error::Order { .. }
                | Error::TraceAggregation { .. }
                | Error::TraceDynamic { .. }
                | Error::TraceVoid { .. }
                | Error::PrintmSize { .. }
                | Error::PrintmAddress { .. }
                | Error::TracememCount { .. }
                | Error::TracememAddress { .. }
                | Error::TracememSize { .. }
                | Error::TracememLength { .. }
                | Error::StackCount { .. }
                | Error::StackFrames { .. }
                | Error::UstackStrsize { .. }
                | Error::ActionScalar { .. }
                | Error::PrintaCount { .. }
                | Error::PrintaKeys { .. }
                | Error::FormatConstant { .. }
                | Error::FormatEmpty { .. }
                | Error::FormatSyntax { .. }
                | Error::FormatMissing { .. }
                | Error::FormatExtra { .. }
                | Error::FormatType { .. }
                | Error::FormatLeft { .. }
                | Error::FormatKeyType { .. }
                | Error::CountMissing { .. }
                | Error::CountType { .. }
                | Error::AggregationConversion { .. }
                | Error::FreopenName { .. }
        )
    }

    /// It says that something is void where a value is wanted.
    pub fn is_about_void(&self) -> bool {
        match self {
            Error::Incompatible { left, right, .. } => left.is_void() || right.is_void(),
            Error::AssignType { found, .. }
            | Error::NoValue { found, .. }
            | Error::NotInteger { found, .. }
            | Error::NotScalar { found, .. }
            | Error::ConditionNotScalar { found, .. }
            | Error::NotArithmetic { found, .. }
            | Error::NoSize { found, .. }
            | Error::Stringof { found, .. }
            | Error::Cast { from: found, .. }
            | Error::ArgumentType { found, .. }
            | Error::PredicateNotScalar { found, .. }
            | Error::KeyVoid { found, .. }
            | Error::AggregatedScalar { found, .. }
            | Error::FormatType { found, .. }
            | Error::InlineType { found, .. }
            | Error::TranslatorType { found, .. }
            | Error::ActionScalar { found, .. } => found.is_void(),
            Error::TraceVoid { .. } => true,
            _ => false,
        }
    }

    pub fn diagnostic(&self) -> Diagnostic {
        if let Error::OfAction { error, action } = self {
            let mut diagnostic = error.diagnostic();
            diagnostic.help.clear();
            return action.diagnostic().help.into_iter().fold(diagnostic, Diagnostic::help);
        }
        self.of_names()
            .or_else(|| self.of_kernel())
            .or_else(|| self.of_locals())
            .or_else(|| self.of_calls())
            .or_else(|| self.of_operators())
            .or_else(|| self.of_assignments())
            .or_else(|| self.of_arrays())
            .or_else(|| self.of_aggregations())
            .or_else(|| self.of_actions())
            .or_else(|| self.of_formats())
            .or_else(|| self.of_declarations())
            .or_else(|| self.of_definitions())
            .unwrap_or_else(|| error(tags::UNKNOWN, "the program is not valid"))
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
