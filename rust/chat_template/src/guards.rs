//! The filters that bounded_code.rs puts into compiled templates: operators and calls that pay for what they do.

use minijinja::value::{Rest, Value, ValueKind};
use minijinja::{Environment, Error, ErrorKind, State};

use crate::bounded_code as code;
use crate::budget;
use crate::python_text;

pub fn add_to(env: &mut Environment) {
    env.add_filter(code::CONCAT, concat);
    env.add_filter(code::ADD, add);
    env.add_filter(code::MULTIPLY, multiply);
    env.add_filter(code::SETTLE, |value: Value| budget::settled(value));
    env.add_filter(code::PAY, |value: Value| budget::charge_value(&value).map(|()| value));
    env.add_filter(code::MEMBER, |value: Value| budget::refuse_namespace(&value).map(|()| value));
    env.add_filter(code::FILTER, filter);
    env.add_filter(code::TEST, test);
    env.add_filter(code::METHOD, method);
    env.add_global(code::ONE, 1);
}

/// The arguments, paid for, and the name behind them.
fn split_call(args: &[Value]) -> Result<(&[Value], &str), Error> {
    let (name, args) = args.split_last().ok_or_else(|| Error::from(ErrorKind::MissingArgument))?;
    for arg in args {
        budget::charge_value(arg)?;
    }
    Ok((args, name.as_str().unwrap_or_default()))
}

fn filter(state: &State, args: Rest<Value>) -> Result<Value, Error> {
    let (args, name) = split_call(&args)?;
    budget::settled(state.apply_filter(name, args)?)
}

fn test(state: &State, args: Rest<Value>) -> Result<bool, Error> {
    let (args, name) = split_call(&args)?;
    state.perform_test(name, args)
}

fn method(state: &State, args: Rest<Value>) -> Result<Value, Error> {
    let (args, name) = split_call(&args)?;
    let (receiver, args) = args.split_first().ok_or_else(|| Error::from(ErrorKind::MissingArgument))?;
    budget::settled(receiver.call_method(state, name, args)?)
}

fn concat(left: Value, right: Value) -> Result<Value, Error> {
    let mut text = python_text::to_str(&left)?;
    python_text::write_str(&mut text, &right)?;
    Ok(Value::from(text))
}

fn is_list(value: &Value) -> bool {
    matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable)
}

fn is_number(value: &Value) -> bool {
    matches!(value.kind(), ValueKind::Number | ValueKind::Bool)
}

fn is_integer(value: &Value) -> bool {
    value.is_integer() || value.kind() == ValueKind::Bool
}

fn unsupported(operator: &str, left: &Value, right: &Value) -> Error {
    let (left, right) = (left.kind(), right.kind());
    Error::new(ErrorKind::InvalidOperation, format!("{left} {operator} {right} is not defined"))
}

fn integer(value: Option<i128>) -> Result<Value, Error> {
    let value = value.ok_or_else(|| Error::new(ErrorKind::InvalidOperation, "a number is too large"))?;
    Ok(i64::try_from(value).map_or_else(|_| Value::from(value), Value::from))
}

fn arithmetic(
    operator: &str,
    left: &Value,
    right: &Value,
    of_integers: fn(i128, i128) -> Option<i128>,
    of_floats: fn(f64, f64) -> f64,
) -> Result<Value, Error> {
    if !is_number(left) || !is_number(right) {
        return Err(unsupported(operator, left, right));
    }
    if is_integer(left) && is_integer(right) {
        return integer(of_integers(i128::try_from(left.clone())?, i128::try_from(right.clone())?));
    }
    Ok(Value::from(of_floats(f64::try_from(left.clone())?, f64::try_from(right.clone())?)))
}

/// A text marked as safe escapes what is added to it, as Python's Markup does.
fn safe_sum(left: &Value, right: &Value) -> Result<Value, Error> {
    if left.as_str().is_none() || right.as_str().is_none() {
        return Err(unsupported("+", left, right));
    }
    let (left, right) = (python_text::escaped(left)?, python_text::escaped(right)?);
    Ok(Value::from_safe_string(left + &right))
}

fn add(left: Value, right: Value) -> Result<Value, Error> {
    if left.is_safe() || right.is_safe() {
        return safe_sum(&left, &right);
    }
    if let (Some(a), Some(b)) = (left.as_str(), right.as_str()) {
        budget::charge_text((a.len() + b.len()) as u64)?;
        return Ok(Value::from([a, b].concat()));
    }
    if is_list(&left) && is_list(&right) {
        let n = left.len().unwrap_or(0) + right.len().unwrap_or(0);
        budget::check_items(n)?;
        budget::charge(n as u64)?;
        let items: Vec<Value> = left.try_iter()?.chain(right.try_iter()?).collect();
        return budget::settled(Value::from(items));
    }
    arithmetic("+", &left, &right, i128::checked_add, |a, b| a + b)
}

fn multiply(left: Value, right: Value) -> Result<Value, Error> {
    if is_number(&left) && is_number(&right) {
        return arithmetic("*", &left, &right, i128::checked_mul, |a, b| a * b);
    }
    let (many, count) = if is_number(&left) { (&right, &left) } else { (&left, &right) };
    if !is_integer(count) {
        return Err(unsupported("*", &left, &right));
    }
    let count = usize::try_from(i128::try_from(count.clone())?.max(0)).unwrap_or(usize::MAX);
    if let Some(text) = many.as_str() {
        budget::charge_text((text.len() as u64).saturating_mul(count as u64))?;
        return Ok(Value::from(text.repeat(count)));
    }
    if !is_list(many) {
        return Err(unsupported("*", &left, &right));
    }
    let items: Vec<Value> = many.try_iter()?.collect();
    budget::check_items(items.len().saturating_mul(count))?;
    budget::settled((0..count).flat_map(|_| items.iter().cloned()).collect())
}
