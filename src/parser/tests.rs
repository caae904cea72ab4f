//! parser/tests.rs: the limits, and two properties: printed text parses back, and no text panics.

use proptest::prelude::*;

use super::ast::*;
use super::*;
use crate::snapshot;
use crate::sugar;
use kinst_base::diag::render::{self, Style};
use kinst_base::probe::Fields;
use kinst_base::source::{Origin, Source, Spanned};
use kinst_types::TagKind;

fn is_type(word: &str) -> bool {
    matches!(word, "foo_t" | "bar_t")
}

fn sources(text: &str, origin: Origin) -> (Sources, FileId) {
    let mut sources = Sources::default();
    let file = sources.add(Source { name: "test.d".to_owned(), origin, text: text.to_owned() });
    (sources, file)
}

fn read(text: &str, origin: Origin) -> Result<Program, ParseError> {
    let (sources, file) = sources(text, origin);
    let macros = Macros { arguments: vec!["word".to_owned(), "-5".to_owned()], ..Macros::default() };
    let settings = Settings { any_call: true, empty: true, argref: true, ..Settings::default() };
    let options = ParseOptions { macros: &macros, is_type_name: &is_type, settings };
    parse(&sources, file, &options).map(|parsed| parsed.program)
}

/// Returns the tree without its spans.
fn shape(program: &Program) -> String {
    let all = format!("{program:#?}");
    all.lines().filter(|line| !line.trim_start().starts_with("span: ")).collect::<Vec<_>>().join("\n")
}

fn printed_parses_back(program: &Program) {
    let text = pretty::clauses(program);
    let again = read(&text, Origin::Script).unwrap_or_else(|error| panic!("{error:?}\n{text}"));
    assert_eq!(shape(&again), shape(program), "\n{text}");
    assert_eq!(pretty::clauses(&again), text);
}

#[test]
fn the_depth_of_a_tree_is_limited() {
    let n = 100_000;
    for (name, text) in [
        ("brackets", format!("BEGIN {{ {}1{} }}", "(".repeat(10_000), ")".repeat(10_000))),
        ("open brackets", format!("BEGIN {{ {}", "a[(".repeat(n))),
        ("sum", format!("BEGIN {{ {}1 }}", "1+".repeat(n))),
        ("sum with an error", format!("BEGIN {{ {}; }}", "1+".repeat(n))),
        ("commas", format!("BEGIN {{ {}1 }}", "1,".repeat(n))),
        ("assignments", format!("BEGIN {{ {}1 }}", "a = ".repeat(n))),
        ("signs", format!("BEGIN {{ {}1 }}", "- ".repeat(n))),
        ("words", format!("BEGIN {{ {}x }}", "sizeof ".repeat(n))),
        ("casts", format!("BEGIN {{ {}x }}", "(int)".repeat(n))),
        ("conditionals", format!("BEGIN {{ {}c }}", "a?b:".repeat(n))),
        ("subscripts", format!("BEGIN {{ a{} }}", "[1]".repeat(n))),
        ("members", format!("BEGIN {{ a{} }}", "->b".repeat(n))),
        ("postfix", format!("BEGIN {{ a{} }}", "++".repeat(n))),
        ("calls", format!("BEGIN {{ {}{} }}", "f(".repeat(n), ")".repeat(n))),
        ("ifs", format!("BEGIN {{ {}x; }}", "if(a)".repeat(n))),
        ("braces", format!("BEGIN {{ {}x;{} }}", "if(a){".repeat(n), "}".repeat(n))),
        ("else if", format!("BEGIN {{ {}x; }}", "if(a){b;}else ".repeat(n))),
        ("else if, no braces", format!("BEGIN {{ {}x; }}", "if(a)b;else ".repeat(n))),
        ("pointers", format!("BEGIN {{ (int {})x }}", "(*".repeat(n))),
        ("predicate", format!("BEGIN /{}1/ {{ }}", "1+".repeat(n))),
    ] {
        let error = read(&text, Origin::Script).expect_err(name);
        assert!(matches!(error, ParseError::TooDeep { .. }), "{name}: {error:?}");
    }
    let deepest = format!("BEGIN {{ {}1; }}", "1+".repeat(MAX_DEPTH - 2));
    let printed = pretty::clauses(&read(&deepest, Origin::Script).unwrap());
    assert_eq!(pretty::clauses(&read(&printed, Origin::Script).unwrap()), printed);
    read(&format!("BEGIN {{ {}1; }}", "1+".repeat(MAX_DEPTH)), Origin::Script).unwrap_err();
}

