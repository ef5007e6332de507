//! Functions, filters and tests as the transformers library gives them to chat templates, where minijinja's own differ
//! or could be made to work without bound.

use minijinja::value::{Kwargs, Rest, Value, ValueKind};
use minijinja::{filters, tests, Environment, Error, ErrorKind, State};

use crate::budget;
use crate::clock::LocalTime;
use crate::python_methods;
use crate::python_text::{self, Layout};

const MOST_INDENT: usize = 1000;
const MOST_BATCH: usize = 100_000;

pub fn add_to(env: &mut Environment, now: LocalTime) {
    env.add_function("raise_exception", |message: Value| -> Result<Value, Error> {
        Err(budget::refuse(python_text::to_str(&message)?))
    });
    env.add_function("strftime_now", move |format: &str| now.format(format));
    env.add_filter("tojson", tojson);
    env.add_filter("string", |value: Value| python_text::to_str(&value));
    env.add_filter("pprint", |value: Value| python_text::to_repr(&value));
    for name in ["escape", "e", "forceescape"] {
        env.add_filter(name, |value: Value| python_text::escaped(&value).map(Value::from_safe_string));
    }
    for name in ["length", "count"] {
        env.add_filter(name, length);
    }
    env.add_filter("trim", trim);
    env.add_filter("join", join);
    env.add_filter("replace", replace);
    env.add_filter("indent", indent);
    env.add_filter("format", format);
    env.add_filter("batch", batch);
    env.add_filter("slice", slice);
    env.add_test("sequence", |value: Value| {
        matches!(value.kind(), ValueKind::Seq | ValueKind::String | ValueKind::Map)
    });
    env.add_test("callable", |value: Value| value.kind() == ValueKind::Plain);
    env.add_test("in", |state: &State, value: &Value, container: &Value| tests::is_in(state, value, container));
    env.remove_global("debug");
}

/// json.dumps(value, ensure_ascii=False) with the further arguments that transformers lets through.
fn tojson(value: Value, indent: Option<Value>, options: Kwargs) -> Result<String, Error> {
    let ascii = options.get::<Option<bool>>("ensure_ascii")?.unwrap_or(false);
    let sort_keys = options.get::<Option<bool>>("sort_keys")?.unwrap_or(false);
    let separators = match options.get::<Option<Value>>("separators")? {
        Some(pair) if !pair.is_none() => Some(separators_of(&pair)?),
        _ => None,
    };
    let indent = match indent {
        Some(indent) => Some(indent),
        None => options.get::<Option<Value>>("indent")?,
    };
    options.assert_all_used()?;
    let layout = Layout::json(ascii, sort_keys, indent.map_or(Ok(None), |indent| indent_text(&indent))?, separators);
    python_text::to_json(&value, &layout)
}

fn separators_of(pair: &Value) -> Result<(String, String), Error> {
    let parts: Vec<Value> = pair.try_iter()?.collect();
    match parts.as_slice() {
        [item, key] => Ok((python_text::to_str(item)?, python_text::to_str(key)?)),
        _ => Err(Error::new(ErrorKind::InvalidOperation, "separators must be two texts")),
    }
}

fn indent_text(indent: &Value) -> Result<Option<String>, Error> {
    if indent.is_none() || indent.is_undefined() {
        return Ok(None);
    }
    if let Some(text) = indent.as_str() {
        check_width(text.len())?;
        return Ok(Some(text.to_owned()));
    }
    let width = usize::try_from(i64::try_from(indent.clone())?.max(0)).unwrap_or(0);
    check_width(width)?;
    Ok(Some(" ".repeat(width)))
}

fn check_width(width: usize) -> Result<(), Error> {
    if width > MOST_INDENT {
        return Err(budget::exceed(format!("the template indented by more than {MOST_INDENT} characters")));
    }
    Ok(())
}

/// len(): nothing where there is nothing.
fn length(value: &Value) -> Result<usize, Error> {
    if value.is_undefined() {
        return Ok(0);
    }
    filters::length(value)
}

fn trim(value: Value, set: Option<&str>) -> Result<String, Error> {
    Ok(python_methods::strip(&python_text::to_str(&value)?, set, true, true).to_owned())
}

fn join(value: Value, separator: Option<Value>, options: Kwargs) -> Result<String, Error> {
    let separator = match separator {
        Some(separator) => python_text::to_str(&separator)?,
        None => options.get::<Option<String>>("d")?.unwrap_or_default(),
    };
    let attribute = options.get::<Option<&str>>("attribute")?;
    options.assert_all_used()?;
    let mut out = String::new();
    for (i, item) in value.try_iter()?.enumerate() {
        if i > 0 {
            budget::charge(separator.len() as u64)?;
            out.push_str(&separator);
        }
        let item = match attribute {
            Some(name) => item.get_attr(name)?,
            None => item,
        };
        out.push_str(&python_text::to_str(&item)?);
        budget::check_text(out.len() as u64)?;
    }
    Ok(out)
}

fn replace(value: Value, old: Value, new: Value, count: Option<i64>) -> Result<String, Error> {
    let (text, old, new) = (python_text::to_str(&value)?, python_text::to_str(&old)?, python_text::to_str(&new)?);
    python_methods::replaced(&text, &old, &new, count.unwrap_or(-1))
}

/// Jinja's indent: lines after the first (all with first), not those that are empty (all with blank).
fn indent(
    value: Value,
    width: Option<Value>,
    first: Option<bool>,
    blank: Option<bool>,
    options: Kwargs,
) -> Result<String, Error> {
    let width = match width {
        Some(width) => width,
        None => options.get::<Option<Value>>("width")?.unwrap_or(Value::from(4)),
    };
    let first = first.or(options.get("first")?).unwrap_or(false);
    let blank = blank.or(options.get("blank")?).unwrap_or(false);
    options.assert_all_used()?;
    let margin = indent_text(&width)?.unwrap_or_default();
    let text = python_text::to_str(&value)?;
    let n_lines = text.matches('\n').count() + 1;
    budget::charge_text((text.len() + n_lines * (margin.len() + 1)) as u64)?;
    let mut out = String::new();
    for (i, line) in text.split('\n').enumerate() {
        if i > 0 {
            out.push('\n');
        }
        let indented = if i == 0 { first } else { blank || !line.is_empty() };
        if indented {
            out.push_str(&margin);
        }
        out.push_str(line);
    }
    Ok(out)
}

/// "%s of %d" | format(...). Widths are written in the text, so a number in it is bounded.
fn format(state: &State, text: &Value, args: Rest<Value>) -> Result<Value, Error> {
    let digits = |c: char| c.is_ascii_digit();
    let longest = text.as_str().unwrap_or_default().split(|c| !digits(c)).map(str::len).max().unwrap_or(0);
    if longest > 4 || text.as_str().unwrap_or_default().contains('*') {
        return Err(budget::exceed("the template formatted with a width of more than four digits".into()));
    }
    filters::format(state, text, args)
}

fn batch(state: &State, value: Value, count: usize, fill: Option<Value>) -> Result<Value, Error> {
    budget::check_items(count.saturating_mul(10))?;
    if count > MOST_BATCH {
        return Err(budget::exceed(format!("the template asked for batches of more than {MOST_BATCH}")));
    }
    filters::batch(state, value, count, fill)
}

fn slice(state: &State, value: Value, count: usize, fill: Option<Value>) -> Result<Value, Error> {
    if count > MOST_BATCH {
        return Err(budget::exceed(format!("the template asked for more than {MOST_BATCH} slices")));
    }
    filters::slice(state, value, count, fill)
}
