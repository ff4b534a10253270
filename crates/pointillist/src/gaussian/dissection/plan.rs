//! The order in which the nodes of a lattice are eliminated, and where every number goes: all that depends on the lattice alone, made once for it.
//!
//! A box of nodes is cut across its longest axis by a separator as wide as the stencil reaches, so that what is on one side says nothing of
//! the other given the separator; then each half in the same way, down to small boxes. A front is a separator, or a small box: its columns
//! are its nodes J, its rows J and R, the later nodes that J says something of once all before is eliminated. R of a front lies within J and
//! R of its parent. Nodes are numbered in the order of elimination ("positions"), so that the nodes of a subtree are a range.

use super::spare::Kept;
use std::ops::Range;

/// A box with at most so many nodes is not cut.
const LEAF: usize = 32;

/// Which rows of a front are rows of its parent, one after another.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run {
    /// The first of them in R.
    pub(super) own: usize,
    /// The same in J and R of the parent.
    pub(super) parent: usize,
    pub(super) length: usize,
}

/// One dense step of the elimination.
#[derive(Debug)]
pub(super) struct Front {
    /// Which of the fronts it is.
    pub(super) number: usize,
    /// The position of the first node of J.
    pub(super) first: usize,
    /// |J|.
    pub(super) cols: usize,
    /// The positions of R, rising.
    pub(super) below: Vec<u32>,
    /// The fronts that come before this one alone, by number; the last is just before it.
    pub(super) children: Vec<usize>,
    /// The first front of the subtree that ends here.
    pub(super) subtree: usize,
    /// R in the parent's front.
    pub(super) runs: Vec<Run>,
    /// Its numbers in `Plan::sources` and `Plan::targets`.
    pub(super) entries: Range<usize>,
    /// Products and sums that this subtree takes.
    pub(super) work: f64,
}

impl Front {
    /// The positions of J.
    fn columns(&self) -> Range<usize> {
        self.first..self.first + self.cols
    }

    /// |J| + |R|.
    pub(super) fn rows(&self) -> usize {
        self.cols + self.below.len()
    }
}

/// The elimination of the nodes of a lattice.
pub(crate) struct Plan {
    /// The diagonals of a matrix for which it is made.
    pub(super) shifts: Vec<usize>,
    /// The node at each position.
    pub(super) order: Vec<u32>,
    /// Children before parents; the last one is the root.
    pub(super) fronts: Vec<Front>,
    /// Where the lower triangle of each front's columns is among the numbers of the matrix …
    pub(super) sources: Vec<u32>,
    /// … and in the columns of the front.
    pub(super) targets: Vec<u32>,
    /// Memory to work in.
    pub(super) kept: Kept,
}

impl PartialEq for Plan {
    fn eq(&self, other: &Self) -> bool {
        (&self.shifts, &self.order) == (&other.shifts, &other.order)
    }
}

impl std::fmt::Debug for Plan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Plan of {} nodes in {} fronts", self.order.len(), self.fronts.len())
    }
}

/// A box of nodes.
type Part = [Range<usize>; 3];

/// The positions and fronts so far.
struct Numbering<'a> {
    /// How far the stencil leads along each axis.
    reach: [usize; 3],
    strides: [usize; 3],
    order: &'a mut Vec<u32>,
    fronts: &'a mut Vec<Front>,
}

impl Plan {
    /// For a lattice with so many nodes along its axes, the last one the fastest, and a matrix that is not zero at these offsets: the half that
    /// leads to larger indices, all of them not wider than the lattice.
    pub(crate) fn new(nodes: [usize; 3], offsets: &[[isize; 3]]) -> Self {
        let strides = [nodes[1] * nodes[2], nodes[2], 1];
        let shift = |offset: &[isize; 3]| (0..3).map(|r| offset[r] * strides[r] as isize).sum::<isize>() as usize;
        let mut shifts: Vec<usize> = offsets.iter().map(shift).chain([0]).collect();
        shifts.sort_unstable();
        shifts.dedup();
        let along = |r: usize| offsets.iter().map(|offset| offset[r].unsigned_abs()).max().unwrap_or(1).max(1);
        let reach = [0, 1, 2].map(along);
        let (mut order, mut fronts) = (Vec::with_capacity(nodes.iter().product()), vec![]);
        let mut numbering = Numbering { reach, strides, order: &mut order, fronts: &mut fronts };
        numbering.cut(nodes.map(|n| 0..n));
        let mut plan = Self { shifts, order, fronts, sources: vec![], targets: vec![], kept: Kept::default() };
        plan.fill_in(nodes, offsets);
        plan.relate();
        plan
    }

