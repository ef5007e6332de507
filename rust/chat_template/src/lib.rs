//! Chat templates (Jinja) for lockstep: minijinja behind four C functions. A template and its variables are input from
//! strangers, so a rendering has a budget for everything (budget.rs), and a thread and stack of its own, as compiling
//! has; whatever goes wrong comes back as a status and one text. No global state.

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

use render::{Compiled, Failure, Status};

/// The compiler recurses over an expression; this is what the longest one that is let through needs, many times over.
/// Memory that is not touched is not used.
const STACK_BYTES: usize = 256 << 20;

/// Bytes that belong to the callee (arguments) or to the caller until lockstep_template_free (results).
#[repr(C)]
pub struct Bytes {
    data: *mut u8,
    size: usize,
}

/// A template that is compiled, or what was wrong with it, which each rendering tells.
pub struct Template(Result<Compiled, Failure>);

/// Compiles `source`, for lockstep_template_destroy to free.
///
/// # Safety
/// `source` points to that many readable bytes (or is empty).
#[no_mangle]
pub unsafe extern "C" fn lockstep_template_compile(source: Bytes) -> *mut Template {
    let compiled = text_of(&source).ok_or_else(not_utf8).and_then(|source| apart(|| Compiled::new(source)));
    Box::into_raw(Box::new(Template(compiled)))
}

/// Frees a template.
///
/// # Safety
/// `template` came from lockstep_template_compile and is destroyed once.
#[no_mangle]
pub unsafe extern "C" fn lockstep_template_destroy(template: *mut Template) {
    drop(Box::from_raw(template));
}

/// Renders `template` with the variables of the JSON object `variables`; `now` is YYYY-MM-DDTHH:MM:SS. Returns a
/// Status; `result` gets the text or the message, UTF-8 both. Safe to call from several threads.
///
/// # Safety
/// `template` came from lockstep_template_compile, `variables` and `now` point to that many readable bytes (or are
/// empty), `result` to memory for a `Bytes`.
#[no_mangle]
pub unsafe extern "C" fn lockstep_template_render(
    template: *const Template,
    variables: Bytes,
    now: Bytes,
    result: *mut Bytes,
) -> i32 {
    let rendered = match (&(*template).0, text_of(&variables), text_of(&now)) {
        (Err(failure), _, _) => Err(failure.clone()),
        (Ok(compiled), Some(variables), Some(now)) => apart(|| compiled.render(variables, now)),
        _ => Err(not_utf8()),
    };
    let (status, text) = match rendered {
        Ok(text) => (Status::Rendered, text),
        Err(failure) => failure,
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

fn not_utf8() -> Failure {
    (Status::BadInput, "the template or its input is not UTF-8".to_owned())
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
