//! sugar/if_else.rs: rewrites clauses with `if` into clauses without; clause-local variables store the conditions.

use super::conditional::Branched;
use super::error_guard::{self, Guard};
use super::plain::{self, Clause, Item};
use super::stage::Stage;
use super::synth;
use crate::parser::ast::{self, Expr, If, Stmt};
use kinst_base::source::Span;

/// Replaces each clause that has an `if` by its parts; other items are unchanged.
pub(super) fn expand<P: Stage>(programs: Vec<Branched<P>>) -> Vec<plain::Program<P>> {
    let mut guard = Guard::default();
    programs.into_iter().map(|program| expand_one(program, &mut guard)).collect()
}

fn expand_one<P: Stage>(program: Branched<P>, guard: &mut Guard) -> plain::Program<P> {
    let mut items = Vec::new();
    for item in program.into_items() {
        match item {
            ast::Item::Pragma(pragma) => items.push(Item::Pragma(pragma)),
            ast::Item::Declaration(declaration) => items.push(Item::Declaration(declaration)),
            ast::Item::Inline(inline) => items.push(Item::Inline(inline)),
            ast::Item::Translator(translator) => items.push(Item::Translator(translator)),
            ast::Item::Provider(provider) => items.push(Item::Provider(provider)),
            ast::Item::Clause(clause) => items.extend(clauses(clause, guard).into_iter().map(Item::Clause)),
        }
    }
    plain::Program { items }
}

fn clauses<P: Stage>(clause: ast::Clause<P>, guard: &mut Guard) -> Vec<Clause<P>> {
    let ast::Clause { probes, predicate, body, span } = clause;
    let body = match body.map(only_expressions) {
        None => return vec![Clause { probes, predicate, body: None, part: false, span }],
        Some(Ok(body)) => {
            return vec![Clause { probes, predicate, body: Some(body), part: false, span }];
        }
        Some(Err(body)) => body,
    };
    let origin = probes.first().map_or(span, |first| first.span());
    let mut split = Split { clauses: Vec::new(), probes, conditions: 0 };
    split.clauses.extend(error_guard::on_error(guard, origin));
    split.clauses.push(error_guard::reset(split.probes.clone(), origin));
    let outer = predicate.map(|predicate| {
        let origin = predicate.span;
        split.condition(None, predicate, origin)
    });
    split.block(body, outer);
    split.clauses
}

/// Returns the statements as expressions, or unchanged if an `if` is among them.
fn only_expressions(body: Vec<Stmt>) -> Result<Vec<Expr>, Vec<Stmt>> {
    if body.iter().any(|stmt| matches!(stmt, Stmt::If(_))) {
        return Err(body);
    }
    let expressions = body.into_iter().filter_map(|stmt| match stmt {
        Stmt::Expr(expr) => Some(expr),
        Stmt::If(_) => None,
    });
    Ok(expressions.collect())
}

/// The parts of one clause.
struct Split<P> {
    clauses: Vec<Clause<P>>,
    probes: Vec<P>,
    /// The number of conditions so far; they are numbered from 1.
    conditions: u32,
}

impl<P: Stage> Split<P> {
    /// Adds the statements of a block that runs if condition `outer` holds.
    fn block(&mut self, block: Vec<Stmt>, outer: Option<u32>) {
        let mut run = Vec::new();
        for stmt in block {
            match stmt {
                Stmt::Expr(expr) => run.push(expr),
                Stmt::If(branch) => {
                    self.run(std::mem::take(&mut run), outer);
                    self.branch(*branch, outer);
                }
            }
        }
        self.run(run, outer);
    }

    fn branch(&mut self, branch: If, outer: Option<u32>) {
        let origin = branch.condition.span;
        let taken = self.condition(outer, branch.condition, origin);
        self.block(branch.then, Some(taken));
        if let Some(otherwise) = branch.otherwise {
            let not_taken = synth::not(synth::condition(taken, origin), origin);
            let other = self.condition(outer, not_taken, origin);
            self.block(otherwise, Some(other));
        }
    }

