//! What the elimination of a lattice costs, from its numbers of nodes alone: boxes of the same shape cost the same, and there are few shapes.

use super::plan::{cut_at, flops};
use std::collections::HashMap;

/// What a factor and the inverse between neighbours cost.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Cost {
    /// Products and sums.
    pub(crate) work: f64,
    /// Numbers in L.
    pub(crate) entries: f64,
    /// Fronts.
    pub(crate) fronts: f64,
    /// Most numbers in the fronts from the root to a leaf.
    pub(crate) path: f64,
    /// Numbers in the columns of the largest front.
    pub(crate) largest: f64,
}

/// A box of nodes, and how many of its two sides along each axis have nodes beyond them.
type Shape = ([usize; 3], [usize; 3]);

/// Of a lattice with so many nodes along its axes, and a stencil with legs of `reach` in all along its axes.
pub(crate) fn cost(nodes: [usize; 3], reach: usize) -> Cost {
    Boxes { reach, known: HashMap::new() }.cost((nodes, [0; 3]))
}

struct Boxes {
    reach: usize,
    known: HashMap<Shape, Cost>,
}

impl Boxes {
    fn cost(&mut self, shape: Shape) -> Cost {
        if let Some(cost) = self.known.get(&shape) {
            return *cost;
        }
        let (lengths, open) = shape;
        let below = around(lengths, open, self.reach);
        let cost = match cut_at(lengths, [self.reach; 3]) {
            None => front(lengths.iter().product(), below),
            Some((axis, [before, width])) => {
                let part = |length: usize, of_two: usize| {
                    let (mut lengths, mut open) = (lengths, open);
                    (lengths[axis], open[axis]) = (length, 1 + of_two);
                    (lengths, open)
                };
                // Of one open side, it is as often that of the first half as of the second.
                let sides = [open[axis] / 2, open[axis].div_ceil(2)];
                let first = self.cost(part(before, sides[0]));
                let second = self.cost(part(lengths[axis] - before - width, sides[1]));
                let own = front(width * lengths.iter().product::<usize>() / lengths[axis], below);
                Cost {
                    work: own.work + first.work + second.work,
                    entries: own.entries + first.entries + second.entries,
                    fronts: own.fronts + first.fronts + second.fronts,
                    path: own.path + first.path.max(second.path),
                    largest: own.largest.max(first.largest).max(second.largest),
                }
            }
        };
        self.known.insert(shape, cost);
        cost
    }
}

fn front(cols: usize, below: usize) -> Cost {
    let (j, r) = (cols as f64, below as f64);
    let columns = j * (j + r);
    Cost { work: flops(cols, below), entries: columns, fronts: 1.0, path: (j + r) * (j + r), largest: columns }
}

/// Nodes around a box that the stencil reaches.
fn around(lengths: [usize; 3], open: [usize; 3], reach: usize) -> usize {
    let [a, b, c] = lengths;
    // How many offsets lead around an edge, and around a corner: legs that sum to `reach`, or neighbours across a cell.
    let edge = (reach * (reach - 1) / 2).max(1);
    let corner = (reach * (reach - 1) * reach.saturating_sub(2) / 6).max(1);
    let sides = open[0] * b * c + open[1] * a * c + open[2] * a * b;
    let edges = open[0] * open[1] * c + open[0] * open[2] * b + open[1] * open[2] * a;
    reach * sides + edge * edges + corner * open[0] * open[1] * open[2]
}
