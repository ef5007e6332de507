//! A compiled template, and one rendering: variables to text, or to what went wrong.

use std::collections::BTreeMap;

use minijinja::machinery::{make_string_output, Instructions, Vm};
use minijinja::value::Value;
use minijinja::{AutoEscape, Environment, Error, ErrorKind};

use crate::bounded_code;
use crate::budget;
use crate::clock::LocalTime;
use crate::guards;
use crate::python_globals;
use crate::python_methods;
use crate::python_text;

/// What the caller gets beside a text; the numbers are those of chat_template_bridge.h.
#[derive(Clone, Copy)]
pub enum Status {
    Rendered = 0,
    /// raise_exception; the text is the template's own.
    Refused = 1,
    Malformed = 2,
    Failed = 3,
    OverBudget = 4,
    BadInput = 5,
    Internal = 6,
}

pub type Failure = (Status, String);

/// A template that is ready to be rendered, any number of times.
pub struct Compiled {
    /// Borrowed from `_source`: the text of a String stays where it is when the String moves. Dropped first.
    instructions: Instructions<'static>,
    _source: String,
}

impl Compiled {
    /// `source` has passed check_source.
    pub fn new(source: &str) -> Result<Compiled, Failure> {
        let source = bounded_code::prepared_source(source).map_err(|error| describe(&error))?;
        // SAFETY: see the fields; neither leaves this struct.
        let text: &'static str = unsafe { &*std::ptr::from_ref(source.as_str()) };
        let instructions = bounded_code::compile(text).map_err(|error| describe(&error))?;
        Ok(Compiled { instructions, _source: source })
    }

    pub fn render(&self, variables: &str, now: &str) -> Result<String, Failure> {
        check_size("the input", variables.len(), budget::MOST_INPUT_BYTES)?;
        let now = LocalTime::parse(now).ok_or((Status::BadInput, "the time is not YYYY-MM-DDTHH:MM:SS".to_owned()))?;
        let variables: serde_json::Value =
            serde_json::from_str(variables).map_err(|error| (Status::BadInput, error.to_string()))?;
        self.run(value_of(variables), now).map_err(|error| describe(&error))
    }

    fn run(&self, variables: Value, now: LocalTime) -> Result<String, Error> {
        let env = environment(now);
        let mut out = String::new();
        let blocks = BTreeMap::new();
        let mut output = make_string_output(&mut out);
        Vm::new(&env).eval(&self.instructions, variables, &blocks, &mut output, AutoEscape::None)?;
        Ok(out)
    }
}

pub fn check_source(source: &str) -> Result<&str, Failure> {
    check_size("the template", source.len(), budget::MOST_TEMPLATE_BYTES).map(|()| source)
}

fn check_size(what: &str, size: usize, most: usize) -> Result<(), Failure> {
    if size > most {
        return Err((Status::OverBudget, format!("{what} has more than {} KiB", most >> 10)));
    }
    Ok(())
}

fn environment<'e>(now: LocalTime) -> Environment<'e> {
    let mut env = Environment::new();
    env.set_fuel(Some(budget::MOST_INSTRUCTIONS));
    env.set_recursion_limit(budget::MOST_RECURSION);
    env.set_auto_escape_callback(|_| AutoEscape::None);
    env.set_unknown_method_callback(python_methods::call);
    env.set_formatter(|out, _, value| {
        let text = python_text::to_str(value)?;
        out.write_str(&text).map_err(Error::from)
    });
    python_globals::add_to(&mut env, now);
    guards::add_to(&mut env);
    env
}

fn value_of(json: serde_json::Value) -> Value {
    match json {
        serde_json::Value::Null => Value::from(()),
        serde_json::Value::Bool(value) => Value::from(value),
        serde_json::Value::Number(number) => {
            if let Some(value) = number.as_i64() {
                Value::from(value)
            } else if let Some(value) = number.as_u64() {
                Value::from(value)
            } else {
                Value::from(number.as_f64().unwrap_or(f64::NAN))
            }
        }
        serde_json::Value::String(text) => Value::from(text),
        serde_json::Value::Array(items) => items.into_iter().map(value_of).collect(),
        serde_json::Value::Object(fields) => {
            fields.into_iter().map(|(key, value)| (Value::from(key), value_of(value))).collect()
        }
    }
}

fn describe(error: &Error) -> Failure {
    if let Some(message) = budget::refusal() {
        return (Status::Refused, message);
    }
    if let Some(message) = budget::exceeded() {
        return (Status::OverBudget, message);
    }
    let detail = error.detail().map_or_else(|| error.kind().to_string(), str::to_owned);
    if error.kind() == ErrorKind::OutOfFuel {
        let message = format!("the template ran for more than {} instructions", budget::MOST_INSTRUCTIONS);
        return (Status::OverBudget, message);
    }
    if detail.contains("recursion limit") {
        return (Status::OverBudget, "the template recursed too deep".to_owned());
    }
    let status = if error.kind() == ErrorKind::SyntaxError { Status::Malformed } else { Status::Failed };
    let place = error.line().map_or_else(String::new, |line| format!("line {line}: "));
    (status, place + &detail)
}
