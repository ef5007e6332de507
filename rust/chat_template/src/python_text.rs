//! Values as Python writes them: str(), repr() and json.dumps(). Everything made is paid for (budget.rs).

use minijinja::value::{ObjectRepr, Value, ValueKind};
use minijinja::{Error, ErrorKind};

use crate::budget;

/// What str(value) gives; undefined is empty, as Jinja prints it.
pub fn to_str(value: &Value) -> Result<String, Error> {
    let mut out = String::new();
    write_str(&mut out, value)?;
    Ok(out)
}

pub fn write_str(out: &mut String, value: &Value) -> Result<(), Error> {
    match value.as_str() {
        Some(text) => {
            budget::charge_text((out.len() + text.len()) as u64)?;
            out.push_str(text);
            Ok(())
        }
        None => {
            budget::charge_value(value)?;
            write_repr(out, value)
        }
    }
}

/// As MarkupSafe escapes; a text marked as safe stays.
pub fn escaped(value: &Value) -> Result<String, Error> {
    let text = to_str(value)?;
    if value.is_safe() {
        return Ok(text);
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&#34;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    budget::charge_text(out.len() as u64)?;
    Ok(out)
}

pub fn to_repr(value: &Value) -> Result<String, Error> {
    budget::charge_value(value)?;
    let mut out = String::new();
    write_repr(&mut out, value)?;
    Ok(out)
}

fn write_repr(out: &mut String, value: &Value) -> Result<(), Error> {
    match value.kind() {
        ValueKind::Undefined => {}
        ValueKind::None => out.push_str("None"),
        ValueKind::Bool => out.push_str(if value.is_true() { "True" } else { "False" }),
        ValueKind::Number => out.push_str(&number(value)),
        ValueKind::String => quote(out, value.as_str().unwrap_or_default()),
        _ => write_container(out, value, &Layout::repr(), 0)?,
    }
    budget::check_text(out.len() as u64)
}

/// How a container is laid out.
pub struct Layout {
    json: bool,
    ascii: bool,
    sort_keys: bool,
    indent: Option<String>,
    item_separator: String,
    key_separator: String,
}

impl Layout {
    fn repr() -> Layout {
        Layout {
            json: false,
            ascii: false,
            sort_keys: false,
            indent: None,
            item_separator: ", ".into(),
            key_separator: ": ".into(),
        }
    }

    /// The arguments of json.dumps; like it, an indent takes the space after the comma away.
    pub fn json(ascii: bool, sort_keys: bool, indent: Option<String>, separators: Option<(String, String)>) -> Layout {
        let item = if indent.is_some() { "," } else { ", " };
        let (item_separator, key_separator) = separators.unwrap_or_else(|| (item.into(), ": ".into()));
        Layout { json: true, ascii, sort_keys, indent, item_separator, key_separator }
    }

    fn new_line(&self, out: &mut String, level: usize) {
        if let Some(indent) = &self.indent {
            out.push('\n');
            for _ in 0..level {
                out.push_str(indent);
            }
        }
    }
}

pub fn to_json(value: &Value, layout: &Layout) -> Result<String, Error> {
    budget::charge_value(value)?;
    let mut out = String::new();
    write_json(&mut out, value, layout, 0)?;
    Ok(out)
}

fn write_json(out: &mut String, value: &Value, layout: &Layout, level: usize) -> Result<(), Error> {
    match value.kind() {
        ValueKind::None => out.push_str("null"),
        ValueKind::Bool => out.push_str(if value.is_true() { "true" } else { "false" }),
        ValueKind::Number => out.push_str(&json_number(value)),
        ValueKind::String => json_string(out, value.as_str().unwrap_or_default(), layout.ascii),
        ValueKind::Seq | ValueKind::Map | ValueKind::Iterable => write_container(out, value, layout, level)?,
        kind => {
            return Err(Error::new(
                ErrorKind::InvalidOperation,
                format!("a value of type {kind} is not JSON serializable"),
            ))
        }
    }
    // Indents grow with the depth, so the size of the value alone does not bound the text.
    budget::check_text(out.len() as u64)
}

fn write_container(out: &mut String, value: &Value, layout: &Layout, level: usize) -> Result<(), Error> {
    let Some(object) = value.as_object() else {
        return Ok(());
    };
    let is_map = object.repr() == ObjectRepr::Map;
    let mut pairs: Vec<(Option<Value>, Value)> = if is_map {
        object.try_iter_pairs().into_iter().flatten().map(|(key, item)| (Some(key), item)).collect()
    } else if matches!(object.repr(), ObjectRepr::Seq | ObjectRepr::Iterable) {
        object.try_iter().into_iter().flatten().map(|item| (None, item)).collect()
    } else {
        out.push_str(&format!("<{}>", object.type_name().rsplit("::").next().unwrap_or("object").to_lowercase()));
        return Ok(());
    };
    if layout.sort_keys {
        pairs.sort_by(|a, b| a.0.cmp(&b.0));
    }
    out.push(if is_map { '{' } else { '[' });
    let n = pairs.len();
    for (i, (key, item)) in pairs.into_iter().enumerate() {
        layout.new_line(out, level + 1);
        if let Some(key) = key {
            write_key(out, &key, layout)?;
            out.push_str(&layout.key_separator);
        }
        if layout.json {
            write_json(out, &item, layout, level + 1)?;
        } else {
            write_repr(out, &item)?;
        }
        if i + 1 < n {
            out.push_str(&layout.item_separator);
        }
    }
    if n > 0 {
        layout.new_line(out, level);
    }
    out.push(if is_map { '}' } else { ']' });
    Ok(())
}

/// Keys of JSON are strings: json.dumps writes true, null and numbers as such.
fn write_key(out: &mut String, key: &Value, layout: &Layout) -> Result<(), Error> {
    if !layout.json {
        return write_repr(out, key);
    }
    match key.as_str() {
        Some(text) => json_string(out, text, layout.ascii),
        None => {
            let mut text = String::new();
            write_json(&mut text, key, layout, 0)?;
            json_string(out, &text, layout.ascii);
        }
    }
    Ok(())
}

fn json_string(out: &mut String, text: &str, ascii: bool) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            c if c < ' ' => out.push_str(&format!("\\u{:04x}", c as u32)),
            c if ascii && !c.is_ascii() => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

fn quote(out: &mut String, text: &str) {
    let mark = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    out.push(mark);
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c == mark => {
                out.push('\\');
                out.push(c);
            }
            c if c < ' ' || ('\u{7f}'..='\u{a0}').contains(&c) || c == '\u{ad}' => {
                out.push_str(&format!("\\x{:02x}", c as u32));
            }
            c => out.push(c),
        }
    }
    out.push(mark);
}

fn number(value: &Value) -> String {
    if value.is_integer() {
        return value.to_string();
    }
    match f64::try_from(value.clone()) {
        Ok(x) => float(x),
        Err(_) => value.to_string(),
    }
}

fn json_number(value: &Value) -> String {
    match number(value).as_str() {
        "inf" => "Infinity".into(),
        "-inf" => "-Infinity".into(),
        "nan" => "NaN".into(),
        text => text.into(),
    }
}

/// repr of a float: the shortest digits that read back, with an exponent below 1e-4 and from 1e16.
fn float(x: f64) -> String {
    if x.is_nan() {
        return "nan".into();
    }
    if x.is_infinite() {
        return if x > 0.0 { "inf".into() } else { "-inf".into() };
    }
    let exponential = format!("{x:e}");
    let (digits, exponent) = exponential.split_once('e').unwrap_or((&exponential, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if x != 0.0 && !(-4..16).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{digits}e{sign}{:02}", exponent.abs());
    }
    let plain = format!("{x}");
    if plain.contains('.') {
        plain
    } else {
        plain + ".0"
    }
}
