//! The statics of an image, and what lies where in them, as its debug information says.

mod read;

use std::rc::Rc;

pub use read::statics;

/// The most types within each other that are looked into.
const DEPTH: usize = 32;

/// A static.
#[derive(Debug)]
pub struct Static {
    /// Its path.
    pub name: String,
    /// Where it was linked.
    pub address: u64,
    layout: Rc<Type>,
}

/// A type, as far as it says what lies where.
#[derive(Debug)]
struct Type {
    name: String,
    size: u64,
    parts: Parts,
}

#[derive(Debug)]
enum Parts {
    /// Each with its offset and name.
    Members(Vec<(u64, String, Rc<Type>)>),
    /// All alike.
    Elements(Rc<Type>),
    /// It is looked at as a whole.
    None,
}

impl Static {
    /// A word, in tests.
    #[cfg(test)]
    pub(crate) fn word(name: &str, address: u64) -> Self {
        let layout = Type {
            name: "u64".to_owned(),
            size: 8,
            parts: Parts::None,
        };
        Self {
            name: name.to_owned(),
            address,
            layout: Rc::new(layout),
        }
    }

    /// Whether this address is in it.
    #[must_use]
    pub fn holds(&self, address: u64) -> bool {
        address.wrapping_sub(self.address) < self.layout.size
    }

    /// Its name and type.
    #[must_use]
    pub fn title(&self) -> String {
        format!("{}: {}", self.name, self.layout.name)
    }

    /// What lies at this address, which it holds: the way there from the static, and the type. Empty if that is the static itself.
    #[must_use]
    pub fn part(&self, address: u64) -> String {
        let (mut offset, mut at) = (address.wrapping_sub(self.address), &self.layout);
        let mut path = String::new();
        for _ in 0..DEPTH {
            let next = match &at.parts {
                Parts::Members(members) => {
                    let holds = |start: u64, part: &Type| offset.wrapping_sub(start) < part.size;
                    let mut members = members.iter();
                    members.find(|(start, _, part)| holds(*start, part)).map(
                        |(start, name, part)| {
                            path += &format!(".{name}");
                            (offset - start, part)
                        },
                    )
                }
                Parts::Elements(element) if element.size > 0 => {
                    path += &format!("[{}]", offset / element.size);
                    Some((offset % element.size, element))
                }
                _ => None,
            };
            let Some((rest, part)) = next else {
                break;
            };
            (offset, at) = (rest, part);
        }
        match path.is_empty() {
            true => path,
            false => format!("{path}: {}", at.name),
        }
    }
}