    /// Number of nodes.
    pub(crate) fn size(&self) -> usize {
        self.order.len()
    }

    /// The diagonals for which it is made.
    pub(crate) fn shifts(&self) -> &[usize] {
        &self.shifts
    }

    /// R of each front, and where the numbers of the matrix go.
    fn fill_in(&mut self, nodes: [usize; 3], offsets: &[[isize; 3]]) {
        let size = self.size();
        let mut positions = vec![0u32; size];
        self.order.iter().enumerate().for_each(|(position, node)| positions[*node as usize] = position as u32);
        let stencil = self.stencil(nodes, offsets);
        // The row of each position in the present front, and the last front that met it.
        let (mut row_of, mut met_by) = (vec![0; size], vec![usize::MAX; size]);
        let mut neighbours = vec![];
        for s in 0..self.fronts.len() {
            let columns = self.fronts[s].columns();
            let mut below: Vec<u32> = vec![];
            let mut meet = |position: u32| {
                let is_new = std::mem::replace(&mut met_by[position as usize], s) != s;
                if is_new && position as usize >= columns.end {
                    below.push(position);
                }
            };
            for &c in &self.fronts[s].children {
                self.fronts[c].below.iter().for_each(|position| meet(*position));
            }
            for position in columns.clone() {
                stencil.around(self.order[position] as usize, &mut neighbours);
                neighbours.iter().for_each(|(node, _)| meet(positions[*node]));
            }
            below.sort_unstable();
            columns.clone().enumerate().for_each(|(row, position)| row_of[position] = row);
            below.iter().enumerate().for_each(|(row, position)| row_of[*position as usize] = columns.len() + row);
            let (from, rows) = (self.sources.len(), columns.len() + below.len());
            for (col, position) in columns.enumerate() {
                stencil.around(self.order[position] as usize, &mut neighbours);
                for &(node, source) in neighbours.iter().filter(|(node, _)| positions[*node] as usize >= position) {
                    self.sources.push(source as u32);
                    self.targets.push((col * rows + row_of[positions[node] as usize]) as u32);
                }
            }
            self.fronts[s].below = below;
            self.fronts[s].entries = from..self.sources.len();
        }
    }

    fn stencil(&self, nodes: [usize; 3], offsets: &[[isize; 3]]) -> Stencil {
        let strides = [nodes[1] * nodes[2], nodes[2], 1];
        let legs = offsets.iter().filter(|offset| **offset != [0; 3]).map(|&offset| {
            let shift = (0..3).map(|r| offset[r] * strides[r] as isize).sum::<isize>() as usize;
            (offset, shift, self.shifts.binary_search(&shift).unwrap_or_default())
        });
        Stencil { nodes, strides, legs: legs.collect() }
    }

    /// R of each front in its parent's, and what subtrees cost.
    fn relate(&mut self) {
        for s in 0..self.fronts.len() {
            let mut work = flops(self.fronts[s].cols, self.fronts[s].below.len());
            for c in self.fronts[s].children.clone() {
                self.fronts[c].runs = runs(&self.fronts[c].below, &self.fronts[s]);
                work += self.fronts[c].work;
            }
            self.fronts[s].work = work;
        }
    }

    /// Numbers in L.
    pub(super) fn entries(&self) -> usize {
        self.fronts.iter().map(|front| front.cols * front.rows()).sum()
    }

    /// Products and sums of the factor and of the inverse.
    pub(crate) fn work(&self) -> f64 {
        self.fronts.last().map_or(0.0, |root| root.work)
    }
}

/// Products and sums of one front: its factor, and its part of the inverse.
pub(super) fn flops(cols: usize, below: usize) -> f64 {
    let (j, r) = (cols as f64, below as f64);
    let factor = j * j * j / 3.0 + j * j * r + j * r * r;
    let inverse = j * j * j * 2.0 / 3.0 + 2.0 * j * j * r + 2.0 * j * r * r;
    factor + inverse
}

