//! typeck/error/definitions.rs: messages about structs, enums, inlines, translators and providers.

use super::{Error, did_you_mean, error, operand};
use crate::diag::{Diagnostic, tags};
use crate::types::Type;

impl Error {
    pub(super) fn of_definitions(&self) -> Option<Diagnostic> {
        self.of_records()
            .or_else(|| self.of_parameters())
            .or_else(|| self.of_pragmas())
            .or_else(|| self.of_translators())
    }

    fn of_records(&self) -> Option<Diagnostic> {
        Some(match self {
            Error::TagRedefined { name, span, declared } => {
                error(tags::DECL_TYPERED, format!("`{name}` is already defined"))
                    .at(*span, "defined again")
                    .and(*declared, "defined here")
            }
            Error::MemberTwice { name, span } => {
                error(tags::UNKNOWN, format!("two members are called `{name}`")).at(*span, "the second one")
            }
            Error::Incomplete { found, span } => {
                error(tags::DECL_INCOMPLETE, format!("the size of {found} is not known here"))
                    .at(*span, "an object of this type")
                    .help("define the type before, or declare a pointer to it")
            }
            Error::LargeRecord { name, span } => error(tags::DECL_ARRBIG, format!("{name} is too large"))
                .at(*span, "with this member it has more than 2^32 - 1 bytes"),
            Error::BitsConstant { span } => {
                error(tags::DECL_BFCONST, "the size of a bit-field must be a positive integer constant")
                    .at(*span, "not such a constant")
            }
            Error::BitsType { found, span } => {
                operand(tags::DECL_BFTYPE, "a bit-field must be an integer".into(), found, *span)
            }
            Error::BitsSize { bits, most, found, span } => {
                error(tags::DECL_BFSIZE, format!("a bit-field of {bits} bits is larger than its type"))
                    .at(*span, format!("{found} has {most} bits"))
            }
            Error::EnumeratorConstant { span } => {
                error(tags::DECL_ENCONST, "the value of an enumerator must be an integer constant")
                    .at(*span, "not such a constant")
            }
            Error::EnumeratorRange { span } => {
                error(tags::DECL_ENOFLOW, "the value of the enumerator does not fit an int")
                    .at(*span, "below -2147483648 or above 2147483647")
            }
            Error::EnumeratorTwice { name, span } => {
                error(tags::UNKNOWN, format!("two enumerators are called `{name}`"))
                    .at(*span, "the second one")
            }
            Error::OffsetofBits { span } => {
                error(tags::OFFSETOF_BITFIELD, "a bit-field has no offset in bytes")
                    .at(*span, "this member is a bit-field")
            }
            Error::InlineType { expected, found, span } => {
                error(tags::OP_INCOMPAT, format!("the inline is {expected}, and its value is {found}"))
                    .at(*span, format!("this is {found}"))
            }
            Error::TooManyExpansions { most, span } => {
                error(tags::UNKNOWN, format!("inlines are expanded more than {most} times"))
                    .at(*span, "here the limit is reached")
                    .help("keep parts of the result in clause-local variables (this->x)")
            }
            _ => return None,
        })
    }

    fn of_parameters(&self) -> Option<Diagnostic> {
        Some(match self {
            Error::ParameterStorage { span } => {
                error(tags::DECL_PARMCLASS, "a parameter has no storage class").at(*span, "not allowed here")
            }
            Error::ParameterVoid { kind, span } => {
                error(tags::DECL_PROTO_VOID, format!("void among other parameters of this {kind}"))
                    .at(*span, "no object can be void")
                    .help("`(void)` alone says that there are no parameters")
            }
            Error::ParameterVoidName { kind, span } => {
                error(tags::DECL_PROTO_NAME, format!("a void parameter of this {kind} has a name"))
                    .at(*span, "nothing that a name could stand for")
            }
            Error::ParameterType { kind, found, span } => {
                let found = match found {
                    Type::Dynamic => "an associative array".to_string(),
                    found => found.to_string(),
                };
                error(tags::DECL_PROTO_TYPE, format!("a parameter of this {kind} cannot be {found}"))
                    .at(*span, format!("this is {found}"))
            }
            Error::ParameterName { kind, span } => {
                error(tags::DECL_PROTO_NAME, format!("a parameter of this {kind} needs a name"))
                    .at(*span, "a name is missing after this")
            }
            Error::ParameterVariadic { kind, span } => error(
                tags::DECL_PROTO_VARARGS,
                format!("this {kind} cannot take a variable number of arguments"),
            )
            .at(*span, "followed by `...`"),
            Error::TranslatedParameter { name, span } => {
                error(tags::DECL_PROTO_FORM, format!("`{name}` is no parameter of the probe's input"))
                    .at(*span, "not in the first list")
                    .help("each translated parameter has the name of the one that it is made of")
            }
            Error::LongNonArithmetic { span } => {
                error(tags::DECL_LONGINT, "only an integer or floating-point type is long")
                    .at(*span, "this type")
            }
            _ => return None,
        })
    }

