//! The shape of a device tree: whether its parts lie inside it (Devicetree Specification, 5 "Flattened Devicetree (DTB) Format").

/// How deep nodes may lie: as deep as `fdt-raw` can go.
const DEEPEST: usize = 15;

/// Offsets of words in the header.
const STRUCTURE: usize = 8;
const STRINGS: usize = 12;
const STRINGS_SIZE: usize = 32;

/// Tokens of the structure.
const BEGIN_NODE: u32 = 1;
const END_NODE: u32 = 2;
const PROPERTY: u32 = 3;
const NOTHING: u32 = 4;
const END: u32 = 9;

/// Some if offsets, sizes and nodes of the tree are sound.
pub(super) fn check(tree: &[u8]) -> Option<()> {
    let strings = tree.get(number(tree, STRINGS)?..)?;
    let strings = strings.get(..number(tree, STRINGS_SIZE)?)?;
    let structure = number(tree, STRUCTURE)?;
    let mut rest = tree.get(structure..)?;
    if !structure.is_multiple_of(4) {
        return None;
    }
    let mut depth = 0_usize;
    loop {
        match take_word(&mut rest)? {
            BEGIN_NODE => {
                depth = depth.checked_add(1).filter(|depth| *depth <= DEEPEST)?;
                let name = rest.iter().position(|byte| *byte == 0)?;
                skip(&mut rest, name.checked_add(1)?)?;
            }
            END_NODE => depth = depth.checked_sub(1)?,
            PROPERTY => {
                let size = take_word(&mut rest)?;
                let name = take_word(&mut rest)?;
                strings.get(usize::try_from(name).ok()?..)?;
                skip(&mut rest, usize::try_from(size).ok()?)?;
            }
            NOTHING => {}
            END => return (depth == 0).then_some(()),
            _ => return None,
        }
    }
}

/// The word at this offset, which is an offset or a size.
fn number(tree: &[u8], at: usize) -> Option<usize> {
    let word = tree.get(at..)?.first_chunk()?;
    usize::try_from(u32::from_be_bytes(*word)).ok()
}

fn take_word(rest: &mut &[u8]) -> Option<u32> {
    let (word, after) = rest.split_first_chunk()?;
    *rest = after;
    Some(u32::from_be_bytes(*word))
}

/// Skips so many bytes, and those that fill their last word.
fn skip(rest: &mut &[u8], size: usize) -> Option<()> {
    *rest = rest.get(size.checked_next_multiple_of(4)?..)?;
    Some(())
}
