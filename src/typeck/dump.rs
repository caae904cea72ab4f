//! typeck/dump.rs: the typed tree as text, for `-x dump=typed`.

use super::stmt::agg::function_name;
use super::typed::{
    AggregatingFunction, Aggregation, Bits, Clause, Control, Expr, ExprKind, Key, KeyType, Place, Printed,
    PrintedValue, Program, StackAction, Stmt, StmtKind, SymbolAction, Variable, VariableId,
};

/// Dumps one node per line, with children indented and types after a colon.
pub fn dump(program: &Program) -> String {
    let mut dump = Dump { program, text: String::new(), depth: 0 };
    dump.program();
    dump.text
}

struct Dump<'a> {
    program: &'a Program,
    text: String,
    depth: usize,
}

impl Dump<'_> {
    fn line(&mut self, text: impl AsRef<str>) {
        self.text.push_str(&"  ".repeat(self.depth));
        self.text.push_str(text.as_ref());
        self.text.push('\n');
    }

    fn nested(&mut self, text: impl AsRef<str>, children: impl FnOnce(&mut Self)) {
        self.line(text);
        self.depth += 1;
        children(self);
        self.depth -= 1;
    }

    fn program(&mut self) {
        let program = self.program;
        for variable in &program.variables {
            self.line(format!("variable {} #{}: {}", full_name(variable), variable.number, variable.ty));
        }
        for (i, aggregation) in program.aggregations.iter().enumerate() {
            self.line(format!("aggregation {} #{}", aggregation_text(aggregation), i + 1));
        }
        for clause in &program.clauses {
            self.clause(clause);
        }
    }

    fn clause(&mut self, clause: &Clause) {
        let probes: Vec<String> = clause.probes.iter().map(|probe| probe.kind.to_string()).collect();
        self.nested(format!("clause {}", probes.join(", ")), |dump| {
            if let Some(predicate) = &clause.predicate {
                dump.nested("predicate", |dump| dump.expr(predicate));
            }
            for stmt in &clause.body {
                dump.stmt(stmt);
            }
        });
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Expr(expr) => self.nested("do", |dump| dump.expr(expr)),
            StmtKind::Aggregate { aggregation, keys, value, increment } => {
                let known = &self.program.aggregations[aggregation.0];
                let text = format!("aggregate @{} = {}", known.name, function_text(known.function));
                self.nested(text, |dump| {
                    for key in keys {
                        dump.key(key);
                    }
                    dump.optional("value", value.as_ref());
                    dump.optional("increment", increment.as_ref());
                });
            }
            StmtKind::Trace(value) => self.nested("trace", |dump| dump.expr(value)),
            StmtKind::Print(printed) => self.nested("print", |dump| dump.printed(printed)),
            StmtKind::PrintAll(lines) => self.nested("print all", |dump| {
                for line in lines {
                    match line {
                        Printed::Function(function) => dump.line(format!("of {function}()")),
                        Printed::Variable { name, printed } => {
                            dump.nested(name, |dump| dump.printed(printed));
                        }
                        Printed::Missing { name, ty, why } => dump.line(format!("{ty} {name}: {why}")),
                    }
                }
            }),
            StmtKind::Printf { action, format, args } => {
                let name = format!("{action:?}").to_lowercase();
                self.nested(name, |dump| {
                    for piece in &format.pieces {
                        dump.line(format!("format {}", piece_text(piece)));
                    }
                    for arg in args {
                        match arg {
                            Key::Value(value) => dump.expr(value),
                            other => dump.key(other),
                        }
                    }
                });
            }
            StmtKind::Printa { format, aggregations } => {
                let names: Vec<String> = aggregations
                    .iter()
                    .map(|id| format!("@{}", self.program.aggregations[id.0].name))
                    .collect();
                self.nested(format!("printa {}", names.join(", ")), |dump| {
                    for piece in format.iter().flat_map(|format| &format.pieces) {
                        dump.line(format!("format {}", piece_text(piece)));
                    }
                });
            }
            StmtKind::Exit(status) => self.nested("exit", |dump| dump.expr(status)),
            StmtKind::Stack(stack) => self.line(stack_text(stack)),
            StmtKind::Symbol(symbol, address) => {
                self.nested(symbol_text(*symbol), |dump| dump.expr(address));
            }
            StmtKind::Printm { size, reference } => {
                self.nested(format!("printm {size}"), |dump| dump.expr(reference));
            }
            StmtKind::Tracemem { address, size, length } => {
                self.nested(format!("tracemem {size}"), |dump| {
                    dump.expr(address);
                    dump.optional("length", length.as_ref());
                });
            }
            StmtKind::Control(control) => self.control(control),
            StmtKind::Speculation(kind, id) => {
                self.nested(format!("{kind:?}").to_lowercase(), |dump| dump.expr(id));
            }
            StmtKind::Destructive(kind, arg) => {
                self.nested(format!("{kind:?}").to_lowercase(), |dump| {
                    dump.optional("argument", arg.as_ref())
                });
            }
        }
    }

    fn printed(&mut self, printed: &PrintedValue) {
        self.expr(&printed.value);
        for referent in &printed.referents {
            self.nested(format!("refers to {} bytes", referent.most), |dump| dump.expr(&referent.pair));
        }
    }

    /// Dumps an action of the consumer.
    fn control(&mut self, control: &Control) {
        let name = |id: &super::typed::AggregationId| format!("@{}", self.program.aggregations[id.0].name);
        match control {
            Control::Clear(id) => self.line(format!("clear {}", name(id))),
            Control::Denormalize(id) => self.line(format!("denormalize {}", name(id))),
            Control::Trunc { aggregation, count } => {
                let text = format!("trunc {}", name(aggregation));
                self.nested(text, |dump| dump.optional("count", count.as_ref()));
            }
            Control::Normalize { aggregation, divisor } => {
                let text = format!("normalize {}", name(aggregation));
                self.nested(text, |dump| dump.expr(divisor));
            }
            Control::Setopt { name, value } => self.nested("setopt", |dump| {
                dump.expr(name);
                dump.optional("value", value.as_ref());
            }),
            Control::Ftruncate => self.line("ftruncate"),
        }
    }

    fn optional(&mut self, what: &str, expr: Option<&Expr>) {
        if let Some(expr) = expr {
            self.nested(what, |dump| dump.expr(expr));
        }
    }

    fn key(&mut self, key: &Key) {
        match key {
            Key::Value(value) => self.nested("key", |dump| dump.expr(value)),
            Key::Stack(stack) => self.nested("key", |dump| dump.line(stack_text(stack))),
            Key::Symbol(symbol, address) => {
                self.nested(format!("key {}", symbol_text(*symbol)), |dump| dump.expr(address));
            }
        }
    }

    fn expr(&mut self, expr: &Expr) {
        let ty = &expr.ty;
        match &expr.kind {
            ExprKind::Int(value) if ty.is_signed() => self.line(format!("{}: {ty}", *value as i64)),
            ExprKind::Int(value) => self.line(format!("{value}: {ty}")),
            ExprKind::Str(text) => self.line(format!("{:?}: {ty}", String::from_utf8_lossy(text))),
            ExprKind::Builtin(builtin) => self.line(format!("{}: {ty}", builtin.name())),
            ExprKind::BuiltinElement { array, index } => self.one(format!("{}[]: {ty}", array.name()), index),
            ExprKind::Place(place) => self.place("load", place, expr),
            ExprKind::Negate(value) => self.one(format!("-: {ty}"), value),
            ExprKind::Complement(value) => self.one(format!("~: {ty}"), value),
            ExprKind::Not(value) => self.one(format!("!: {ty}"), value),
            ExprKind::Arith { op, left, right } => {
                self.pair(format!("{}: {ty}", format!("{op:?}").to_lowercase()), left, right);
            }
            ExprKind::Compare { op, class, left, right } => {
                let text = format!("{op:?} ({class:?}): {ty}").to_lowercase();
                self.pair(text, left, right);
            }
            ExprKind::Logic { op, left, right } => {
                self.pair(format!("logical {op:?}: {ty}").to_lowercase(), left, right);
            }
            ExprKind::Conditional { condition, then, otherwise } => {
                self.nested(format!("?: {ty}"), |dump| {
                    dump.expr(condition);
                    dump.expr(then);
                    dump.expr(otherwise);
                });
            }
            ExprKind::Comma { left, right } => self.pair(format!(",: {ty}"), left, right),
            ExprKind::Bounded { index, length } => self.one(format!("below {length}: {ty}"), index),
            ExprKind::Convert(value) => self.one(format!("convert: {ty}"), value),
            ExprKind::Call { subroutine, args } => {
                self.nested(format!("{}(): {ty}", subroutine.name()), |dump| {
                    args.iter().for_each(|arg| dump.expr(arg));
                });
            }
            ExprKind::Assign { place, value } => {
                self.place("assign", place, expr);
                self.depth += 1;
                self.expr(value);
                self.depth -= 1;
            }
            ExprKind::Update { op, place, value } => {
                self.place(&format!("update {}", format!("{op:?}").to_lowercase()), place, expr);
                self.depth += 1;
                self.expr(value);
                self.depth -= 1;
            }
            ExprKind::Step { place, by, postfix } => {
                let when = if *postfix { "after" } else { "before" };
                self.place(&format!("step {by:+} {when}"), place, expr);
            }
        }
    }

    fn one(&mut self, text: String, value: &Expr) {
        self.nested(text, |dump| dump.expr(value));
    }

    fn pair(&mut self, text: String, left: &Expr, right: &Expr) {
        self.nested(text, |dump| {
            dump.expr(left);
            dump.expr(right);
        });
    }

    fn place(&mut self, what: &str, place: &Place, expr: &Expr) {
        let ty = &expr.ty;
        match place {
            Place::Variable(id) => self.line(format!("{what} {}: {ty}", self.name(*id))),
            Place::Element { array, keys } => {
                self.nested(format!("{what} {}[]: {ty}", self.name(*array)), |dump| {
                    keys.iter().for_each(|key| dump.expr(key));
                });
            }
            Place::Memory(memory) => {
                let user = if memory.user { " user" } else { "" };
                self.nested(format!("{what}{user} memory: {ty}"), |dump| dump.expr(&memory.address));
            }
            Place::Bits(Bits { memory, unit, shift, bits }) => {
                let user = if memory.user { " user" } else { "" };
                let text = format!("{what}{user} bits {shift}+{bits} of {unit}: {ty}");
                self.nested(text, |dump| dump.expr(&memory.address));
            }
        }
    }

    fn name(&self, id: VariableId) -> String {
        self.program.variables[id.0].full_name()
    }
}