    fn of_pragmas(&self) -> Option<Diagnostic> {
        Some(match self {
            Error::PragmaWord { what, found, similar, span } => {
                let diagnostic = error(tags::PRAGMA_INVAL, format!("`{found}` is no {what}"));
                did_you_mean(diagnostic.at(*span, format!("unknown {what}")), similar)
            }
            Error::PragmaScope { name, span } => {
                error(tags::PRAGMA_SCOPE, format!("`{name}` is not defined by this program"))
                    .at(*span, "the name belongs to D itself")
            }
            Error::Unstable { what, found, least, span } => {
                error(tags::ATTR_MIN, format!("{what} is less stable than amin asks for"))
                    .at(*span, format!("this is {found}"))
                    .help(format!("use something that is {least} at least, or set a lower -x amin"))
            }
            Error::PragmaUnused { name, span } => {
                error(tags::PRAGMA_UNUSED, format!("the pragma names `{name}`, which nothing declares"))
                    .at(*span, "never declared")
            }
            Error::PragmaDependency { class, name, span } => {
                let diagnostic = error(
                    tags::PRAGMA_DEPEND,
                    format!("the program depends on {class} `{name}`, which is not there"),
                )
                .at(*span, "the dependency");
                match class.as_str() {
                    "library" => diagnostic.note("only a library can depend on a library"),
                    _ => diagnostic,
                }
            }
            _ => return None,
        })
    }

    fn of_translators(&self) -> Option<Diagnostic> {
        Some(match self {
            Error::TranslatorOutput { found, span } => {
                let title = "a translator makes a struct or union that is defined".to_string();
                operand(tags::XLATE_SOU, title, found, *span)
            }
            Error::TranslatorRedefined { output, input, span, declared } => {
                error(tags::XLATE_REDECL, format!("there is a translator from {input} to {output} already"))
                    .at(*span, "defined again")
                    .and(*declared, "defined here")
            }
            Error::TranslatorMember { member, record, similar, span } => {
                let diagnostic = error(tags::XLATE_MEMB, format!("{record} has no member `{member}`"));
                did_you_mean(diagnostic.at(*span, "no such member"), similar)
            }
            Error::TranslatorType { member, expected, found, span } => error(
                tags::XLATE_INCOMPAT,
                format!("member `{member}` is {expected}, and its value is {found}"),
            )
            .at(*span, format!("this is {found}")),
            Error::NoTranslator { output, input, span } => {
                error(tags::XLATE_NONE, format!("there is no translator from {input} to {output}"))
                    .at(*span, "translated here")
                    .help("define one: translator output < input name > { member = value; };")
            }
            Error::NotTranslated { member, record, span, declared } => error(
                tags::XLATE_NOCONV,
                format!("the translator does not define member `{member}` of {record}"),
            )
            .at(*span, "used here")
            .and(*declared, "the translator"),
            Error::TranslatedValue { found, span } => {
                error(tags::CG_DYN, format!("a translated {found} is no value"))
                    .at(*span, "it exists by its members only")
                    .help("use a member of it")
            }
            Error::ProviderName { name, span } => {
                error(tags::PROV_BADNAME, format!("`{name}` cannot be the name of a provider"))
                    .at(*span, "at most 63 bytes, no backtick, no digit at the end")
            }
            Error::ProbeTwice { name, span } => {
                error(tags::PROV_PRDUP, format!("two probes are called `{name}`")).at(*span, "the second one")
            }
            Error::ProbeArguments { most, span } => {
                error(tags::PROV_PRARGLEN, format!("a probe has at most {most} arguments"))
                    .at(*span, "this one has more")
            }
            Error::ProbeTranslator { input, output, span } => {
                error(tags::PROV_PRXLATOR, format!("there is no translator from {input} to {output}"))
                    .at(*span, "translated here")
            }
            Error::ProviderRedefined { name, span } => {
                error(tags::PROV_INCOMPAT, format!("provider `{name}` is already defined with other probes"))
                    .at(*span, "defined again")
            }
            _ => return None,
        })
    }
}
