//! typeck/stmt/aggregating.rs: the arguments of the aggregating functions (language §4.4).

use crate::parser::ast;
use crate::typeck::error;
use crate::typeck::error::{Error, Result};
use crate::typeck::state::Checker;
use crate::typeck::typed::{AggregatingFunction, Expr};
use crate::vocabulary::builtin::Aggregating;
use kinst_base::diag::{Tag, tags};
use kinst_base::source::Span;

/// A checked call of an aggregating function.
pub(in crate::typeck) struct Checked {
    pub function: AggregatingFunction,
    pub value: Option<Expr>,
    pub increment: Option<Expr>,
}

impl Checker<'_> {
    /// `previous`: the function of an earlier assignment to the same aggregation.
    pub(in crate::typeck) fn check_aggregating(
        &mut self,
        kind: Aggregating,
        name: &'static str,
        args: &[ast::Expr],
        previous: Option<AggregatingFunction>,
        span: Span,
    ) -> Result<Checked> {
        let (least, most) = match kind {
            Aggregating::Count => (0, 0),
            Aggregating::Quantize => (1, 2),
            Aggregating::Lquantize => (3, 5),
            Aggregating::Llquantize => (5, 6),
            _ => (1, 1),
        };
        self.require_count(name, args.len(), least, Some(most), span)?;
        let value = match args.first() {
            None => None,
            Some(arg) => {
                let value = self.check_expr(arg)?;
                if !value.ty.is_scalar() {
                    let (found, span) = (value.ty, arg.span);
                    return Err(error::Aggregating::NotScalar { function: name, found, span }.into());
                }
                Some(value)
            }
        };
        let increment_at = match kind {
            Aggregating::Quantize => 1,
            Aggregating::Lquantize => 4,
            _ => 5,
        };
        let function = match kind {
            Aggregating::Count => AggregatingFunction::Count,
            Aggregating::Sum => AggregatingFunction::Sum,
            Aggregating::Avg => AggregatingFunction::Avg,
            Aggregating::Min => AggregatingFunction::Min,
            Aggregating::Max => AggregatingFunction::Max,
            Aggregating::Stddev => AggregatingFunction::Stddev,
            Aggregating::Quantize => AggregatingFunction::Quantize,
            Aggregating::Lquantize => self.check_lquantize(args, previous)?,
            Aggregating::Llquantize => self.check_llquantize(args, previous)?,
        };
        let increment = args.get(increment_at).map(|arg| self.check_increment(name, increment_at, arg));
        Ok(Checked { function, value, increment: increment.transpose()? })
    }

    fn check_increment(&mut self, name: &str, at: usize, arg: &ast::Expr) -> Result<Expr> {
        let value = self.check_expr(arg)?;
        if value.ty.is_scalar() {
            return Ok(value);
        }
        let (function, expected) = (name.to_string(), "an integer".to_string());
        let (number, found, span) = (at + 1, value.ty, arg.span);
        Err(error::Call::ArgumentType { function, number, expected, found, span }.into())
    }

    fn check_lquantize(
        &mut self,
        args: &[ast::Expr],
        previous: Option<AggregatingFunction>,
    ) -> Result<AggregatingFunction> {
        let base = self.parameter("lquantize", args, 1, tags::LQUANT_BASETYPE, "the base of lquantize()")?;
        let base = in_range(base, i32::MIN, i32::MAX, tags::LQUANT_BASEVAL, "the base", args[1].span)?;
        let limit = self.parameter("lquantize", args, 2, tags::LQUANT_LIMTYPE, "the limit of lquantize()")?;
        let limit = in_range(limit, i32::MIN, i32::MAX, tags::LQUANT_LIMVAL, "the limit", args[2].span)?;
        if limit < base {
            let title = format!("the limit {limit} is below the base {base}");
            return Err(quantize(tags::LQUANT_MISMATCH, title, args[2].span));
        }
        let (step, step_span) = match args.get(3) {
            None => (1, args[2].span),
            Some(arg) => {
                let step = self.constant(arg, tags::LQUANT_STEPTYPE, "the step of lquantize()")?;
                if step <= 0 {
                    let title = format!("the step {step} of lquantize() is not positive");
                    return Err(quantize(tags::LQUANT_STEPTYPE, title, arg.span));
                }
                (
                    in_range(step, 1, i32::from(u16::MAX), tags::LQUANT_STEPVAL, "the step", arg.span)?,
                    arg.span,
                )
            }
        };
        let levels = (i64::from(limit) - i64::from(base)) / i64::from(step);
        if levels == 0 {
            let title = format!("the step {step} is larger than the range from {base} to {limit}");
            return Err(quantize(tags::LQUANT_STEPLARGE, title, step_span));
        }
        let Ok(levels) = u16::try_from(levels) else {
            let title = format!("the step {step} makes {levels} buckets; {} are possible", u16::MAX);
            return Err(quantize(tags::LQUANT_STEPSMALL, title, step_span));
        };
        if let Some(AggregatingFunction::Lquantize { base: b, limit: l, step: s, .. }) = previous {
            agree(tags::LQUANT_MATCHBASE, "base", b, base, args[1].span)?;
            agree(tags::LQUANT_MATCHLIM, "limit", l, limit, args[2].span)?;
            agree(tags::LQUANT_MATCHSTEP, "step", i32::from(s), step, step_span)?;
        }
        Ok(AggregatingFunction::Lquantize { base, limit, step: step as u16, levels })
    }

    fn check_llquantize(
        &mut self,
        args: &[ast::Expr],
        previous: Option<AggregatingFunction>,
    ) -> Result<AggregatingFunction> {
        const NAMES: [&str; 4] = ["factor", "low magnitude", "high magnitude", "number of steps"];
        const TYPES: [Tag; 4] = [
            tags::LLQUANT_FACTORTYPE,
            tags::LLQUANT_LOWTYPE,
            tags::LLQUANT_HIGHTYPE,
            tags::LLQUANT_NSTEPTYPE,
        ];
        const VALUES: [Tag; 4] =
            [tags::LLQUANT_FACTORVAL, tags::LLQUANT_LOWVAL, tags::LLQUANT_HIGHVAL, tags::LLQUANT_NSTEPVAL];
        const MATCHES: [Tag; 4] = [
            tags::LLQUANT_FACTORMATCH,
            tags::LLQUANT_LOWMATCH,
            tags::LLQUANT_HIGHMATCH,
            tags::LLQUANT_NSTEPMATCH,
        ];
        let mut values = [0_u16; 4];
        for (i, value) in values.iter_mut().enumerate() {
            let arg = &args[i + 1];
            let what = format!("the {} of llquantize()", NAMES[i]);
            let constant = self.parameter("llquantize", args, i + 1, TYPES[i], &what)?;
            let name = format!("the {}", NAMES[i]);
            *value = in_range(constant, 0, i32::from(u16::MAX), VALUES[i], &name, arg.span)? as u16;
        }
        let [factor, low, high, steps] = values;
        check_magnitudes(values, args)?;
        if let Some(AggregatingFunction::Llquantize { factor: f, low: l, high: h, steps: s }) = previous {
            for (i, before) in [f, l, h, s].into_iter().enumerate() {
                agree(MATCHES[i], NAMES[i], before.into(), values[i].into(), args[i + 1].span)?;
            }
        }
        Ok(AggregatingFunction::Llquantize { factor, low, high, steps })
    }

    fn constant(&mut self, arg: &ast::Expr, tag: Tag, what: &str) -> Result<i128> {
        let value = self.check_expr(arg)?;
        match value.constant().filter(|_| value.ty.is_integer()) {
            Some(constant) if value.ty.is_signed() => Ok(i128::from(constant as i64)),
            Some(constant) => Ok(i128::from(constant)),
            None => Err(quantize(tag, format!("{what} must be an integer constant"), arg.span)),
        }
    }

    /// Checks a required number: first that it is an integer, as in any function's prototype, then that it
    /// is constant.
    fn parameter(
        &mut self,
        function: &str,
        args: &[ast::Expr],
        at: usize,
        tag: Tag,
        what: &str,
    ) -> Result<i128> {
        let arg = &args[at];
        let value = self.check_expr(arg)?;
        if !value.ty.is_integer() {
            let (function, expected) = (function.to_string(), "int".to_string());
            let (number, found, span) = (at + 1, value.ty, arg.span);
            return Err(error::Call::ArgumentType { function, number, expected, found, span }.into());
        }
        self.constant(arg, tag, what)
    }
}