    /// Adds `P /!self->%error/ { this->%condition_N = outer && value; }`; returns N.
    fn condition(&mut self, outer: Option<u32>, value: Expr, origin: Span) -> u32 {
        self.conditions += 1;
        let outer = match outer {
            Some(outer) => synth::condition(outer, origin),
            None => synth::integer(1, origin),
        };
        let both = synth::and(outer, value, origin);
        let set = synth::assign(synth::condition(self.conditions, origin), both, origin);
        self.push(Some(no_error(origin)), vec![set], origin);
        self.conditions
    }

    /// Adds a run of statements without `if`.
    fn run(&mut self, run: Vec<Expr>, outer: Option<u32>) {
        let (Some(first), Some(last)) = (run.first(), run.last()) else {
            return;
        };
        let origin = first.span.to(last.span);
        let predicate = match outer {
            Some(outer) => Some(synth::and(no_error(origin), synth::condition(outer, origin), origin)),
            None => (self.conditions > 0).then(|| no_error(origin)),
        };
        self.push(predicate, run, origin);
    }

    fn push(&mut self, predicate: Option<Expr>, body: Vec<Expr>, span: Span) {
        let probes = self.probes.clone();
        self.clauses.push(Clause { probes, predicate, body: Some(body), part: true, span });
    }
}

fn no_error(origin: Span) -> Expr {
    synth::not(synth::error_flag(origin), origin)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parser::ast::ProbeDesc;
    use crate::parser::{Macros, ParseOptions, Settings, parse};
    use crate::sugar::conditional;
    use kinst_base::source::{Origin, Source, Sources};

    fn expanded(text: &str) -> plain::Program<ProbeDesc> {
        expand(conditional::expand(vec![parsed(text)])).remove(0)
    }

    fn parsed(text: &str) -> ast::Program {
        let mut sources = Sources::default();
        let source = Source { name: text.to_owned(), origin: Origin::Name, text: text.to_owned() };
        let file = sources.add(source);
        let macros = Macros::default();
        let settings = Settings { any_call: true, ..Settings::default() };
        let options = ParseOptions { macros: &macros, is_type_name: &|_| false, settings };
        parse(&sources, file, &options).unwrap().program
    }

    fn first_probe(program: &plain::Program<ProbeDesc>) -> String {
        match &program.items[0] {
            Item::Clause(clause) => clause.probes[0].to_string(),
            item => panic!("{item:?}"),
        }
    }

    #[test]
    fn a_run_has_one_error_clause() {
        let texts = ["BEGIN { x = 1; }", "BEGIN { if (x) y; } END { if (x) y; }", "END { if (x) y; }"];
        let expanded = expand(conditional::expand(texts.map(parsed).into()));
        assert_eq!(expanded.iter().map(|program| program.items.len()).collect::<Vec<_>>(), [1, 7, 3]);
        assert_eq!(first_probe(&expanded[1]), "dtrace:::ERROR");
        assert_eq!(first_probe(&expanded[2]), ":::END");
    }

    #[test]
    fn made_up_nodes_point_at_what_the_user_wrote() {
        let text = "BEGIN /pid/ { if (x > 1) trace(y); }";
        let program = expanded(text);
        let spans: Vec<&str> = program
            .items
            .iter()
            .map(|item| match item {
                Item::Clause(clause) => &text[clause.span.start as usize..clause.span.end as usize],
                item => panic!("{item:?}"),
            })
            .collect();
        assert_eq!(spans, ["BEGIN", "BEGIN", "pid", "x > 1", "trace(y)"]);
    }

    #[test]
    fn a_clause_without_braces_stays_so() {
        let program = expanded("kinst::f:entry");
        assert!(matches!(&program.items[..], [Item::Clause(Clause { body: None, .. })]));
    }
}
