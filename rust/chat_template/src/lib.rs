//! Chat templates (Jinja) for lockstep: minijinja behind two C functions. A template and its variables are input from
//! strangers, so a rendering has a budget for everything (budget.rs), and a thread and stack of its own; whatever goes
//! wrong in it comes back as a status and one text. No global state.

mod bounded_code;
mod budget;
mod clock;
mod guards;
mod python_globals;
mod python_methods;
mod python_text;
mod render;

use std::sync::Once;
use std::thread;

use render::{Failure, Status};

/// The compiler recurses over an expression; this is what the longest one that is let through needs, many times over.
/// Memory that is not touched is not used.
const STACK_BYTES: usize = 256 << 20;

/// Bytes that belong to the callee (arguments) or to the caller until lockstep_template_free (results).
#[repr(C)]
pub struct Bytes {
    data: *mut u8,
    size: usize,
}

/// Renders `source` with the variables of the JSON object `variables`; `now` is YYYY-MM-DDTHH:MM:SS. Returns a Status;
/// `result` gets the text or the message, UTF-8 both. Safe to call from several threads.
///
/// # Safety
/// The arguments point to that many readable bytes (or are empty), `result` to memory for a `Bytes`.
#[no_mangle]
pub unsafe extern "C" fn lockstep_template_render(
    source: Bytes,
    variables: Bytes,
    now: Bytes,
    result: *mut Bytes,
) -> i32 {
    let texts = (text_of(&source), text_of(&variables), text_of(&now));
    let (status, text) = match texts {
        (Some(source), Some(variables), Some(now)) => render_apart(source, variables, now),
        _ => (Status::BadInput, "the template or its input is not UTF-8".to_owned()),
    };
    let text = Box::leak(text.into_bytes().into_boxed_slice());
    result.write(Bytes { data: text.as_mut_ptr(), size: text.len() });
    status as i32
}

/// Gives a result back.
///
/// # Safety
/// `bytes` came from lockstep_template_render and is given back once.
#[no_mangle]
pub unsafe extern "C" fn lockstep_template_free(bytes: Bytes) {
    drop(Box::from_raw(std::ptr::slice_from_raw_parts_mut(bytes.data, bytes.size)));
}

unsafe fn text_of(bytes: &Bytes) -> Option<&str> {
    if bytes.size == 0 {
        return Some("");
    }
    std::str::from_utf8(std::slice::from_raw_parts(bytes.data, bytes.size)).ok()
}

fn render_apart(source: &str, variables: &str, now: &str) -> Failure {
    silence_panics();
    let outcome = thread::scope(|scope| {
        thread::Builder::new()
            .stack_size(STACK_BYTES)
            .spawn_scoped(scope, || render::render(source, variables, now))
            .map(thread::ScopedJoinHandle::join)
    });
    match outcome {
        Ok(Ok(Ok(text))) => (Status::Rendered, text),
        Ok(Ok(Err(failure))) => failure,
        Ok(Err(_)) => (Status::Internal, "the template engine failed".to_owned()),
        Err(error) => (Status::Internal, format!("no thread for the template: {error}")),
    }
}

/// A library prints nothing; what a panic was about is in the status.
fn silence_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| std::panic::set_hook(Box::new(|_| {})));
}