fn check_magnitudes([factor, low, high, steps]: [u16; 4], args: &[ast::Expr]) -> Result<()> {
    let (factor_span, low_span, high_span, steps_span) =
        (args[1].span, args[2].span, args[3].span, args[4].span);
    if factor < 2 {
        let title = format!("the factor {factor} of llquantize() is less than 2");
        return Err(quantize(tags::LLQUANT_FACTORSMALL, title, factor_span));
    }
    if low >= high {
        let title = format!("the high magnitude {high} is not above the low magnitude {low}");
        return Err(quantize(tags::LLQUANT_MAGRANGE, title, low_span));
    }
    if steps < factor {
        let title = format!("{steps} steps are fewer than the factor {factor}");
        return Err(quantize(tags::LLQUANT_FACTORNSTEPS, title, steps_span));
    }
    let mut power = u128::from(factor);
    while power < u128::from(steps) {
        power *= u128::from(factor);
    }
    if steps % factor != 0 || power % u128::from(steps) != 0 {
        let title = format!("{steps} steps do not divide the powers of {factor} evenly");
        return Err(quantize(tags::LLQUANT_FACTOREVEN, title, steps_span));
    }
    if u64::from(factor).checked_pow(u32::from(high) + 1).is_none() {
        let title = format!("{factor} to the power of {} does not fit 64 bits", u32::from(high) + 1);
        return Err(quantize(tags::LLQUANT_MAGTOOBIG, title, high_span));
    }
    Ok(())
}

fn in_range(value: i128, min: i32, max: i32, tag: Tag, what: &str, span: Span) -> Result<i32> {
    match i32::try_from(value) {
        Ok(value) if (min..=max).contains(&value) => Ok(value),
        _ => Err(quantize(tag, format!("{what} is {value}, not in {min}..{max}"), span)),
    }
}

fn agree(tag: Tag, what: &str, before: i32, now: i32, span: Span) -> Result<()> {
    if before == now {
        return Ok(());
    }
    Err(quantize(tag, format!("the {what} was {before} before and is {now} here"), span))
}

fn quantize(tag: Tag, title: String, span: Span) -> Box<Error> {
    error::Aggregating::Quantize { tag, title, span }.into()
}
