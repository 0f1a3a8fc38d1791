//! The edges between instructions, by where they lead.

/// The instructions that lead to each one.
#[derive(Debug, Default)]
pub struct Predecessors {
    /// For each instruction: where those that lead to it start in `all`, and at last the end.
    starts: Vec<u32>,
    all: Vec<u32>,
}

impl Predecessors {
    /// Sorts edges between `count` instructions, from one to the other each, by where they lead.
    #[must_use]
    pub fn of_edges(count: usize, edges: &[(u32, u32)]) -> Self {
        let mut starts = vec![0; count + 2];
        for (_, to) in edges {
            starts[*to as usize + 2] += 1;
        }
        for number in 2..starts.len() {
            starts[number] += starts[number - 1];
        }
        let mut all = vec![0; edges.len()];
        for (from, to) in edges {
            let place = &mut starts[*to as usize + 1];
            all[*place as usize] = *from;
            *place += 1;
        }
        starts.pop();
        Self { starts, all }
    }

    /// The instructions that lead to one.
    #[must_use]
    pub fn of(&self, number: u32) -> &[u32] {
        let at = number as usize;
        &self.all[self.starts[at] as usize..self.starts[at + 1] as usize]
    }
}
