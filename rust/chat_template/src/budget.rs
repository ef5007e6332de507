//! What one rendering may use. A template is a program from a stranger: instructions are bounded by minijinja's fuel,
//! this module bounds what a single instruction can do: text made, size and depth of values, and time.
//!
//! The state is that of the thread that renders; every rendering has a thread of its own.

use std::cell::RefCell;
use std::collections::HashMap;
use std::time::{Duration, Instant};

use indexmap::IndexMap;
use minijinja::value::{ObjectRepr, Value};
use minijinja::{Error, ErrorKind};

pub const MOST_TEMPLATE_BYTES: usize = 256 << 10;
pub const MOST_INPUT_BYTES: usize = 16 << 20;
pub const MOST_OUTPUT_BYTES: u64 = 32 << 20;
pub const MOST_INSTRUCTIONS: u64 = 20_000_000;
/// In minijinja's measure, where a macro call counts four.
pub const MOST_RECURSION: usize = 800;
const MOST_WORK_BYTES: u64 = 512 << 20;
const MOST_ITEMS: usize = 1_000_000;
const MOST_DEPTH: u32 = 200;
const MOST_TIME: Duration = Duration::from_secs(5);
/// What a value costs beside its text.
const VALUE_BYTES: u64 = 16;
/// Smaller amounts of work are left to the fuel.
const SMALL_WORK_BYTES: u64 = 64;

/// Bytes that printing the value would take, roughly, and levels of nesting. A value that holds the same list twice
/// counts it twice: printing and comparing do so too.
#[derive(Clone, Copy)]
struct Size {
    bytes: u64,
    depth: u32,
}

struct Budget {
    work_left: u64,
    deadline: Instant,
    exceeded: Option<String>,
    refusal: Option<String>,
    /// Sizes by address. The values are kept alive, so that no address is used twice.
    sizes: HashMap<usize, (Value, Size)>,
}

thread_local! {
    static BUDGET: RefCell<Budget> = RefCell::new(Budget {
        work_left: MOST_WORK_BYTES,
        deadline: Instant::now() + MOST_TIME,
        exceeded: None,
        refusal: None,
        sizes: HashMap::new(),
    });
}

/// The error that ends a rendering which wants too much; what is said first stays.
pub fn exceed(what: String) -> Error {
    BUDGET.with_borrow_mut(|budget| budget.exceeded.get_or_insert_with(|| what.clone()).len());
    Error::new(ErrorKind::OutOfFuel, what)
}

pub fn exceeded() -> Option<String> {
    BUDGET.with_borrow(|budget| budget.exceeded.clone())
}

/// The words of raise_exception.
pub fn refuse(message: String) -> Error {
    BUDGET.with_borrow_mut(|budget| budget.refusal = Some(message.clone()));
    Error::new(ErrorKind::InvalidOperation, message)
}

pub fn refusal() -> Option<String> {
    BUDGET.with_borrow(|budget| budget.refusal.clone())
}

/// Pays for `bytes` of text made, copied or compared.
pub fn charge(bytes: u64) -> Result<(), Error> {
    if bytes <= SMALL_WORK_BYTES {
        return Ok(());
    }
    let (enough, in_time) = BUDGET.with_borrow_mut(|budget| {
        let enough = budget.work_left >= bytes;
        budget.work_left = budget.work_left.saturating_sub(bytes);
        (enough, Instant::now() <= budget.deadline)
    });
    if !in_time {
        return Err(exceed(format!("the template took more than {} s", MOST_TIME.as_secs())));
    }
    if !enough {
        return Err(exceed(format!("the template handled more than {} MiB of text", MOST_WORK_BYTES >> 20)));
    }
    Ok(())
}

pub fn check_text(bytes: u64) -> Result<(), Error> {
    if bytes > MOST_OUTPUT_BYTES {
        return Err(exceed(format!("the template made a text of more than {} MiB", MOST_OUTPUT_BYTES >> 20)));
    }
    Ok(())
}

