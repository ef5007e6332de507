//! A compiled template in which every instruction is paid for. minijinja counts instructions; what one of them may cost
//! (doubling a text, comparing two huge lists) it does not bound. So instructions that can be expensive are replaced by,
//! or followed by, calls of the filters of guards.rs, whose names no template can spell.

use std::collections::BTreeMap;
use std::sync::Arc;

use minijinja::machinery::{
    tokenize, CompiledTemplate, Instruction, Instructions, TemplateConfig, Token, WhitespaceConfig,
};
use minijinja::value::Value;
use minijinja::{AutoEscape, Error, ErrorKind};

use crate::budget;

pub const CONCAT: &str = "lockstep:concat";
pub const ADD: &str = "lockstep:add";
pub const MULTIPLY: &str = "lockstep:multiply";
pub const SETTLE: &str = "lockstep:settle";
pub const PAY: &str = "lockstep:pay";
pub const MEMBER: &str = "lockstep:member";
pub const FILTER: &str = "lockstep:filter";
pub const TEST: &str = "lockstep:test";
pub const METHOD: &str = "lockstep:method";
/// The number 1 under a name that keeps the compiler from multiplying constants.
pub const ONE: &str = "lockstep_one";

/// Filters are looked up by name each time.
const NO_CACHE: u8 = !0;
/// Bounds the recursion of the compiler, which goes as deep as an expression has operators.
const MOST_TOKENS_OF_A_TAG: usize = 4000;

/// As transformers sets up Jinja: trim_blocks, lstrip_blocks, no trailing newline.
const WHITESPACE: WhitespaceConfig =
    WhitespaceConfig { keep_trailing_newline: false, lstrip_blocks: true, trim_blocks: true };

/// The text that is compiled in place of `source`: {% generation %} marks what transformers masks for training and is
/// otherwise transparent.
pub fn prepared_source(source: &str) -> Result<String, Error> {
    let source = without_generation_tags(source);
    let mut result = String::with_capacity(source.len());
    let mut copied = 0;
    let mut tokens_of_tag = 0;
    let mut after_operand = false;
    for token in tokenize(&source, false, Default::default(), WHITESPACE) {
        let (token, span) = token?;
        tokens_of_tag += 1;
        match token {
            Token::VariableStart | Token::BlockStart | Token::TemplateData(_) => tokens_of_tag = 0,
            // Constants are multiplied while compiling, before any budget is looked at: 'x' * 99999999.
            Token::Mul if after_operand => {
                let end = span.end_offset as usize;
                result.push_str(&source[copied..end]);
                result.push_str(ONE);
                result.push('*');
                copied = end;
            }
            _ => {}
        }
        if tokens_of_tag > MOST_TOKENS_OF_A_TAG {
            return Err(budget::exceed(format!("one tag of the template has more than {MOST_TOKENS_OF_A_TAG} words")));
        }
        // A star that no operand precedes spreads an argument: f(*list).
        after_operand = !matches!(token, Token::ParenOpen | Token::Comma);
    }
    result.push_str(&source[copied..]);
    Ok(result)
}

fn without_generation_tags(source: &str) -> String {
    let mut result = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(start) = rest.find("{%") {
        let (before, tag) = rest.split_at(start);
        result.push_str(before);
        let length = tag.find("%}").map_or(tag.len(), |end| end + 2);
        let (tag, after) = tag.split_at(length);
        let word = tag.trim_start_matches("{%").trim_end_matches("%}").trim_matches(['-', '+']).trim();
        match word {
            "generation" => result.push_str(&tag.replacen("generation", "with", 1)),
            "endgeneration" => result.push_str(&tag.replacen("endgeneration", "endwith", 1)),
            _ => result.push_str(tag),
        }
        rest = after;
    }
    result.push_str(rest);
    result
}

/// Compiles a prepared source.
pub fn compile(source: &str) -> Result<Instructions<'_>, Error> {
    let config = TemplateConfig {
        syntax_config: Default::default(),
        ws_config: WHITESPACE,
        default_auto_escape: Arc::new(|_: &str| AutoEscape::None),
    };
    let compiled = CompiledTemplate::new("chat template", source, &config)?;
    if !compiled.blocks.is_empty() {
        return Err(Error::new(ErrorKind::SyntaxError, "a chat template has no blocks"));
    }
    Ok(bounded(&compiled.instructions))
}

fn bounded<'source>(plain: &Instructions<'source>) -> Instructions<'source> {
    let mut groups = Vec::new();
    let mut places = BTreeMap::new();
    let mut next = 0u32;
    let mut index = 0u32;
    while let Some(instruction) = plain.get(index) {
        let group = replacement(instruction);
        places.insert(index, next);
        next += group.len() as u32;
        groups.push((group, plain.get_line(index).unwrap_or(0)));
        index += 1;
    }
    places.insert(index, next);
    let mut result = Instructions::new(plain.name(), plain.source());
    for (group, line) in groups {
        for mut instruction in group {
            if let Some(target) = jump_target(&mut instruction) {
                *target = places[target];
            }
            result.add_with_line(instruction, u16::try_from(line).unwrap_or(u16::MAX));
        }
    }
    result
}

fn jump_target<'i>(instruction: &'i mut Instruction<'_>) -> Option<&'i mut u32> {
    match instruction {
        Instruction::Iterate(target)
        | Instruction::Jump(target)
        | Instruction::JumpIfFalse(target)
        | Instruction::JumpIfFalseOrPop(target)
        | Instruction::JumpIfTrueOrPop(target)
        | Instruction::BuildMacro(_, target, _) => Some(target),
        _ => None,
    }
}

fn guard(name: &'static str, n_args: u16) -> Instruction<'static> {
    Instruction::ApplyFilter(name, Some(n_args), NO_CACHE)
}

/// The call `name` with `n` arguments as one of guard `through`, which gets the name as its last argument.
fn through<'s>(through: &'static str, name: &'s str, n: u16) -> Vec<Instruction<'s>> {
    vec![Instruction::LoadConst(Value::from(name)), guard(through, n + 1)]
}

/// A jump goes to the first instruction of a group.
fn replacement<'s>(instruction: &Instruction<'s>) -> Vec<Instruction<'s>> {
    use Instruction as I;
    match instruction {
        I::EmitRaw(text) => vec![I::LoadConst(Value::from(*text)), I::Emit],
        I::StringConcat => vec![guard(CONCAT, 2)],
        I::Add => vec![guard(ADD, 2)],
        I::Mul => vec![guard(MULTIPLY, 2)],
        I::ApplyFilter(name, Some(n), _) => through(FILTER, name, *n),
        I::PerformTest(name, Some(n), _) => through(TEST, name, *n),
        I::CallMethod(name, Some(n)) => through(METHOD, name, *n),
        I::ApplyFilter(_, None, _)
        | I::CallMethod(_, None)
        | I::CallFunction(..)
        | I::CallObject(_)
        | I::Slice
        | I::BuildList(_)
        | I::BuildMap(_) => vec![instruction.clone(), guard(SETTLE, 1)],
        I::Eq | I::Ne | I::Gt | I::Gte | I::Lt | I::Lte | I::In | I::CompareAndPreserve(_) => {
            vec![guard(PAY, 1), instruction.clone()]
        }
        I::SetAttr(_) => vec![I::Swap, guard(MEMBER, 1), I::Swap, instruction.clone()],
        _ => vec![instruction.clone()],
    }
}
