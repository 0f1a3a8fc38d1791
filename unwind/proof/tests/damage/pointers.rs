//! Odd stack pointers, wild frame pointers, and pages that are not there. What must hold of each read is checked where it is
//! made: it is aligned, and inside of a stack.

use std::cell::{Cell, RefCell};

use unwind::sframe::Tables;
use unwind::{End, Range};

use crate::damage::capture::Situation;
use crate::damage::earlier::{self, Moment};
use crate::damage::history::History;
use crate::damage::walk::{List, View, walk_from};

const PAGE: u64 = 1 << 12;

/// The words that a frame reads at most: three by its row, three by fallbacks, and three registers of a trap frame.
const READS_OF_FRAME: u64 = 9;
/// And those of a scan.
const READS_OF_SCAN: u64 = 4096;

/// Tries all of it.
pub fn try_all(situation: &Situation) {
    let tables = Tables::new(&situation.tables.bytes, situation.tables.address);
    let tables = tables.verified(tables.verify());
    let truth = Reads::of(situation, tables);
    truth.pages(situation, tables);
    wild(situation, tables, &truth);
}

/// Has gdb find the situation's own list among all entries of functions, and not find it with another return address: what
/// excuses a list of [`wild`] tells one that was from one that was not.
pub fn find_truth(situation: &Situation) {
    let tables = Tables::new(&situation.tables.bytes, situation.tables.address);
    let tables = tables.verified(tables.verify());
    let truth = Reads::of(situation, tables);
    let history = History::read(situation);
    let now = Moment::of(situation, &history, &truth.list, &truth.words);
    earlier::expect_all(situation, now.expect("the truth has a moment"), &[]);
}

/// The list, and the words that were read for it.
struct Reads {
    list: List,
    words: Vec<u64>,
}

impl Reads {
    fn of(situation: &Situation, tables: Tables<'_>) -> Self {
        let words = RefCell::new(Vec::new());
        let view = View {
            registers: situation.registers,
            stacks: &situation.stacks,
            reads: &|address| {
                words.borrow_mut().push(address);
                true
            },
        };
        let list = walk_from(situation, tables, &situation.words, &view);
        let (mut words, frames) = (words.into_inner(), list.places.len());
        // Of each caller at least the return address.
        let name = &situation.name;
        assert!(words.len() + 1 >= frames, "{name}: {} reads", words.len());
        words.sort_unstable();
        words.dedup();
        Self { list, words }
    }

    /// Without any one of these words there is no other complete list: if it cannot be read, if the stacks are declared without
    /// it, or without its page. Registers of a trap frame may be missing, because they are rarely needed.
    fn pages(&self, situation: &Situation, tables: Tables<'_>) {
        let name = &situation.name;
        let (mut same, mut incomplete) = (0, 0);
        for &word in &self.words {
            let page = word & !(PAGE - 1);
            let hole = |start, end| without(&situation.stacks, start, end);
            for (stacks, readable) in [
                (situation.stacks.clone(), false),
                (hole(word, word + 8), true),
                (hole(page, page + PAGE), true),
            ] {
                let view = View {
                    registers: situation.registers,
                    stacks: &stacks,
                    reads: &|address| readable || address != word,
                };
                let list = walk_from(situation, tables, &situation.words, &view);
                if matches!(list.end, End::Complete | End::User(_)) {
                    assert_eq!(list.places, self.list.places, "{name}: without {word:#x}");
                    same += 1;
                } else {
                    incomplete += 1;
                }
            }
        }
        println!(
            "{name}: a word that is not there: {same} complete and right, {incomplete} incomplete"
        );
        assert!(incomplete > same, "{name}: most words are needed");
    }
}

/// The stacks without this range.
fn without(stacks: &[Range], start: u64, end: u64) -> Vec<Range> {
    let pieces = stacks.iter().flat_map(|stack| {
        [
            Range::new(stack.start, stack.end.min(start).max(stack.start)),
            Range::new(stack.start.max(end).min(stack.end), stack.end),
        ]
    });
    pieces.filter(|piece| piece.start < piece.end).collect()
}