#[test]
fn long_is_not_deep() {
    let n = 20_000;
    read(&format!("BEGIN {{ {} }}", "x = 1 + 2; if (a) b; else c;".repeat(n)), Origin::Script).unwrap();
    read(&"BEGIN /x || y/ { trace(1); }\n".repeat(n), Origin::Script).unwrap();
    read(&format!("BEGIN {{ f({}1); }}", "a, ".repeat(1000)), Origin::Script).unwrap();
    read(&format!("{}END {{ }}", "BEGIN, ".repeat(n)), Origin::Script).unwrap();
}

/// Each of these would take minutes if the parser scanned the rest of the text again and again.
#[test]
fn time_is_linear() {
    let n = 200_000;
    for text in [
        format!("BEGIN {{ {}a; }}", "a.".repeat(n)),
        format!("BEGIN {{ {}; }}", "a ".repeat(n)),
        format!("BEGIN /{}", "/ ".repeat(n)),
        format!("BEGIN {{ {} }}", "/* */".repeat(n)),
        "/*".repeat(n),
        "#".repeat(n),
        "\n#".repeat(n),
        " \t".repeat(n),
        "\"".repeat(n),
        "BEGIN { \"\" ".repeat(n),
        "9".repeat(n),
        format!("BEGIN {{ {}; }}", "9".repeat(n)),
        format!("BEGIN {{ \"{}\"; }}", "\\".repeat(n)),
        "x*".repeat(n),
        ":".repeat(n),
        format!("BEGIN {{ {}", "$".repeat(n)),
    ] {
        let (sources, file) = sources(&text, Origin::Script);
        if let Err(error) = read(&text, Origin::Script) {
            let style =
                Style { program: "dtrace", color: true, errtags: true, subject: Some(file), width: None };
            let shown = render::text(&sources, &error.diagnostic(), &style);
            assert!(shown.len() < 10_000, "{shown}");
        }
    }
}

#[test]
fn bytes_that_are_not_text_are_refused() {
    let error = decode(b"BEGIN { }\n\xff".to_vec()).unwrap_err();
    assert_eq!(error.title, "line 2 is not UTF-8: byte 0xff");
    assert_eq!(decode("\u{feff}BEGIN".as_bytes().to_vec()).unwrap(), "BEGIN");
    assert_eq!(decode("BEGIN é".as_bytes().to_vec()).unwrap(), "BEGIN é");
}

#[test]
fn an_expression_and_a_type_name_alone() {
    let options =
        ParseOptions { macros: &Macros::default(), is_type_name: &is_type, settings: Settings::default() };
    let (texts, file) = sources("x + 1 * 2", Origin::Script);
    assert_eq!(parse_expression(&texts, file, &options).unwrap().to_string(), "x + 1 * 2");
    let (texts, file) = sources("x +", Origin::Script);
    parse_expression(&texts, file, &options).unwrap_err();
    let (texts, file) = sources("struct file *", Origin::Script);
    assert_eq!(parse_type_name(&texts, file, &options).unwrap().to_string(), "struct file *");
    let (texts, file) = sources("unknown_t **", Origin::Script);
    assert_eq!(parse_type_name(&texts, file, &options).unwrap().to_string(), "unknown_t **");
    let (texts, file) = sources("int +", Origin::Script);
    parse_type_name(&texts, file, &options).unwrap_err();
}

#[test]
fn the_arguments_that_a_text_names_are_reported() {
    let macros = Macros { arguments: ["a", "b", "c"].map(str::to_owned).to_vec(), ..Macros::default() };
    let settings = Settings { any_call: true, ..Settings::default() };
    let options = ParseOptions { macros: &macros, is_type_name: &is_type, settings };
    let (texts, file) = sources("fbt::$1:entry { trace($$3); }", Origin::Script);
    assert_eq!(parse(&texts, file, &options).unwrap().arguments_used, [false, true, false, true]);
}

#[test]
fn a_target_that_is_not_known() {
    let macros = Macros { variables: vec![("uid".to_owned(), 0)], ..Macros::default() };
    let options = ParseOptions { macros: &macros, is_type_name: &is_type, settings: Settings::default() };
    let error = |text: &str| {
        let (texts, file) = sources(text, Origin::Script);
        parse_expression(&texts, file, &options).map_err(|error| error.diagnostic().title)
    };
    assert_eq!(error("$uid + 1").unwrap().to_string(), "0 + 1");
    assert_eq!(error("pid == $target").unwrap_err(), "$target is not available in a PID namespace");
    assert_eq!(error("$tarket").unwrap_err(), "macro variable $tarket is not defined");
}

