//! A template from its source on. It is compiled when it is first rendered: one that nobody renders costs no thread, and
//! a thread that could not be had for one rendering is asked for again by the next. Safe from several threads.

use std::sync::{Once, OnceLock};
use std::thread;

use crate::render::{check_source, Compiled, Failure, Status};

/// The compiler recurses over an expression; this is what the longest one that is let through needs, many times over.
/// Memory that is not touched is not used.
const STACK_BYTES: usize = 256 << 20;

pub struct Template {
    source: String,
    /// What compiling came to, where that says something about the source.
    outcome: OnceLock<Result<Compiled, Failure>>,
}

impl Template {
    pub fn new(source: Result<&str, Failure>) -> Template {
        match source.and_then(check_source) {
            Ok(source) => Template { source: source.to_owned(), outcome: OnceLock::new() },
            Err(failure) => Template { source: String::new(), outcome: OnceLock::from(Err(failure)) },
        }
    }

    /// What is wrong with the template is told before what is wrong with its input.
    pub fn render(&self, input: Result<(&str, &str), Failure>) -> Result<String, Failure> {
        let compiled = self.compiled()?;
        let (variables, now) = input?;
        apart(|| compiled.render(variables, now))
    }

    /// On a thread of its own, so that the first rendering has the same budget as all others.
    fn compiled(&self) -> Result<&Compiled, Failure> {
        let outcome = match self.outcome.get() {
            Some(outcome) => outcome,
            None => match apart(|| Compiled::new(&self.source)) {
                Err(failure @ (Status::Internal, _)) => return Err(failure),
                outcome => self.outcome.get_or_init(|| outcome),
            },
        };
        outcome.as_ref().map_err(Failure::clone)
    }
}

/// Runs `work` on a thread of its own.
fn apart<T: Send>(work: impl FnOnce() -> Result<T, Failure> + Send) -> Result<T, Failure> {
    silence_panics();
    let outcome = thread::scope(|scope| {
        thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, work).map(thread::ScopedJoinHandle::join)
    });
    match outcome {
        Ok(Ok(result)) => result,
        Ok(Err(_)) => Err((Status::Internal, "the template engine failed".to_owned())),
        Err(error) => Err((Status::Internal, format!("no thread for the template: {error}"))),
    }
}

/// A library prints nothing; what a panic was about is in the status.
fn silence_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| std::panic::set_hook(Box::new(|_| {})));
}
