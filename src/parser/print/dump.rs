//! parser/print/dump.rs: the tree as indented text, one node per line, for -x dump=ast and -xtree=1.

use std::fmt::Write as _;

use crate::parser::ast::*;
use kinst_base::source::Spanned;

/// Dumps the tree of a program.
pub fn program(program: &Program) -> String {
    let mut out = Dump::default();
    for item in &program.items {
        match item {
            Item::Clause(clause) => out.clause(clause),
            Item::Pragma(Pragma::Option { name, value, .. }) => match value {
                Some(value) => out.line(0, format_args!("option {} = {}", name.node, value.node)),
                None => out.line(0, format_args!("option {}", name.node)),
            },
            Item::Pragma(pragma) => out.line(0, format_args!("{pragma}")),
            Item::Declaration(declaration) => out.declaration(declaration),
            Item::Inline(inline) => out.inline(inline),
            Item::Translator(translator) => out.translator(translator),
            Item::Provider(provider) => out.provider(provider),
        }
    }
    out.text
}

/// Dumps the tree of an expression.
pub fn expression(expr: &Expr) -> String {
    let mut out = Dump::default();
    out.expr(0, expr);
    out.text
}

#[derive(Default)]
struct Dump {
    text: String,
}

impl Dump {
    fn line(&mut self, depth: usize, words: std::fmt::Arguments<'_>) {
        let written = writeln!(self.text, "{:width$}{words}", "", width = 2 * depth);
        // Writing to a String does not fail.
        debug_assert!(written.is_ok());
    }

    fn clause(&mut self, clause: &Clause) {
        self.line(0, format_args!("clause"));
        for probe in &clause.probes {
            match &probe.kind {
                ProbeDescKind::Id(id) => self.line(1, format_args!("probe id {id}")),
                ProbeDescKind::Fields(fields) => self.line(1, format_args!("probe {fields}")),
            }
        }
        if let Some(predicate) = &clause.predicate {
            self.line(1, format_args!("predicate"));
            self.expr(2, predicate);
        }
        if let Some(body) = &clause.body {
            self.line(1, format_args!("body"));
            self.block(2, body);
        }
    }

    fn declaration(&mut self, declaration: &Declaration) {
        self.line(0, format_args!("declaration"));
        if let Some(storage) = &declaration.storage {
            self.line(1, format_args!("storage {}", storage.node.text()));
        }
        self.specs(1, &declaration.specs);
        for declarator in &declaration.declarators {
            self.declarator(1, declarator);
        }
    }

    fn inline(&mut self, inline: &Inline) {
        self.line(0, format_args!("inline"));
        if let Some(storage) = &inline.storage {
            self.line(1, format_args!("storage {}", storage.node.text()));
        }
        self.specs(1, &inline.specs);
        self.declarator(1, &inline.declarator);
        self.line(1, format_args!("value"));
        self.expr(2, &inline.value);
    }

    fn translator(&mut self, translator: &Translator) {
        self.line(0, format_args!("translator"));
        self.ty(1, "output", &translator.output);
        self.ty(1, "input", &translator.input);
        self.line(1, format_args!("name {}", translator.parameter.node));
        for (name, value) in &translator.members {
            self.line(1, format_args!("member {}", name.node));
            self.expr(2, value);
        }
    }

    fn provider(&mut self, provider: &Provider) {
        self.line(0, format_args!("provider {}", provider.name.node));
        for probe in &provider.probes {
            self.line(1, format_args!("probe {}", probe.name.node));
            self.params(2, "parameter", &probe.native);
            if let Some(translated) = &probe.translated {
                self.params(2, "translated", translated);
            }
            match &probe.alias {
                Some(Alias::Places(places)) => places.iter().for_each(|place| self.alias_place(place)),
                Some(Alias::Absent(nearest)) => self.line(2, format_args!("absent {:?}", nearest.node)),
                None => {}
            }
        }
    }

    fn alias_place(&mut self, place: &AliasPlace) {
        for probe in &place.probes {
            self.line(2, format_args!("place {probe}"));
        }
        if let Some(condition) = &place.condition {
            self.line(3, format_args!("condition"));
            self.expr(4, condition);
        }
        for value in &place.values {
            self.line(3, format_args!("value"));
            self.expr(4, value);
        }
    }

    fn declarator(&mut self, depth: usize, declarator: &Declarator) {
        self.line(depth, format_args!("name {}", declarator.name.node));
        self.derived(depth + 1, &declarator.derived);
    }

    fn specs(&mut self, depth: usize, specs: &[Spanned<TypeSpec>]) {
        for spec in specs {
            match &spec.node {
                TypeSpec::Record(record) => self.record(depth, record),
                TypeSpec::Enum(definition) => self.enumeration(depth, definition),
                spec => self.line(depth, format_args!("type {spec}")),
            }
        }
    }