/// A span for synthesized trees.
fn nowhere() -> Span {
    Span::new(FileId(0), 0, 0)
}

fn node(kind: ExprKind) -> Expr {
    Expr { kind, span: nowhere() }
}

fn spanned<T>(node: T) -> Spanned<T> {
    Spanned::new(node, nowhere())
}

fn name() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["x", "y", "pid", "execname", "_a1", "vmlinux`jiffies", "`sym", "mod``user"])
        .prop_map(str::to_owned)
}

fn literal_node() -> impl Strategy<Value = Expr> {
    let int = prop::sample::select(vec![("0", 0), ("7", 7), ("0x1fUL", 31), ("017", 15), ("42u", 42)])
        .prop_map(|(text, value)| node(ExprKind::Int { value, text: text.to_owned() }));
    let char = prop::sample::select(vec![("'a'", 97), ("'\\n'", 10), ("'ab'", 24930), ("'\\''", 39)])
        .prop_map(|(text, value)| node(ExprKind::Char { value, text: text.to_owned() }));
    let str = prop::collection::vec(any::<u8>(), 0..8).prop_map(|value| {
        let text = quote(&value);
        node(ExprKind::Str { value, text })
    });
    prop_oneof![int, char, str]
}

fn leaf() -> impl Strategy<Value = Expr> {
    prop_oneof![
        4 => name().prop_map(|name| node(ExprKind::Ident(name))),
        2 => literal_node(),
        1 => prop::sample::select(vec!["_", "a", "bytes"])
            .prop_map(|name| node(ExprKind::Aggregation(name.to_owned()))),
        1 => prop::sample::select(vec![Scope::SelfThread, Scope::This]).prop_map(|s| node(ExprKind::Scope(s))),
        1 => (1..9u32).prop_map(|n| {
            let base = Box::new(node(ExprKind::Scope(Scope::This)));
            node(ExprKind::Member { base, arrow: true, member: spanned(format!("%condition_{n}")) })
        }),
    ]
}

fn type_spec() -> impl Strategy<Value = Vec<TypeSpec>> + Clone {
    let keywords = |list: &[TypeKeyword]| list.iter().map(|&k| TypeSpec::Keyword(k)).collect::<Vec<_>>();
    prop::sample::select(vec![
        keywords(&[TypeKeyword::Int]),
        keywords(&[TypeKeyword::Unsigned, TypeKeyword::Long, TypeKeyword::Long]),
        keywords(&[TypeKeyword::Const, TypeKeyword::Char]),
        keywords(&[TypeKeyword::String]),
        vec![TypeSpec::Name("foo_t".to_owned())],
        vec![TypeSpec::Keyword(TypeKeyword::Const), TypeSpec::Name("bar_t".to_owned())],
        vec![TypeSpec::Tag { kind: TagKind::Struct, name: "file".to_owned() }],
        vec![TypeSpec::Tag { kind: TagKind::Enum, name: "foo_t".to_owned() }],
    ])
}

fn type_name() -> impl Strategy<Value = TypeName> {
    let step = prop_oneof![
        4 => prop::sample::select(vec![vec![], vec![TypeKeyword::Const]])
            .prop_map(|qualifiers| Derived::Pointer { qualifiers }),
        1 => Just(Derived::Array(None)),
        1 => literal_node().prop_map(|size| Derived::Array(Some(Box::new(size)))),
    ];
    let simple = (type_spec(), prop::collection::vec(step.clone(), 0..4)).prop_map(|(specs, derived)| {
        // `name [` is an identifier with an index (§2.1, rule 5), so an array of a typedef is not written without a
        // declarator.
        let named = specs.iter().any(|spec| matches!(spec, TypeSpec::Name(_)));
        let pointer = derived.iter().any(|step| matches!(step, Derived::Pointer { .. }));
        let derived = if named && !pointer { Vec::new() } else { derived };
        TypeName { specs: specs.into_iter().map(spanned).collect(), derived, span: nowhere() }
    });
    let name = prop::option::of(Just(spanned("p".to_owned())));
    // The same for a parameter: a typedef's name and a declared array.
    let param = (simple.clone(), name).prop_map(|(ty, name)| Param {
        storage: None,
        name: name.filter(|_| ty.derived.is_empty()),
        ty,
    });
    let params = (prop::collection::vec(param, 0..3), any::<bool>())
        .prop_map(|(list, variadic)| Params { list, variadic });
    (simple, prop::option::weighted(0.2, params), any::<bool>()).prop_map(|(mut ty, params, keys)| {
        let pointer = Derived::Pointer { qualifiers: Vec::new() };
        match params {
            Some(keys_of) if keys && keys_of != Params::default() => {
                ty.derived.splice(0..0, [pointer, Derived::AssocArray(keys_of)]).for_each(drop)
            }
            Some(params) => ty.derived.splice(0..0, [pointer, Derived::Function(params)]).for_each(drop),
            None => {}
        }
        ty
    })
}