fn full_name(variable: &Variable) -> String {
    match &variable.keys {
        None => variable.full_name(),
        Some(keys) => {
            let keys: Vec<String> = keys.iter().map(|key| key.to_string()).collect();
            format!("{}[{}]", variable.full_name(), keys.join(", "))
        }
    }
}

fn aggregation_text(aggregation: &Aggregation) -> String {
    let keys: Vec<String> = aggregation.keys.iter().map(key_type_text).collect();
    format!("@{}[{}] = {}", aggregation.name, keys.join(", "), function_text(aggregation.function))
}

fn symbol_text(symbol: SymbolAction) -> String {
    match symbol {
        SymbolAction::Sym { called: false } => "sym".to_owned(),
        SymbolAction::Sym { called: true } => "sym called".to_owned(),
        other => format!("{other:?}").to_lowercase(),
    }
}

fn key_type_text(key: &KeyType) -> String {
    match key {
        KeyType::Value(ty) => ty.to_string(),
        KeyType::Stack(stack) => stack_text(stack),
        KeyType::Symbol(symbol) => symbol_text(*symbol),
    }
}

fn function_text(function: AggregatingFunction) -> String {
    let name = function_name(function);
    match function {
        AggregatingFunction::Lquantize { base, limit, step, .. } => {
            format!("{name}({base}, {limit}, {step})")
        }
        AggregatingFunction::Llquantize { factor, low, high, steps } => {
            format!("{name}({factor}, {low}, {high}, {steps})")
        }
        _ => format!("{name}()"),
    }
}

