//! Methods of Python's str and dict. minijinja-contrib has most of them; here are those that it lacks or that differ.

use minijinja::value::{from_args, Value, ValueKind};
use minijinja::{Error, ErrorKind, State};
use minijinja_contrib::pycompat;

use crate::budget;

const MOST_PADDING: usize = 10_000;

pub fn call(state: &State, value: &Value, method: &str, args: &[Value]) -> Result<Value, Error> {
    let own = match value.kind() {
        ValueKind::String => of_string(value.as_str().unwrap_or_default(), method, args)?,
        ValueKind::Map => of_map(value, method, args)?,
        ValueKind::Seq => of_list(value, method, args)?,
        _ => None,
    };
    match own {
        Some(result) => Ok(result),
        None => pycompat::unknown_method_callback(state, value, method, args),
    }
}

fn invalid(message: &str) -> Error {
    Error::new(ErrorKind::InvalidOperation, message.to_owned())
}

pub fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

fn of_map(value: &Value, method: &str, args: &[Value]) -> Result<Option<Value>, Error> {
    match method {
        "copy" => {
            let () = from_args(args)?;
            Ok(Some(value.clone()))
        }
        "pop" | "popitem" | "update" | "clear" | "setdefault" => Err(unsafe_access(method, "dict")),
        _ => Ok(None),
    }
}

fn of_list(value: &Value, method: &str, args: &[Value]) -> Result<Option<Value>, Error> {
    match method {
        "copy" => {
            let () = from_args(args)?;
            Ok(Some(value.clone()))
        }
        "index" => {
            let (wanted,): (&Value,) = from_args(args)?;
            let place = value.try_iter()?.position(|item| item == *wanted);
            place.map(|at| Some(Value::from(at))).ok_or_else(|| invalid("the value is not in the list"))
        }
        "append" | "extend" | "insert" | "pop" | "remove" | "clear" | "sort" | "reverse" => {
            Err(unsafe_access(method, "list"))
        }
        _ => Ok(None),
    }
}

/// What Jinja's sandbox for immutable values says.
fn unsafe_access(method: &str, kind: &str) -> Error {
    invalid(&format!("access to attribute '{method}' of '{kind}' object is unsafe."))
}

fn of_string(text: &str, method: &str, args: &[Value]) -> Result<Option<Value>, Error> {
    Ok(Some(match method {
        "strip" | "lstrip" | "rstrip" => {
            let (set,): (Option<&str>,) = from_args(args)?;
            Value::from(strip(text, set, method != "rstrip", method != "lstrip"))
        }
        "replace" => {
            let (old, new, count): (&str, &str, Option<i64>) = from_args(args)?;
            Value::from(replaced(text, old, new, count.unwrap_or(-1))?)
        }
        "removeprefix" => {
            let (prefix,): (&str,) = from_args(args)?;
            Value::from(text.strip_prefix(prefix).unwrap_or(text))
        }
        "removesuffix" => {
            let (suffix,): (&str,) = from_args(args)?;
            Value::from(text.strip_suffix(suffix).unwrap_or(text))
        }
        "count" => {
            let (what,): (&str,) = from_args(args)?;
            Value::from(if what.is_empty() { text.chars().count() + 1 } else { text.matches(what).count() })
        }
        "find" | "rfind" | "index" | "rindex" => found(text, method, args)?,
        "splitlines" => {
            let (keep_ends,): (Option<bool>,) = from_args(args)?;
            lines(text, keep_ends.unwrap_or(false))
        }
        "rsplit" | "partition" | "rpartition" => split(text, method, args)?,
        "center" | "ljust" | "rjust" | "zfill" => padded(text, method, args)?,
        "casefold" => Value::from(text.to_lowercase()),
        "swapcase" => Value::from(text.chars().flat_map(swapped_case).collect::<String>()),
        "isspace" => all_of(text, is_space),
        "isdigit" | "isnumeric" | "isdecimal" => all_of(text, char::is_numeric),
        "isalpha" => all_of(text, char::is_alphabetic),
        "isalnum" => all_of(text, char::is_alphanumeric),
        "islower" => Value::from(text.chars().any(char::is_lowercase) && !text.chars().any(char::is_uppercase)),
        "isupper" => Value::from(text.chars().any(char::is_uppercase) && !text.chars().any(char::is_lowercase)),
        _ => return Ok(None),
    }))
}

fn all_of(text: &str, is: fn(char) -> bool) -> Value {
    Value::from(!text.is_empty() && text.chars().all(is))
}

fn swapped_case(c: char) -> Vec<char> {
    if c.is_uppercase() {
        c.to_lowercase().collect()
    } else {
        c.to_uppercase().collect()
    }
}