/// Where R of a child lies in a front.
fn runs(below: &[u32], parent: &Front) -> Vec<Run> {
    let (mut runs, mut at): (Vec<Run>, usize) = (vec![], 0);
    for (own, &position) in below.iter().enumerate() {
        let place = match (position as usize).checked_sub(parent.first).filter(|place| *place < parent.cols) {
            Some(place) => place,
            None => {
                while parent.below[at] < position {
                    at += 1;
                }
                parent.cols + at
            }
        };
        match runs.last_mut() {
            Some(run) if run.parent + run.length == place => run.length += 1,
            _ => runs.push(Run { own, parent: place, length: 1 }),
        }
    }
    runs
}

/// The neighbours of a node.
struct Stencil {
    nodes: [usize; 3],
    strides: [usize; 3],
    /// Offset, shift, and the place of that among the diagonals; without that of the node itself.
    legs: Vec<([isize; 3], usize, usize)>,
}

impl Stencil {
    /// A node and its neighbours, each with the place of the pair among the numbers of the matrix.
    fn around(&self, node: usize, out: &mut Vec<(usize, usize)>) {
        let size: usize = self.nodes.iter().product();
        let at = [node / self.strides[0], node / self.strides[1] % self.nodes[1], node % self.nodes[2]];
        let is_there = |offset: &[isize; 3], sign: isize| {
            (0..3).all(|r| at[r].checked_add_signed(sign * offset[r]).is_some_and(|i| i < self.nodes[r]))
        };
        out.clear();
        out.push((node, node));
        for (offset, shift, place) in &self.legs {
            if is_there(offset, 1) {
                out.push((node + shift, place * size + node));
            }
            if is_there(offset, -1) {
                out.push((node - shift, place * size + node - shift));
            }
        }
    }
}

impl Numbering<'_> {
    /// Numbers the nodes of a box, and returns its last front.
    fn cut(&mut self, part: Part) -> usize {
        let subtree = self.fronts.len();
        let lengths = [0, 1, 2].map(|r| part[r].len());
        match cut_at(lengths, self.reach) {
            None => self.front(part, 2, subtree, vec![]),
            Some((axis, [before, width])) => {
                let middle = part[axis].start + before;
                let with = |range: Range<usize>| {
                    let mut part = part.clone();
                    part[axis] = range;
                    part
                };
                let left = self.cut(with(part[axis].start..middle));
                let right = self.cut(with(middle + width..part[axis].end));
                self.front(with(middle..middle + width), axis, subtree, vec![left, right])
            }
        }
    }

    /// A front of all nodes of a box, neighbours along `fastest` next to each other: what a part of the box says something of then is few runs.
    fn front(&mut self, part: Part, fastest: usize, subtree: usize, children: Vec<usize>) -> usize {
        let first = self.order.len();
        let axes = match fastest {
            0 => [1, 2, 0],
            1 => [0, 2, 1],
            _ => [0, 1, 2],
        };
        for i in part[axes[0]].clone() {
            for j in part[axes[1]].clone() {
                for k in part[axes[2]].clone() {
                    let node = i * self.strides[axes[0]] + j * self.strides[axes[1]] + k * self.strides[axes[2]];
                    self.order.push(node as u32);
                }
            }
        }
        let cols = self.order.len() - first;
        let (below, runs, entries) = (vec![], vec![], 0..0);
        let number = self.fronts.len();
        self.fronts.push(Front { number, first, cols, below, children, subtree, runs, entries, work: 0.0 });
        number
    }
}

/// Across which axis a box is cut, and how many nodes lie before the separator and in it; none for a box that is not cut.
pub(super) fn cut_at(lengths: [usize; 3], reach: [usize; 3]) -> Option<(usize, [usize; 2])> {
    // An axis along which all nodes are related is never cut: it is a few numbers at each node of the other axes.
    let axis = (0..3).rev().filter(|&r| lengths[r] > 1 + reach[r]).max_by_key(|&r| lengths[r])?;
    let is_small = lengths.iter().product::<usize>() <= LEAF;
    (!is_small && lengths[axis] > 2 + reach[axis]).then(|| (axis, [(lengths[axis] - reach[axis]) / 2, reach[axis]]))
}
