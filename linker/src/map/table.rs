//! Writes a whole map: header, regions, rules, pages, changes, checksum.

use std::collections::HashMap;

use unwind::map::format;

use super::changes::{Change, changes};
use super::regions::regions;
use super::rule::{Numbers, Stored};
use super::unfit::Unfit;
use crate::architecture::Architecture;
use crate::code_checksums::CodeChecksums;
use crate::function::Function;
use crate::sframe::Out;
use crate::stack_pointers::StackPointers;
use crate::unproven::Unproven;

/// A map before its address is known. Its size does not depend on the address, so that the linker can place it first.
#[derive(Clone, Debug)]
pub struct Map {
    architecture: &'static Architecture,
    /// The last code of a rule that begins no function.
    plain: u8,
    regions: Vec<Region>,
    rules: Vec<Stored>,
    /// The number of each long rule among the long ones.
    long: HashMap<Stored, u16>,
    /// The number of a change, and that of its rule.
    exceptions: Vec<(u32, u32)>,
    pages: Vec<Page>,
    /// Place in its block, code.
    changes: Vec<[u8; 2]>,
    /// Whether the map contains a proof.
    is_proven: bool,
    /// The stack pointers of code without a caller.
    stack_pointers: StackPointers,
    code: CodeChecksums,
}

#[derive(Clone, Debug)]
struct Region {
    start: u64,
    first_page: u32,
    pages: u32,
}

#[derive(Clone, Debug)]
struct Page {
    first_change: u32,
    /// How many changes of the page come before each block, and before the block after the last one.
    passed: [u16; format::BLOCKS as usize + 1],
}

/// A rule, and whether a function begins with it.
type Key = (bool, Stored);

impl Map {
    /// Makes the map of `functions`, in ascending order. Without a list of unproven ranges, the map contains no proof.
    ///
    /// # Errors
    /// Returns an error if a map cannot express a function. The image then needs `.sframe`.
    pub fn new(
        architecture: &'static Architecture,
        functions: &[Function],
        unproven: Option<&Unproven>,
    ) -> Result<Self, Unfit> {
        // Where there is a `.sframe`, both say the same.
        let joins = architecture.abi.is_none();
        let changes = changes(
            functions,
            architecture.unit,
            architecture.word.into(),
            joins,
            unproven.unwrap_or(&Unproven::default()),
        )?;
        let (rules, in_bytes, plain) = numbered(&changes);
        let mut map = Self {
            architecture,
            plain,
            regions: Vec::new(),
            rules: rules.iter().map(|&(_, rule)| rule).collect(),
            long: HashMap::new(),
            exceptions: Vec::new(),
            pages: Vec::new(),
            changes: Vec::with_capacity(changes.len()),
            is_proven: unproven.is_some(),
            stack_pointers: StackPointers::default(),
            code: CodeChecksums::default(),
        };
        for rule in &map.rules {
            if let Numbers::Long(..) = rule.numbers {
                let next = u16::try_from(map.long.len()).map_err(|_| Unfit::TooManyRules)?;
                map.long.entry(*rule).or_insert(next);
            }
        }
        let number_of: HashMap<Key, usize> = rules.into_iter().zip(0..).collect();
        let code = |change: &Change| {
            let number = number_of[&(change.begins, change.rule)];
            match u8::try_from(number + 1) {
                Ok(code) if number < in_bytes => (code, None),
                _ if change.begins => (format::EXCEPTION_BEGINS, Some(number)),
                _ => (format::EXCEPTION, Some(number)),
            }
        };
        for region in regions(&changes, architecture.unit)? {
            map.add(region, &code)?;
        }
        let size = u32::try_from(map.size()).map_err(|_| Unfit::TooLarge)?;
        // Numbers of entries are smaller than bytes.
        (size < u32::MAX).then_some(map).ok_or(Unfit::TooLarge)
    }

    /// Adds the changes of a region.
    fn add(
        &mut self,
        changes: &[Change],
        code: &impl Fn(&Change) -> (u8, Option<usize>),
    ) -> Result<(), Unfit> {
        let (Some(first), Some(last)) = (changes.first(), changes.last()) else {
            return Ok(());
        };
        let unit = self.architecture.unit;
        let units = |change: &Change| (change.address - first.address) >> unit;
        let pages = u32::try_from(units(last) / format::PAGE + 1).map_err(|_| Unfit::TooLarge)?;
        self.regions.push(Region {
            start: first.address,
            first_page: u32::try_from(self.pages.len()).map_err(|_| Unfit::TooLarge)?,
            pages,
        });
        let mut rest = changes;
        for page in 0..u64::from(pages) {
            let first_change = self.changes.len();
            let mut passed = [0; format::BLOCKS as usize + 1];
            for (block, passed) in passed.iter_mut().skip(1).enumerate() {
                let number = page * format::BLOCKS + block as u64;
                let is_inside = |change: &Change| units(change) / format::BLOCK == number;
                let count = rest.iter().take_while(|change| is_inside(change)).count();
                let (inside, others) = rest.split_at(count);
                rest = others;
                for change in inside {
                    let (code, exception) = code(change);
                    if let Some(rule) = exception {
                        let number = self.changes.len() as u32;
                        self.exceptions.push((number, rule as u32));
                    }
                    self.changes.push([units(change) as u8, code]);
                }
                // A page has 4,096 units, and at most as many changes.
                *passed = (self.changes.len() - first_change) as u16;
            }
            self.pages.push(Page {
                first_change: u32::try_from(first_change).map_err(|_| Unfit::TooLarge)?,
                passed,
            });
        }
        Ok(())
    }