fn binary_op() -> impl Strategy<Value = BinaryOp> {
    use BinaryOp::*;
    prop::sample::select(vec![
        LogOr, LogXor, LogAnd, BitOr, BitXor, BitAnd, Eq, Ne, Lt, Le, Gt, Ge, Shl, Shr, Add, Sub, Mul, Div,
        Rem,
    ])
}

fn assign_op() -> impl Strategy<Value = Option<BinaryOp>> {
    use BinaryOp::*;
    prop::sample::select(vec![
        None,
        Some(Add),
        Some(Sub),
        Some(Mul),
        Some(Div),
        Some(Rem),
        Some(BitAnd),
        Some(BitOr),
        Some(BitXor),
        Some(Shl),
        Some(Shr),
    ])
}

fn unary_op() -> impl Strategy<Value = UnaryOp> {
    use UnaryOp::*;
    prop::sample::select(vec![PreInc, PreDec, AddrOf, Deref, Plus, Neg, BitNot, Not, Sizeof, Stringof])
}

/// Avoids a division by zero, which the parser refuses.
fn readable(op: BinaryOp, right: &Expr) -> BinaryOp {
    if constant::check_divisor(op, right).is_ok() { op } else { BinaryOp::Sub }
}

fn expr() -> impl Strategy<Value = Expr> {
    leaf().prop_recursive(7, 60, 4, |inner| {
        let boxed = inner.clone().prop_map(Box::new);
        let list = prop::collection::vec(inner.clone(), 0..4);
        let member = prop::sample::select(vec!["x", "string", "if", "foo_t", "self", "a`b"]).prop_map(str::to_owned);
        prop_oneof![
            3 => (unary_op(), boxed.clone()).prop_map(|(op, operand)| node(ExprKind::Unary { op, operand })),
            1 => (any::<bool>(), boxed.clone()).prop_map(|(inc, operand)| {
                node(ExprKind::Postfix { op: if inc { PostfixOp::Inc } else { PostfixOp::Dec }, operand })
            }),
            6 => (binary_op(), boxed.clone(), boxed.clone())
                .prop_map(|(op, left, right)| node(ExprKind::Binary { op: readable(op, &right), left, right })),
            2 => (assign_op(), boxed.clone(), boxed.clone())
                .prop_map(|(op, left, right)| {
                    let op = op.map(|op| readable(op, &right));
                    node(ExprKind::Assign { op, left, right })
                }),
            2 => (boxed.clone(), boxed.clone(), boxed.clone())
                .prop_map(|(condition, then, otherwise)| node(ExprKind::Conditional { condition, then, otherwise })),
            1 => (boxed.clone(), boxed.clone()).prop_map(|(left, right)| node(ExprKind::Comma { left, right })),
            2 => (name(), list.clone())
                .prop_map(|(callee, args)| node(ExprKind::Call { callee: spanned(callee), args })),
            2 => (boxed.clone(), prop::collection::vec(inner.clone(), 1..3))
                .prop_map(|(base, indices)| node(ExprKind::Index { base, indices })),
            3 => (boxed.clone(), any::<bool>(), member.clone())
                .prop_map(|(base, arrow, member)| node(ExprKind::Member { base, arrow, member: spanned(member) })),
            2 => (type_name(), boxed.clone()).prop_map(|(ty, operand)| node(ExprKind::Cast { ty: Box::new(ty), operand })),
            1 => type_name().prop_map(|ty| node(ExprKind::SizeofType { ty: Box::new(ty) })),
            1 => (type_name(), prop::sample::select(vec!["x", "string", "foo_t", "self"]))
                .prop_map(|(ty, member)| node(ExprKind::Offsetof { ty: Box::new(ty), member: spanned(member.to_owned()) })),
            1 => (type_name(), boxed).prop_map(|(ty, operand)| node(ExprKind::Xlate { ty: Box::new(ty), operand })),
        ]
    })
}