fn stack_text(stack: &StackAction) -> String {
    match stack {
        StackAction::Kernel { frames } => format!("stack {frames}"),
        StackAction::User { frames, strsize, copied: 0 } => format!("ustack {frames} {strsize}"),
        StackAction::User { frames, strsize, copied } => format!("ustack {frames} {strsize} copy {copied}"),
    }
}

fn piece_text(piece: &kinst_dif::FormatPiece) -> String {
    match piece {
        kinst_dif::FormatPiece::Text(text) => format!("{:?}", String::from_utf8_lossy(text)),
        kinst_dif::FormatPiece::Conversion(conversion) => {
            let count = |count| match count {
                kinst_dif::Count::None => String::new(),
                kinst_dif::Count::Fixed(n) => n.to_string(),
                kinst_dif::Count::Argument => "*".into(),
            };
            let flags = [
                (conversion.alternate, '#'),
                (conversion.plus, '+'),
                (conversion.minus, '-'),
                (conversion.space, ' '),
                (conversion.zero, '0'),
                (conversion.grouping, '\''),
                (conversion.aggregation, '@'),
            ];
            let flags: String = flags.into_iter().filter(|(set, _)| *set).map(|(_, flag)| flag).collect();
            let precision = match conversion.precision {
                kinst_dif::Count::None => String::new(),
                precision => format!(".{}", count(precision)),
            };
            let sign = if conversion.signed { "signed" } else { "unsigned" };
            let width = count(conversion.width);
            format!("%{flags}{width}{precision}{} ({sign}, size {})", conversion.letter, conversion.size)
        }
    }
}