    fn record(&mut self, depth: usize, record: &RecordDefinition) {
        let name = record.name.as_ref().map_or("", |name| &name.node);
        self.line(depth, format_args!("{} {name}", record.kind.text()));
        for declaration in &record.members {
            self.line(depth + 1, format_args!("members"));
            self.specs(depth + 2, &declaration.specs);
            for member in &declaration.members {
                match &member.declarator {
                    Some(declarator) => self.declarator(depth + 2, declarator),
                    None => self.line(depth + 2, format_args!("no name")),
                }
                if let Some(bits) = &member.bits {
                    self.line(depth + 3, format_args!("bits"));
                    self.expr(depth + 4, bits);
                }
            }
        }
    }

    fn enumeration(&mut self, depth: usize, definition: &EnumDefinition) {
        let name = definition.name.as_ref().map_or("", |name| &name.node);
        self.line(depth, format_args!("enum {name}"));
        for (name, value) in &definition.enumerators {
            self.line(depth + 1, format_args!("name {}", name.node));
            if let Some(value) = value {
                self.expr(depth + 2, value);
            }
        }
    }

    fn params(&mut self, depth: usize, what: &str, params: &Params) {
        for param in &params.list {
            let name = param.name.as_ref().map(|name| format!("{what} {}: type", name.node));
            self.ty(depth, name.as_deref().unwrap_or(what), &param.ty);
        }
        if params.variadic {
            self.line(depth, format_args!("{what} ..."));
        }
    }

    fn block(&mut self, depth: usize, block: &[Stmt]) {
        for stmt in block {
            match stmt {
                Stmt::Expr(expr) => self.expr(depth, expr),
                Stmt::If(branch) => {
                    self.line(depth, format_args!("if"));
                    self.expr(depth + 1, &branch.condition);
                    self.line(depth, format_args!("then"));
                    self.block(depth + 1, &branch.then);
                    if let Some(otherwise) = &branch.otherwise {
                        self.line(depth, format_args!("else"));
                        self.block(depth + 1, otherwise);
                    }
                }
            }
        }
    }

    fn expr(&mut self, depth: usize, expr: &Expr) {
        match &expr.kind {
            ExprKind::Int { value, text } if *text == value.to_string() => {
                self.line(depth, format_args!("int {text}"))
            }
            ExprKind::Int { value, text } => self.line(depth, format_args!("int {text} = {value}")),
            ExprKind::Char { value, text } => self.line(depth, format_args!("char {text} = {value}")),
            ExprKind::Str { text, .. } => self.line(depth, format_args!("string {text}")),
            ExprKind::Ident(name) => self.line(depth, format_args!("name {name}")),
            ExprKind::Aggregation(name) => self.line(depth, format_args!("aggregation @{name}")),
            ExprKind::Scope(scope) => self.line(depth, format_args!("{}", scope.text())),
            ExprKind::Unary { op, .. } => self.line(depth, format_args!("unary {}", op.text())),
            ExprKind::Postfix { op, .. } => self.line(depth, format_args!("postfix {}", op.text())),
            ExprKind::Binary { op, .. } => self.line(depth, format_args!("binary {}", op.text())),
            ExprKind::Assign { op, .. } => {
                self.line(depth, format_args!("assign {}=", op.map_or("", BinaryOp::text)));
            }
            ExprKind::Conditional { .. } => self.line(depth, format_args!("conditional")),
            ExprKind::Comma { .. } => self.line(depth, format_args!("comma")),
            ExprKind::Call { callee, .. } => self.line(depth, format_args!("call {}", callee.node)),
            ExprKind::Index { .. } => self.line(depth, format_args!("index")),
            ExprKind::Member { arrow, member, .. } => {
                self.line(depth, format_args!("member {}{}", if *arrow { "->" } else { "." }, member.node));
            }
            ExprKind::Cast { ty, .. } => self.ty(depth, "cast", ty),
            ExprKind::SizeofType { ty } => self.ty(depth, "sizeof type", ty),
            ExprKind::Offsetof { ty, member } => {
                self.ty(depth, "offsetof", ty);
                self.line(depth + 1, format_args!("member {}", member.node));
            }
            ExprKind::Xlate { ty, .. } => self.ty(depth, "xlate", ty),
        }
        crate::parser::visit::each_operand(expr, &mut |operand| self.expr(depth + 1, operand));
    }

    fn ty(&mut self, depth: usize, what: &str, ty: &TypeName) {
        let specs: Vec<String> = ty.specs.iter().map(|spec| spec.node.to_string()).collect();
        self.line(depth, format_args!("{what} {}", specs.join(" ")));
        self.derived(depth + 1, &ty.derived);
    }

    fn derived(&mut self, depth: usize, derived: &[Derived]) {
        for step in derived {
            match step {
                Derived::Pointer { qualifiers } => {
                    let words: String = qualifiers.iter().map(|q| format!(" {}", q.word())).collect();
                    self.line(depth, format_args!("pointer{words}"));
                }
                Derived::Array(None) => self.line(depth, format_args!("array")),
                Derived::Array(Some(size)) => {
                    self.line(depth, format_args!("array of"));
                    self.expr(depth + 1, size);
                }
                Derived::AssocArray(keys) => {
                    self.line(depth, format_args!("associative array"));
                    self.params(depth + 1, "key", keys);
                }
                Derived::Function(params) => {
                    self.line(depth, format_args!("function"));
                    self.params(depth + 1, "parameter", params);
                }
            }
        }
    }
}