/// Any stack pointer with any frame pointer, at each function of the list and at an address without code: a walk ends, after so
/// many reads at most. It is complete only by the right list, or by a part of it; or by one that was right before, whose words nothing has
/// overwritten since.
fn wild(situation: &Situation, tables: Tables<'_>, truth: &Reads) {
    let history = History::read(situation);
    let (truth, words) = (&truth.list, &truth.words);
    let [_, sp, fp, lr] = situation.registers;
    let mut pointers = vec![
        0,
        1,
        7,
        8,
        1 << 47,
        i64::MAX as u64,
        1 << 63,
        u64::MAX - 7,
        u64::MAX,
    ];
    for edge in situation
        .stacks
        .iter()
        .flat_map(|stack| [stack.start, stack.end])
    {
        let offsets = [0, 1, 4, 7, 8, 9, 16, PAGE - 8, PAGE];
        pointers.extend(offsets.map(|offset| edge + offset));
        pointers.extend(offsets.map(|offset| edge - offset));
    }
    for pointer in [sp, fp] {
        pointers.extend((0..=24).map(|offset| pointer.wrapping_add(offset)));
        pointers.extend((1..=24).map(|offset| pointer.wrapping_sub(offset)));
    }
    let mut places: Vec<_> = truth.places.iter().map(|place| place.lookup_pc()).collect();
    places.extend([0, situation.code.address - 1, u64::MAX]);
    let (cases, complete, most) = (Cell::new(0_u64), Cell::new(0_u64), Cell::new(0));
    let (mut moments, mut of_before) = (Vec::new(), 0);
    for pc in places {
        for (one, other) in pointers
            .iter()
            .flat_map(|&wild| [(wild, fp), (sp, wild), (wild, wild), (wild, !wild)])
        {
            let reads = RefCell::new(Vec::new());
            let view = View {
                registers: [pc, one, other, lr],
                stacks: &situation.stacks,
                reads: &|address| {
                    reads.borrow_mut().push(address);
                    true
                },
            };
            let list = walk_from(situation, tables, &situation.words, &view);
            let reads = reads.into_inner();
            let bound = READS_OF_FRAME * list.places.len() as u64 + READS_OF_SCAN;
            let count = reads.len() as u64;
            assert!(count <= bound, "{count} reads, not {bound}");
            cases.set(cases.get() + 1);
            most.set(most.get().max(count));
            if matches!(list.end, End::Complete | End::User(_)) {
                complete.set(complete.get() + 1);
                let (first, rest) = list.places.split_first().expect("a frame");
                assert_eq!(first.pc, pc);
                // The outermost frame alone, or what called it.
                let ends_as_truth = rest.iter().rev().zip(truth.places.iter().rev());
                let ends_as_truth = ends_as_truth.filter(|(one, other)| one.pc == other.pc);
                if ends_as_truth.count() != rest.len() {
                    let moment = Moment::of(situation, &history, &list, &reads);
                    let name = &situation.name;
                    let moment =
                        moment.unwrap_or_else(|error| panic!("{name}: {error}: {list:x?}"));
                    moments.push((moment, format!("{list:x?}")));
                    of_before += 1;
                }
            }
        }
    }
    moments.sort();
    moments.dedup_by(|one, other| one.0 == other.0);
    if !moments.is_empty() {
        let now = Moment::of(situation, &history, truth, words).expect("the truth has a moment");
        earlier::expect_all(situation, now, &moments);
    }
    println!(
        "{}: {} wild pointers, {} lists complete, {of_before} of them with the callers of {} moments before, the others with the \
         truth's; at most {} reads",
        situation.name,
        cases.get(),
        complete.get(),
        moments.len(),
        most.get()
    );
}
