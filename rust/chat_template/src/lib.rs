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
mod template;

use render::{Failure, Status};
use template::Template;

/// Bytes that belong to the callee (arguments) or to the caller until lockstep_template_free (results).
#[repr(C)]
pub struct Bytes {
    data: *mut u8,
    size: usize,
}

/// A template of `source`, for lockstep_template_destroy to free. What is wrong with it is told by each rendering.
///
/// # Safety
/// `source` points to that many readable bytes (or is empty).
#[no_mangle]
pub unsafe extern "C" fn lockstep_template_create(source: Bytes) -> *mut Template {
    Box::into_raw(Box::new(Template::new(text_of(&source))))
}

/// Frees a template.
///
/// # Safety
/// `template` came from lockstep_template_create and is destroyed once.
#[no_mangle]
pub unsafe extern "C" fn lockstep_template_destroy(template: *mut Template) {
    drop(Box::from_raw(template));
}

/// Renders `template` with the variables of the JSON object `variables`; `now` is YYYY-MM-DDTHH:MM:SS. Returns a
/// Status; `result` gets the text or the message, UTF-8 both. Safe to call from several threads.
///
/// # Safety
/// `template` came from lockstep_template_create, `variables` and `now` point to that many readable bytes (or are
/// empty), `result` to memory for a `Bytes`.
#[no_mangle]
pub unsafe extern "C" fn lockstep_template_render(
    template: *const Template,
    variables: Bytes,
    now: Bytes,
    result: *mut Bytes,
) -> i32 {
    let input = text_of(&variables).and_then(|variables| Ok((variables, text_of(&now)?)));
    let (status, text) = match (*template).render(input) {
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

unsafe fn text_of(bytes: &Bytes) -> Result<&str, Failure> {
    if bytes.size == 0 {
        return Ok("");
    }
    std::str::from_utf8(std::slice::from_raw_parts(bytes.data, bytes.size))
        .map_err(|_| (Status::BadInput, "the template or its input is not UTF-8".to_owned()))
}