/// Pays for text of `bytes` that is about to be made in one piece.
pub fn charge_text(bytes: u64) -> Result<(), Error> {
    check_text(bytes)?;
    charge(bytes)
}

/// Pays for handling the value once.
pub fn charge_value(value: &Value) -> Result<(), Error> {
    charge(measure(value)?.bytes)
}

pub fn check_items(n: usize) -> Result<(), Error> {
    if n > MOST_ITEMS {
        return Err(exceed(format!("the template made a list of more than {MOST_ITEMS} items")));
    }
    Ok(())
}

/// What an operation gave: paid for, not lazy (a chain of lazy values would be as deep as it is long), and no deeper
/// than printing and dropping can bear.
pub fn settled(value: Value) -> Result<Value, Error> {
    let lazy = value.as_object().is_some_and(|object| object.repr() == ObjectRepr::Iterable);
    let value = if lazy { materialized(&value)? } else { value };
    if value.as_object().is_some() {
        measure(&value)?;
    } else {
        charge_text(text_bytes(&value))?;
    }
    Ok(value)
}

fn materialized(value: &Value) -> Result<Value, Error> {
    let mut items = Vec::new();
    for item in value.try_iter()? {
        items.push(item);
        check_items(items.len())?;
    }
    Ok(Value::from(items))
}

fn text_bytes(value: &Value) -> u64 {
    value.as_str().map_or(0, |text| text.len() as u64)
}

/// Refuses a namespace inside a value: it could be made to hold itself.
pub fn refuse_namespace(value: &Value) -> Result<(), Error> {
    if value.as_object().is_some_and(|object| object.type_name().ends_with("Namespace")) {
        return Err(Error::new(ErrorKind::InvalidOperation, "a namespace cannot be put into another value"));
    }
    Ok(())
}

fn address_of(value: &Value) -> Option<usize> {
    if let Some(list) = value.downcast_object_ref::<Vec<Value>>() {
        return Some(std::ptr::from_ref(list) as usize);
    }
    value.downcast_object_ref::<IndexMap<Value, Value>>().map(|map| std::ptr::from_ref(map) as usize)
}

fn measure(value: &Value) -> Result<Size, Error> {
    let Some(object) = value.as_object() else {
        return Ok(Size { bytes: VALUE_BYTES + text_bytes(value), depth: 0 });
    };
    let address = address_of(value);
    if let Some(size) = address.and_then(|a| BUDGET.with_borrow(|budget| budget.sizes.get(&a).map(|known| known.1))) {
        return Ok(size);
    }
    let size = match object.repr() {
        ObjectRepr::Map => {
            measure_all(object.try_iter_pairs().into_iter().flatten().flat_map(|(key, item)| [key, item]))?
        }
        ObjectRepr::Seq | ObjectRepr::Iterable => measure_all(object.try_iter().into_iter().flatten())?,
        _ => Size { bytes: VALUE_BYTES, depth: 0 },
    };
    if size.depth > MOST_DEPTH {
        return Err(exceed(format!("the template nested values more than {MOST_DEPTH} deep")));
    }
    if let Some(address) = address {
        BUDGET.with_borrow_mut(|budget| budget.sizes.insert(address, (value.clone(), size)));
    }
    Ok(size)
}

fn measure_all(items: impl Iterator<Item = Value>) -> Result<Size, Error> {
    let mut size = Size { bytes: VALUE_BYTES, depth: 1 };
    let mut n = 0;
    for item in items {
        n += 1;
        refuse_namespace(&item)?;
        let inner = measure(&item)?;
        size.bytes = size.bytes.saturating_add(inner.bytes);
        size.depth = size.depth.max(inner.depth + 1);
    }
    check_items(n)?;
    charge(n as u64 * VALUE_BYTES)?;
    Ok(size)
}