pub fn strip<'t>(text: &'t str, set: Option<&str>, left: bool, right: bool) -> &'t str {
    let set: Option<Vec<char>> = set.map(|set| set.chars().collect());
    let goes = |c: char| set.as_ref().map_or_else(|| is_space(c), |set| set.contains(&c));
    let text = if left { text.trim_start_matches(goes) } else { text };
    if right {
        text.trim_end_matches(goes)
    } else {
        text
    }
}

/// str.replace; a negative count means all.
pub fn replaced(text: &str, old: &str, new: &str, count: i64) -> Result<String, Error> {
    let places = if old.is_empty() { text.chars().count() + 1 } else { text.matches(old).count() };
    let places = usize::try_from(count).map_or(places, |most| places.min(most));
    budget::charge_text((text.len() as u64).saturating_add((new.len() as u64).saturating_mul(places as u64)))?;
    Ok(text.replacen(old, new, places))
}

/// Places are counted in characters.
fn found(text: &str, method: &str, args: &[Value]) -> Result<Value, Error> {
    let (what, start, end): (&str, Option<i64>, Option<i64>) = from_args(args)?;
    let chars: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    let n = chars.len() as i64 - 1;
    let clamp = |at: i64| if at < 0 { (at + n).max(0) } else { at.min(n) } as usize;
    let (start, end) = (clamp(start.unwrap_or(0)), clamp(end.unwrap_or(n)));
    let place = if start > end {
        None
    } else {
        let part = &text[chars[start]..chars[end]];
        let at = if method.starts_with('r') { part.rfind(what) } else { part.find(what) };
        at.map(|at| start + part[..at].chars().count())
    };
    match place {
        Some(at) => Ok(Value::from(at)),
        None if method.ends_with("find") => Ok(Value::from(-1)),
        None => Err(invalid("substring not found")),
    }
}

/// The ends of lines that Python knows.
fn lines(text: &str, keep_ends: bool) -> Value {
    let mut result = Vec::new();
    let mut start = 0;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let ends_line = matches!(c, '\n'..='\r' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}');
        if !ends_line {
            continue;
        }
        let mut end = at + c.len_utf8();
        if c == '\r' && chars.next_if(|next| next.1 == '\n').is_some() {
            end += 1;
        }
        result.push(Value::from(&text[start..if keep_ends { end } else { at }]));
        start = end;
    }
    if start < text.len() {
        result.push(Value::from(&text[start..]));
    }
    Value::from(result)
}

fn split(text: &str, method: &str, args: &[Value]) -> Result<Value, Error> {
    let (separator, most): (Option<&str>, Option<i64>) = from_args(args)?;
    if separator.is_some_and(str::is_empty) {
        return Err(invalid("empty separator"));
    }
    if method == "rsplit" {
        return Ok(rsplit(text, separator, most.and_then(|most| usize::try_from(most).ok())));
    }
    let separator = separator.ok_or_else(|| Error::from(ErrorKind::MissingArgument))?;
    let parts = if method == "partition" { text.split_once(separator) } else { text.rsplit_once(separator) };
    let parts = match parts {
        Some((before, after)) => [before, separator, after],
        None if method == "partition" => [text, "", ""],
        None => ["", "", text],
    };
    Ok(parts.into_iter().map(Value::from).collect())
}

fn rsplit(text: &str, separator: Option<&str>, most: Option<usize>) -> Value {
    let mut parts: Vec<&str> = Vec::new();
    let mut rest = text;
    if separator.is_none() {
        rest = rest.trim_end_matches(is_space);
    }
    while most.is_none_or(|most| parts.len() < most) {
        let cut = match separator {
            Some(separator) => rest.rsplit_once(separator),
            None => rest.rfind(is_space).map(|at| {
                let last = rest[at..].trim_start_matches(is_space);
                (rest[..at].trim_end_matches(is_space), last)
            }),
        };
        let Some((before, last)) = cut else { break };
        parts.push(last);
        rest = before;
    }
    if separator.is_some() || !rest.is_empty() {
        parts.push(rest);
    }
    parts.reverse();
    parts.into_iter().map(Value::from).collect()
}

fn padded(text: &str, method: &str, args: &[Value]) -> Result<Value, Error> {
    let (width, fill): (usize, Option<&str>) = from_args(args)?;
    if width > MOST_PADDING {
        return Err(budget::exceed(format!("the template padded a text to more than {MOST_PADDING} characters")));
    }
    let missing = width.saturating_sub(text.chars().count());
    let fill = if method == "zfill" { "0" } else { fill.unwrap_or(" ") };
    let left = match method {
        "ljust" => 0,
        "center" => missing / 2 + (missing & width & 1),
        _ => missing,
    };
    let (sign, digits) = match text.strip_prefix(['-', '+']) {
        Some(digits) if method == "zfill" => (&text[..1], digits),
        _ => ("", text),
    };
    Ok(Value::from([sign, &fill.repeat(left), digits, &fill.repeat(missing - left)].concat()))
}