fn block() -> impl Strategy<Value = Vec<Stmt>> {
    let simple = prop::collection::vec(expr().prop_map(Stmt::Expr), 0..3);
    simple.prop_recursive(3, 12, 3, |inner| {
        let branch = (expr(), inner.clone(), prop::option::of(inner.clone())).prop_map(
            |(condition, then, otherwise)| {
                Stmt::If(Box::new(If { condition, then, otherwise, span: nowhere() }))
            },
        );
        prop::collection::vec(prop_oneof![expr().prop_map(Stmt::Expr), branch], 0..3)
    })
}

fn probe() -> impl Strategy<Value = ProbeDesc> {
    let field = "[a-zA-Z0-9_*?.!#@\\[\\]-]{0,12}";
    let fields = ("([a-z_*?][a-z0-9_*-]{0,9})?", field, field, field).prop_map(
        |(provider, module, function, name)| {
            ProbeDescKind::Fields(Box::new(Fields { provider, module, function, name }))
        },
    );
    prop_oneof![5 => fields, 1 => (1..=u32::MAX).prop_map(ProbeDescKind::Id)]
        .prop_map(|kind| ProbeDesc { kind, span: nowhere() })
}

fn clause() -> impl Strategy<Value = Clause> {
    (prop::collection::vec(probe(), 1..3), prop::option::of(expr()), block())
        .prop_map(|(probes, predicate, body)| Clause { probes, predicate, body: Some(body), span: nowhere() })
}

fn program() -> impl Strategy<Value = Program> {
    prop::collection::vec(clause().prop_map(Item::Clause), 1..3).prop_map(|items| Program { items })
}

/// Generates pieces of D and of text that is nearly D.
fn soup() -> impl Strategy<Value = String> {
    let pieces = vec![
        "BEGIN",
        "kinst::f:entry",
        "/",
        "{",
        "}",
        "(",
        ")",
        "[",
        "]",
        ";",
        ",",
        "if",
        "else",
        "x",
        "foo_t",
        "int",
        "self",
        "this",
        "->",
        ".",
        "%error",
        "@a",
        "@",
        "=",
        "==",
        "+=",
        "/=",
        "+",
        "++",
        "-",
        "*",
        "&",
        "&&",
        "!",
        "?",
        ":",
        "1",
        "0x",
        "08",
        "1.5",
        "'a'",
        "\"s\"",
        "\"",
        "'",
        "\\",
        "\n",
        "#",
        "#pragma D option quiet\n",
        "# 3 \"x\"\n",
        "/*",
        "*/",
        "//",
        "sizeof",
        "stringof",
        "offsetof",
        "xlate",
        "<",
        ">",
        "struct",
        "$1",
        "$$2",
        "$pid",
        "$",
        "mod`sym",
        "trace",
        "count()",
        "if (x)",
        "{ x; }",
        "BEGIN { x; }",
        "BEGIN /x/ { if (x) y; else z; }",
        "string",
        "const",
        "é",
        "\0",
        "\r\n",
        "...",
        "<<",
    ];
    let piece = (prop::sample::select(pieces), prop::sample::select(vec!["", " ", " ", "\n"]));
    let start = prop::sample::select(vec!["", "BEGIN { ", "BEGIN { x(", "BEGIN /", "int ", "BEGIN { x; } "]);
    (start, prop::collection::vec(piece, 0..40)).prop_map(|(start, pieces)| {
        let pieces = pieces.into_iter().map(|(piece, blank)| format!("{piece}{blank}"));
        std::iter::once(start.to_owned()).chain(pieces).collect()
    })
}

fn origin() -> impl Strategy<Value = Origin> {
    prop::sample::select(vec![
        Origin::Script,
        Origin::Provider,
        Origin::Module,
        Origin::Function,
        Origin::Name,
        Origin::Id,
        Origin::Library,
    ])
}