    /// Size of the section, in bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        format::HEADER_SIZE
            + self.regions.len() * format::REGION_SIZE
            + self.rules.len() * format::RULE_SIZE
            + self.long.len() * format::LONG_RULE_SIZE
            + self.exceptions.len() * format::EXCEPTION_SIZE
            + self.pages.len() * (format::PAGE_SIZE + format::BLOCKS_SIZE)
            + self.changes.len() * format::CHANGE_SIZE
            + self.kept().len() * format::KEPT_SIZE
            + self.stack_pointers.size()
            + self.code.size()
            + format::CHECKSUM_SIZE
    }

    /// Sets the stack pointers of code without a caller.
    #[must_use]
    pub fn with_stack_pointers(self, stack_pointers: StackPointers) -> Self {
        Self {
            stack_pointers,
            ..self
        }
    }

    /// Sets the checksums of the image's code.
    #[must_use]
    pub fn with_code(self, code: CodeChecksums) -> Self {
        Self { code, ..self }
    }

    /// The rules of which it says where further registers are: all of them, where the architecture has such.
    fn kept(&self) -> &[Stored] {
        match self.architecture.kept.is_empty() {
            true => &[],
            false => &self.rules,
        }
    }

    /// How many rules it has.
    #[must_use]
    pub fn rule_count(&self) -> usize {
        self.rules.len()
    }

    /// The bytes of the section at an address.
    #[must_use]
    pub fn to_bytes(&self, address: u64) -> Vec<u8> {
        let mut out = Out {
            bytes: Vec::with_capacity(self.size()),
            little: !self.architecture.is_big_endian(),
        };
        out.u32(format::MAGIC);
        out.u8(format::VERSION);
        out.u8(self.architecture.abi.map_or(format::ARM, |abi| abi as u8));
        out.u8(self.architecture.unit);
        out.u8(self.plain);
        for count in [
            self.size(),
            self.regions.len(),
            self.rules.len(),
            self.long.len(),
            self.exceptions.len(),
            self.pages.len(),
            self.changes.len(),
        ] {
            out.size(count);
        }
        let flags = [
            (self.is_proven, format::PROVEN),
            (self.code.size() > 0, format::CODE_CHECKSUMS),
            (self.stack_pointers.count() > 0, format::STACK_POINTERS),
        ];
        out.u32(
            flags
                .iter()
                .filter(|(is_set, _)| *is_set)
                .map(|(_, flag)| flag)
                .sum(),
        );
        out.u64(address);
        for region in &self.regions {
            out.u64(region.start.wrapping_sub(address));
            out.u32(region.first_page);
            out.u32(region.pages);
        }
        for rule in &self.rules {
            out.u16(rule.flags);
            let numbers = match rule.numbers {
                Numbers::Short(numbers) => numbers.map(i16::cast_unsigned),
                Numbers::Long(..) => [self.long[rule], 0, 0],
            };
            numbers.into_iter().for_each(|number| out.u16(number));
        }
        let mut long: Vec<_> = self.long.iter().collect();
        long.sort_by_key(|(_, number)| **number);
        for (rule, _) in long {
            if let Numbers::Long(registers, offsets) = rule.numbers {
                let offsets = offsets.map(i32::cast_unsigned);
                registers
                    .into_iter()
                    .chain(offsets)
                    .for_each(|word| out.u32(word));
            }
        }
        for &(change, rule) in &self.exceptions {
            out.u32(change);
            out.u32(rule);
        }
        for page in &self.pages {
            page.passed.into_iter().for_each(|count| out.u16(count));
        }
        for page in &self.pages {
            let [.., count] = page.passed;
            out.u32(page.first_change);
            out.u16(count);
        }
        out.bytes.extend_from_slice(self.changes.as_flattened());
        for rule in self.kept() {
            out.bytes.extend_from_slice(&rule.kept);
            out.u8(0);
        }
        out.stack_pointers(&self.stack_pointers, address);
        out.code_checksums(&self.code, address);
        let checksum = crc32fast::hash(&out.bytes);
        out.u32(checksum);
        out.bytes
    }
}

/// All rules of changes in the order of their numbers; how many of them a byte names: the commonest; and how many of these begin no
/// function, which have the first numbers.
fn numbered(changes: &[Change]) -> (Vec<Key>, usize, u8) {
    let mut counts: HashMap<Key, usize> = HashMap::new();
    for change in changes {
        *counts.entry((change.begins, change.rule)).or_default() += 1;
    }
    let mut rules: Vec<(Key, usize)> = counts.into_iter().collect();
    rules.sort_by_key(|&(rule, count)| (std::cmp::Reverse(count), rule));
    let mut rules: Vec<Key> = rules.into_iter().map(|(rule, _)| rule).collect();
    let in_bytes = rules.len().min(format::CODES);
    let (commonest, _) = rules.split_at_mut(in_bytes);
    commonest.sort_by_key(|&(begins, _)| begins);
    let plain = commonest.iter().filter(|(begins, _)| !begins).count();
    (rules, in_bytes, plain as u8)
}
