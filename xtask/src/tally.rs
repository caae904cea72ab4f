//! The results of tests, printed as they arrive and at the end.

use std::process::ExitCode;

/// A run with more flaky cases fails.
const FLAKY: usize = 2;
/// The number of slow tests to show.
const SLOWEST: usize = 20;

/// A finished test or step.
struct Ended {
    name: String,
    seconds: f32,
}

/// The tests that passed, that failed (with their faults), and that failed only once.
#[derive(Default)]
pub(crate) struct Tally {
    passed: usize,
    failed: Vec<String>,
    flaky: Vec<String>,
    steps: Vec<Ended>,
    cases: Vec<Ended>,
}

impl Tally {
    /// Records and prints the result of a step.
    pub(crate) fn step(&mut self, name: &str, seconds: f32, faults: &[String]) {
        self.steps.push(Ended { name: name.to_owned(), seconds });
        self.end(name, seconds, faults);
    }

    /// Records and prints the result of a case.
    pub(crate) fn case(&mut self, name: &str, seconds: f32, faults: &[String]) {
        self.cases.push(Ended { name: name.to_owned(), seconds });
        self.end(name, seconds, faults);
    }

    fn end(&mut self, name: &str, seconds: f32, faults: &[String]) {
        if faults.is_empty() {
            self.passed += 1;
            println!("ok    {name} ({seconds:.1} s)");
        } else {
            let failure = failure(name, seconds, faults);
            println!("FAIL  {failure}");
            self.failed.push(failure);
        }
    }

    /// Prints the failure of a case that will run once more.
    pub(crate) fn again(name: &str, seconds: f32, faults: &[String]) {
        println!("again {}", failure(name, seconds, faults));
    }

    /// Records a case that failed first and passed when it ran by itself.
    pub(crate) fn flaky(&mut self, name: &str, seconds: f32, faults: &[String]) {
        println!("flaky {name}: passed when run by itself");
        self.passed += 1;
        self.flaky.push(failure(name, seconds, faults));
    }

    /// Records the time of a step whose results are counted one by one.
    pub(crate) fn took(&mut self, name: &str, seconds: f32) {
        self.steps.push(Ended { name: name.to_owned(), seconds });
    }

    pub(crate) fn add(&mut self, other: Tally) {
        self.passed += other.passed;
        self.failed.extend(other.failed);
        self.flaky.extend(other.flaky);
        self.steps.extend(other.steps);
        self.cases.extend(other.cases);
    }

    /// Prints the times, then the failures, the flaky cases and the totals: all that matters is at the end of a long
    /// run.
    pub(crate) fn print_end(mut self, skipped: usize) -> ExitCode {
        const LINES: usize = 40;
        print_table("step", &self.steps);
        self.cases.sort_by(|one, other| other.seconds.total_cmp(&one.seconds));
        self.cases.truncate(SLOWEST);
        print_table("the slowest cases", &self.cases);
        let head = |failure: &String| failure.lines().take(LINES).collect::<Vec<_>>().join("\n");
        self.failed.iter().for_each(|failure| println!("failed: {}", head(failure)));
        self.flaky.iter().for_each(|failure| println!("flaky: {}", head(failure)));
        let too_flaky = self.flaky.len() > FLAKY;
        if too_flaky {
            println!("{} cases are flaky: more than {FLAKY} fail the run", self.flaky.len());
        }
        let skipped = if skipped == 0 { String::new() } else { format!(", {skipped} skipped") };
        println!("{} passed, {} failed{skipped}", self.passed, self.failed.len());
        if self.failed.is_empty() && !too_flaky { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

fn failure(name: &str, seconds: f32, faults: &[String]) -> String {
    let what = faults.iter().map(|fault| format!("\n    {}", fault.replace('\n', "\n    ")));
    format!("{name} ({seconds:.1} s){}", what.collect::<String>())
}

fn print_table(head: &str, rows: &[Ended]) {
    if rows.is_empty() {
        return;
    }
    println!("\n{:>8}  {head}", "seconds");
    rows.iter().for_each(|row| println!("{:>8.1}  {}", row.seconds, row.name));
    println!();
}