/// Parses a text; errors must render, programs must print and parse back.
fn survives(text: &str, origin: Origin) {
    let (sources, file) = sources(text, origin);
    match read(text, origin) {
        Err(error) => {
            let style =
                Style { program: "dtrace", color: false, errtags: true, subject: Some(file), width: None };
            let diagnostic = error.diagnostic();
            let words_of_the_program = diagnostic.tag == tags::PRAGERR;
            assert!(words_of_the_program || !diagnostic.title.ends_with('.'), "{diagnostic:?}");
            let shown = render::text(&sources, &diagnostic, &style);
            assert!(shown.ends_with('\n'), "{shown}");
            assert!(!render::json(&sources, &diagnostic, &style).contains('\n'));
        }
        Ok(program) => {
            let clauses = |item: &Item| matches!(item, Item::Clause(clause) if clause.body.is_some());
            if program.items.iter().all(clauses) {
                printed_parses_back(&program);
            }
            dump::program(&program);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::default())]

    #[test]
    fn a_printed_program_parses_back(program in program()) {
        printed_parses_back(&program);
    }

    #[test]
    fn a_desugared_program_parses_back(program in program()) {
        let plain = sugar::as_written(vec![program]);
        printed_parses_back(&Program::from(&plain));
    }

    #[test]
    fn no_text_panics(text in any::<String>(), origin in origin()) {
        survives(&text, origin);
    }

    #[test]
    fn no_soup_panics(text in soup(), origin in origin()) {
        survives(&text, origin);
    }

    #[test]
    fn no_cut_program_panics(program in program(), at in any::<prop::sample::Index>()) {
        let text = pretty::clauses(&program);
        let at = (0..=at.index(text.len() + 1)).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
        survives(&text[..at], Origin::Name);
    }
}

/// Returns the layout of a text, and the shape of its tree.
fn laid_out(text: &str) -> (String, String) {
    let (sources, file) = sources(text, Origin::Script);
    let macros = Macros { arguments: vec!["word".to_owned(), "-5".to_owned()], ..Macros::default() };
    let settings =
        Settings { any_call: true, empty: true, argref: true, directives: true, ..Settings::default() };
    let options = ParseOptions { macros: &macros, is_type_name: &is_type, settings };
    let (text, parsed) = format(&sources, file, &options).unwrap_or_else(|error| panic!("{error:?}\n{text}"));
    (text, shape(&parsed.program))
}

fn layout_is_canonical(text: &str) {
    let (once, tree) = laid_out(text);
    let (twice, same) = laid_out(&once);
    assert_eq!(tree, same, "{text}\n----\n{once}");
    assert_eq!(once, twice, "{text}");
}

#[test]
fn the_layout_of_the_snapshots_programs_is_canonical() {
    let mut programs = 0;
    for area in ["parse", "programs", "sugar", "typed", "dif", "check", "fmt"] {
        for path in snapshot::files(&snapshot::folder().join(area), "d") {
            let text = std::fs::read_to_string(&path).unwrap();
            // Preprocessed text is not for --fmt.
            if !text.starts_with("# 1 ") && read(&text, Origin::Script).is_ok() {
                layout_is_canonical(&text);
                programs += 1;
            }
        }
    }
    assert!(programs > 250, "only {programs} programs");
}

/// Generates text that is allowed between two tokens.
fn gap() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        " ",
        "\n",
        "\n\n\n",
        "\t",
        " /* c */ ",
        "\n/* a\n   * b\nc */\n",
        " /* d\n*/ ",
        "\n\n/* e */\n\n",
        "\n#pragma x\n",
    ])
}

proptest! {
    /// The tree and layout of a program do not depend on the blanks and comments between its tokens.
    #[test]
    fn layouts_are_canonical(program in program(), gaps in prop::collection::vec(gap(), 1..40)) {
        let text = pretty::clauses(&program);
        let (texts, file) = sources(&text, Origin::Script);
        let settings = Settings { any_call: true, empty: true, ..Settings::default() };
        let macros = Macros::default();
        let options =
            ParseOptions { macros: &macros, is_type_name: &is_type, settings };
        let mut tape = Some(Vec::new());
        super::read(&texts, file, &options, &mut tape).unwrap();
        let mut spread = String::new();
        let tokens = tape.iter().flatten().flat_map(|item| &item.tokens);
        for ((_, span), gap) in tokens.zip(gaps.iter().cycle()) {
            // After a slash, a control line or comment would change its meaning.
            spread += if spread.ends_with('/') { "\n" } else { gap };
            spread += &text[span.start as usize..span.end as usize];
            spread += if spread.ends_with('/') { "" } else { " " };
        }
        layout_is_canonical(&(spread + "\n"));
    }
}
