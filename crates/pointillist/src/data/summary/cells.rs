//! Cells with a few weighted nodes each in place of many events (docs/derivation.md (46)).
//!
//! The data term is Σ h(x_n) with h smooth in a cell. With q Chebyshev nodes per axis and the tensor Lagrange basis ℓ_p on
//! them, node p gets the weight W_p = Σ ℓ_p(x_n), and Σ h(x_n) ≈ Σ W_p h(x_p): exact for polynomials of degree q − 1 on each
//! axis. A cell with no more events than nodes keeps its events. Weights may be negative. Cells of the same size add up, and
//! joining neighbours ([`Cells::coarsened`]) gives the weights that their events would have given: a polynomial on the
//! large cell is one on each small cell.
//!
//! Cells stand in slabs, each filled by one thread with the events in their order: the same bits on any number of
//! threads. Cost: some 40 to 70 ns per event in two dimensions with q = 4, more with more cells, as most of it is waiting for
//! memory. Only cells that are not empty take memory.

use crate::data::points::Points;
use crate::error::{Error, Result};
use crate::parallel;
use std::f64::consts::PI;

/// Most nodes per axis in a cell.
const MOST_ORDER: usize = 16;
/// Most axes.
const MOST_AXES: usize = 3;
/// Most cells: beyond, the tables that find them are too large.
const MOST_CELLS: usize = 1 << 28;
/// Slabs there are, at most: few enough that each holds many events, enough that what one holds stays in the cache.
const SLABS: usize = 256;
/// Events that are sorted at a time.
const CHUNK: usize = 1 << 22;
/// Blocks of rows in which cells are joined: fixed, so that the bits do not depend on the number of threads.
const ROW_BLOCKS: usize = 16;
/// Mark of a cell that is empty.
const NONE: u32 = u32::MAX;

/// Equal cells on one axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct CellAxis {
    pub(crate) lo: f64,
    pub(crate) hi: f64,
    pub(crate) cells: usize,
}

impl CellAxis {
    /// The cell of a coordinate, and where in it, in [−1, 1]; none outside.
    fn locate(&self, x: f64) -> Option<(usize, f64)> {
        if !(self.lo <= x && x <= self.hi) {
            return None;
        }
        Some(self.locate_inside(x))
    }

    /// The same for a coordinate inside.
    #[inline]
    fn locate_inside(&self, x: f64) -> (usize, f64) {
        let place = (x - self.lo) * (self.cells as f64 / (self.hi - self.lo));
        let cell = (place as usize).min(self.cells - 1);
        (cell, 2.0 * (place - cell as f64) - 1.0)
    }

    /// Where `t` in [−1, 1] of a cell is.
    fn place(&self, cell: usize, t: f64) -> f64 {
        self.lo + (self.hi - self.lo) * (cell as f64 + 0.5 * (1.0 + t)) / self.cells as f64
    }
}

/// Events by cell.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Cells {
    axes: Vec<CellAxis>,
    rule: Rule,
    /// The logarithm of the number of cells in a slab, to base 2: no division per event.
    slab_bits: u32,
    slabs: Vec<Slab>,
}

/// Cells that stand one after the other.
#[derive(Debug, Clone, PartialEq, Default)]
struct Slab {
    /// Where each of its cells stands below; empty until there is one.
    places: Vec<u32>,
    cells: Vec<Cell>,
}

/// What is known of the events of one cell.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Cell {
    pub(crate) count: u64,
    /// The coordinates of the events while they are no more than nodes, then the weights of the nodes.
    pub(crate) values: Vec<f64>,
}

/// Chebyshev nodes on [−1, 1] with the Lagrange basis on them.
#[derive(Debug, Clone, PartialEq)]
struct Rule {
    nodes: Vec<f64>,
    /// 1/Π (t_p − t_j): what makes ℓ_p one at its own node.
    scales: Vec<f64>,
}

impl Rule {
    fn new(order: usize) -> Self {
        let nodes: Vec<f64> = (0..order).map(|p| -(PI * (p as f64 + 0.5) / order as f64).cos()).collect();
        let scale = |p: usize| (0..order).filter(|j| *j != p).map(|j| 1.0 / (nodes[p] - nodes[j])).product();
        Self { scales: (0..order).map(scale).collect(), nodes }
    }

    fn order(&self) -> usize {
        self.nodes.len()
    }

    /// ℓ(t): what lies left of each node multiplied up, then what lies right of it. `order` is its own: where it is known to the
    /// compiler there are no loops left.
    #[inline(always)]
    fn basis(&self, t: f64, order: usize, out: &mut [f64; MOST_ORDER]) {
        let (nodes, scales) = (&self.nodes[..order], &self.scales[..order]);
        let mut product = 1.0;
        for p in 0..order {
            out[p] = product * scales[p];
            product *= t - nodes[p];
        }
        product = 1.0;
        for p in (0..order).rev() {
            out[p] *= product;
            product *= t - nodes[p];
        }
    }
}

/// ℓ on each axis at one place.
type Bases = [[f64; MOST_ORDER]; MOST_AXES];

impl Cells {
    /// No events yet, with `order` nodes per axis in each cell.
    pub(crate) fn new(axes: Vec<CellAxis>, order: usize) -> Result<Self> {
        if !(1..=MOST_AXES).contains(&axes.len()) {
            return Err(Error::setting("cells", format!("{} axes", axes.len()), "have one to three axes"));
        }
        if !(1..=MOST_ORDER).contains(&order) {
            return Err(Error::setting("order", order, format!("must be between 1 and {MOST_ORDER}")));
        }
        let total = axes.iter().fold(1usize, |n, axis| n.saturating_mul(axis.cells));
        if !(1..=MOST_CELLS).contains(&total) {
            return Err(Error::setting("cells", total, format!("must be between 1 and {MOST_CELLS} in all")));
        }
        if axes.iter().any(|axis| !(axis.lo < axis.hi && (axis.hi - axis.lo).is_finite())) {
            return Err(Error::setting("cells", "ends", "must be finite, the lower below the upper"));
        }
        Ok(Self::empty(axes, Rule::new(order)))
    }

    fn empty(axes: Vec<CellAxis>, rule: Rule) -> Self {
        let total: usize = axes.iter().map(|axis| axis.cells).product();
        let slab_bits = total.div_ceil(SLABS).next_power_of_two().ilog2();
        Self { axes, rule, slab_bits, slabs: vec![Slab::default(); total.div_ceil(1 << slab_bits)] }
    }

    pub(crate) fn axes(&self) -> &[CellAxis] {
        &self.axes
    }

    pub(crate) fn order(&self) -> usize {
        self.rule.order()
    }

    fn dims(&self) -> usize {
        self.axes.len()
    }

    fn total(&self) -> usize {
        self.axes.iter().map(|axis| axis.cells).product()
    }

    /// Cells in a slab; the last may have fewer.
    fn slab_length(&self) -> usize {
        1 << self.slab_bits
    }

    /// Number of events so far.
    pub(crate) fn events(&self) -> u64 {
        self.list().map(|(_, cell)| cell.count).sum()
    }

    /// Number of nodes that stand for them.
    pub(crate) fn len(&self) -> usize {
        let most = self.nodes_a_cell() as u64;
        self.list().map(|(_, cell)| cell.count.min(most) as usize).sum()
    }

    /// The cells that are not empty, by rising index; the last axis varies fastest.
    pub(crate) fn list(&self) -> impl Iterator<Item = (usize, &Cell)> {
        self.list_from(0, self.total())
    }

    /// Those from one index up to another.
    fn list_from(&self, first: usize, end: usize) -> impl Iterator<Item = (usize, &Cell)> {
        let length = self.slab_length();
        (first >> self.slab_bits..end.div_ceil(length)).flat_map(move |s| {
            let (slab, start) = (&self.slabs[s], s * length);
            let places =
                if slab.places.is_empty() { 0..0 } else { first.max(start) - start..end.min(start + length) - start };
            let there = places.filter(move |i| slab.places[*i] != NONE);
            there.map(move |i| (start + i, &slab.cells[slab.places[i] as usize]))
        })
    }

    /// Adds events. The same events in the same order give the same bits on any number of threads.
    pub(crate) fn add(&mut self, points: &Points) -> Result<()> {
        if points.dims() != self.dims() {
            return Err(Error::Dimension { what: "events", expected: self.dims(), found: points.dims() });
        }
        if points.rows().any(|row| self.index_of(row).is_none()) {
            return Err(self.outside(points));
        }
        points.coordinates().chunks(CHUNK * self.dims()).for_each(|rows| self.add_rows(rows));
        Ok(())
    }

    /// Adds events that lie inside.
    fn add_rows(&mut self, rows: &[f64]) {
        let (dims, lists) = (self.dims(), self.by_slab(rows));
        self.fill(16 * rows.len(), |cells, s, slab| {
            let events = lists.iter().flat_map(|list| list[s].chunks_exact(dims));
            // Compiled for the sizes that matter: three times as fast.
            match (cells.dims(), cells.order()) {
                (1, 1) => cells.add_to_slab(1, 1, s, slab, events),
                (2, 1) => cells.add_to_slab(2, 1, s, slab, events),
                (2, 3) => cells.add_to_slab(2, 3, s, slab, events),
                (1, 4) => cells.add_to_slab(1, 4, s, slab, events),
                (2, 4) => cells.add_to_slab(2, 4, s, slab, events),
                (3, 4) => cells.add_to_slab(3, 4, s, slab, events),
                (dims, order) => cells.add_to_slab(dims, order, s, slab, events),
            }
        });
    }

    /// Adds events that lie in a slab; the number of axes and the order are its own.
    #[inline(always)]
    fn add_to_slab<'a>(
        &self,
        dims: usize,
        order: usize,
        s: usize,
        slab: &mut Slab,
        events: impl Iterator<Item = &'a [f64]>,
    ) {
        let (nodes, length) = (order.pow(dims as u32), self.slab_length());
        let (axes, mut bases) = (&self.axes[..dims], [[0.0; MOST_ORDER]; MOST_AXES]);
        for row in events {
            let mut index = 0;
            for r in 0..dims {
                let (cell, t) = axes[r].locate_inside(row[r]);
                index = index * axes[r].cells + cell;
                self.rule.basis(t, order, &mut bases[r]);
            }
            slab.cell(index - (s << self.slab_bits), length, nodes).add(&row[..dims], &bases, self, order, nodes);
        }
    }

    /// Works on every slab, on as many threads as there are.
    fn fill(&mut self, size: usize, work: impl Fn(&Cells, usize, &mut Slab) + Sync) {
        let mut slabs = std::mem::take(&mut self.slabs);
        parallel::for_each(slabs.iter_mut().enumerate(), size, |(s, slab)| work(self, s, slab));
        self.slabs = slabs;
    }

    /// For each block of events, those that lie in each slab. They are copied, because fetching them one by one takes longer than
    /// all else.
    fn by_slab(&self, rows: &[f64]) -> Vec<Vec<Vec<f64>>> {
        let dims = self.dims();
        let block = parallel::block_length(rows.len() / dims);
        parallel::map(rows.chunks(dims * block), 16 * rows.len(), |rows| {
            let mut lists = vec![Vec::with_capacity(rows.len() / self.slabs.len()); self.slabs.len()];
            for row in rows.chunks_exact(dims) {
                let cells = self.axes.iter().zip(row);
                let index = cells.fold(0, |index, (axis, &x)| index * axis.cells + axis.locate_inside(x).0);
                lists[index >> self.slab_bits].extend_from_slice(row);
            }
            lists
        })
    }

    /// The error for points in no cell.
    fn outside(&self, points: &Points) -> Error {
        let mut outside = (0..points.len()).filter(|n| self.index_of(points.row(*n)).is_none());
        let index = outside.next().unwrap_or_default();
        let count = 1 + outside.count();
        Error::OutsideWindow { index, point: points.row(index).to_vec(), count, total: points.len() }
    }

    /// The index of a point's cell, unless it lies in none.
    fn index_of(&self, point: &[f64]) -> Option<usize> {
        let cells = self.axes.iter().zip(point);
        cells.into_iter().try_fold(0, |index, (axis, &x)| Some(index * axis.cells + axis.locate(x)?.0))
    }

    /// The same, with ℓ there.
    fn locate(&self, point: &[f64], bases: &mut Bases) -> Option<usize> {
        let mut index = 0;
        for ((axis, &x), basis) in self.axes.iter().zip(point).zip(bases) {
            let (cell, t) = axis.locate(x)?;
            index = index * axis.cells + cell;
            self.rule.basis(t, self.order(), basis);
        }
        Some(index)
    }

    /// Adds what others over the same cells stand for.
    pub(crate) fn merge(&mut self, other: &Cells) {
        let (nodes, length) = (self.nodes_a_cell(), self.slab_length());
        self.fill(16 * other.len(), |cells, s, slab| {
            for (i, place) in other.slabs[s].places.iter().enumerate().filter(|(_, place)| **place != NONE) {
                let theirs = &other.slabs[s].cells[*place as usize];
                let mine = slab.cell(i, length, nodes);
                if theirs.count <= nodes as u64 {
                    mine.add_rows(&theirs.values, cells, nodes);
                } else {
                    mine.as_weights(cells, nodes);
                    mine.count += theirs.count;
                    mine.values.iter_mut().zip(&theirs.values).for_each(|(a, b)| *a += b);
                }
            }
        });
    }

    /// The same events in cells `times[r]` times as long on axis r, which must divide their number.
    pub(crate) fn coarsened(&self, times: &[usize]) -> Self {
        let axes = self.axes.iter().zip(times).map(|(axis, times)| CellAxis { cells: axis.cells / times, ..*axis });
        let mut coarse = Self::empty(axes.collect(), self.rule.clone());
        let tables: Vec<Vec<f64>> = times.iter().map(|times| self.wider_basis(*times)).collect();
        // Blocks of rows of large cells: each is made by one thread.
        let rows = coarse.axes[0].cells;
        let block = rows.div_ceil(ROW_BLOCKS);
        let parts = parallel::map((0..rows).step_by(block), 16 * self.len(), |first| {
            self.joined_rows(first..(first + block).min(rows), times, &tables, &coarse)
        });
        let length = coarse.slab_length();
        for (index, cell) in parts.into_iter().flatten() {
            *coarse.slabs[index >> coarse.slab_bits].cell(index & (length - 1), length, 0) = cell;
        }
        coarse
    }

    /// The cells of some rows of a coarser summary, by rising index.
    fn joined_rows(
        &self,
        rows: std::ops::Range<usize>,
        times: &[usize],
        tables: &[Vec<f64>],
        coarse: &Self,
    ) -> Vec<(usize, Cell)> {
        let nodes = self.nodes_a_cell();
        let (row, wide_row) = (self.total() / self.axes[0].cells, coarse.total() / coarse.axes[0].cells);
        let mut found: Vec<Option<Cell>> = vec![None; rows.len() * wide_row];
        let (mut values, mut spare) = (vec![0.0; nodes], vec![0.0; nodes]);
        for (index, cell) in self.list_from(rows.start * times[0] * row, rows.end * times[0] * row) {
            let (mut rest, mut at, mut stride) = (index, 0, 1);
            let mut inside = [0; MOST_AXES];
            for r in (0..self.dims()).rev() {
                let place = rest % self.axes[r].cells;
                rest /= self.axes[r].cells;
                inside[r] = place % times[r];
                at += stride * (place / times[r]);
                stride *= coarse.axes[r].cells;
            }
            let target = found[at - rows.start * wide_row]
                .get_or_insert_with(|| Cell { count: 0, values: Vec::with_capacity(nodes) });
            if cell.count <= nodes as u64 {
                target.add_rows(&cell.values, coarse, nodes);
                continue;
            }
            target.as_weights(coarse, nodes);
            target.count += cell.count;
            values.copy_from_slice(&cell.values);
            for r in 0..self.dims() {
                self.widen(&tables[r], inside[r], &values, &mut spare);
                std::mem::swap(&mut values, &mut spare);
            }
            target.values.iter_mut().zip(&values).for_each(|(out, value)| *out += value);
        }
        let there = found.into_iter().enumerate().filter_map(|(at, cell)| Some((at, cell?)));
        there.map(|(at, cell)| (rows.start * wide_row + at, cell)).collect()
    }

    /// ℓ of a cell so many `times` as long at the nodes of each of the cells in it. // (P, p, cell)
    fn wider_basis(&self, times: usize) -> Vec<f64> {
        let mut basis = [0.0; MOST_ORDER];
        let nodes = (0..times).flat_map(|cell| self.rule.nodes.iter().map(move |t| cell as f64 + 0.5 * (1.0 + t)));
        nodes.fold(vec![], |mut all, place| {
            self.rule.basis(2.0 * place / times as f64 - 1.0, self.order(), &mut basis);
            all.extend_from_slice(&basis[..self.order()]);
            all
        })
    }

    /// The weights of a cell as those of the wider one in which it stands as number `inside`, on the first axis: Σ W_p ℓ_P(x_p). That axis
    /// comes back as the last: after all of them they stand as before.
    fn widen(&self, table: &[f64], inside: usize, values: &[f64], out: &mut [f64]) {
        let (order, rest) = (self.order(), values.len() / self.order());
        out.fill(0.0);
        if order == 4 {
            // The usual order, with loops that the compiler can unroll.
            for p in 0..4 {
                let at = (inside * 4 + p) * 4;
                let basis = [table[at], table[at + 1], table[at + 2], table[at + 3]];
                for (out, value) in out.as_chunks_mut::<4>().0.iter_mut().zip(&values[p * rest..][..rest]) {
                    (0..4).for_each(|wide| out[wide] += basis[wide] * value);
                }
            }
            return;
        }
        for p in 0..order {
            let basis = &table[(inside * order + p) * order..][..order];
            for (out, value) in out.chunks_exact_mut(order).zip(&values[p * rest..][..rest]) {
                out.iter_mut().zip(basis).for_each(|(out, l)| *out += l * value);
            }
        }
    }

    /// The place of a cell on each axis.
    fn place_of(&self, mut index: usize) -> Vec<usize> {
        let mut place = vec![0; self.dims()];
        for (place, axis) in place.iter_mut().zip(&self.axes).rev() {
            *place = index % axis.cells;
            index /= axis.cells;
        }
        place
    }

    /// The nodes and their weights; where there are few events they are those.
    pub(crate) fn nodes(&self) -> (Points, Vec<f64>) {
        self.nodes_where(|_| true)
    }

    /// The same of the cells for whose middle `wanted` holds.
    pub(crate) fn nodes_where(&self, wanted: impl Fn(&[f64]) -> bool) -> (Points, Vec<f64>) {
        let (mut coordinates, mut weights) = (vec![], vec![]);
        for (index, cell) in self.list().filter(|(index, _)| wanted(&self.middle(*index))) {
            if cell.count <= self.nodes_a_cell() as u64 {
                coordinates.extend_from_slice(&cell.values);
                weights.resize(weights.len() + cell.count as usize, 1.0);
            } else {
                self.add_node_places(index, &mut coordinates);
                weights.extend_from_slice(&cell.values);
            }
        }
        (Points::of_rows(self.dims(), coordinates), weights)
    }

    /// Number of events in the cells for whose middle `wanted` holds.
    pub(crate) fn events_where(&self, wanted: impl Fn(&[f64]) -> bool) -> u64 {
        self.list().filter(|(index, _)| wanted(&self.middle(*index))).map(|(_, cell)| cell.count).sum()
    }

    fn middle(&self, index: usize) -> Vec<f64> {
        self.place_of(index).iter().zip(&self.axes).map(|(cell, axis)| axis.place(*cell, 0.0)).collect()
    }

    /// The mean place of the events of each cell, and their number.
    pub(crate) fn centres(&self) -> (Points, Vec<f64>) {
        let (mut coordinates, mut counts, mut places) = (vec![], vec![], vec![]);
        for (index, cell) in self.list() {
            let is_kept = cell.count <= self.nodes_a_cell() as u64;
            places.clear();
            if !is_kept {
                self.add_node_places(index, &mut places);
            }
            let rows = if is_kept { &cell.values } else { &places };
            let weight = |n: usize| if is_kept { 1.0 } else { cell.values[n] };
            let mean = |r: usize| {
                let sum: f64 = rows.chunks_exact(self.dims()).enumerate().map(|(n, row)| weight(n) * row[r]).sum();
                sum / cell.count as f64
            };
            coordinates.extend((0..self.dims()).map(mean));
            counts.push(cell.count as f64);
        }
        (Points::of_rows(self.dims(), coordinates), counts)
    }

    /// The same in the coordinates of the unit box, into which `inward` takes that of each axis.
    pub(crate) fn on_unit_box(&self, inward: impl Fn(usize, f64) -> f64) -> Self {
        let (mut scaled, dims, nodes) = (self.clone(), self.dims(), self.nodes_a_cell() as u64);
        scaled.axes.iter_mut().for_each(|axis| (axis.lo, axis.hi) = (0.0, 1.0));
        for cell in scaled.slabs.iter_mut().flat_map(|slab| &mut slab.cells).filter(|cell| cell.count <= nodes) {
            cell.values.iter_mut().enumerate().for_each(|(i, x)| *x = inward(i % dims, *x));
        }
        scaled
    }

    /// The coordinates of the nodes of all cells on each axis, and the weights of their tensor product, the last axis
    /// fastest; events that cells kept become weights as well.
    pub(crate) fn tensor(&self) -> (Vec<Vec<f64>>, Vec<f64>) {
        let order = self.order();
        let of_axis = |axis: &CellAxis| {
            (0..axis.cells).flat_map(|c| self.rule.nodes.iter().map(move |t| axis.place(c, *t))).collect::<Vec<f64>>()
        };
        let coordinates: Vec<Vec<f64>> = self.axes.iter().map(of_axis).collect();
        let stride = |r: usize| coordinates[r + 1..].iter().map(Vec::len).product::<usize>();
        let strides: Vec<usize> = (0..self.dims()).map(stride).collect();
        let mut weights = vec![0.0; coordinates.iter().map(Vec::len).product()];
        let mut own = Cell { count: 0, values: vec![] };
        for (index, cell) in self.list() {
            own.clone_from(cell);
            own.as_weights(self, self.nodes_a_cell());
            let place = self.place_of(index);
            for (node, weight) in own.values.iter().enumerate() {
                let axes = (0..self.dims()).map(|r| {
                    let p = node / order.pow((self.dims() - 1 - r) as u32) % order;
                    (place[r] * order + p) * strides[r]
                });
                weights[axes.sum::<usize>()] += weight;
            }
        }
        (coordinates, weights)
    }

    pub(crate) fn nodes_a_cell(&self) -> usize {
        self.order().pow(self.dims() as u32)
    }

    /// Appends where the nodes of a cell are, in the order of its weights.
    fn add_node_places(&self, index: usize, coordinates: &mut Vec<f64>) {
        let (place, order) = (self.place_of(index), self.order());
        for node in 0..self.nodes_a_cell() {
            for (r, axis) in self.axes.iter().enumerate() {
                let p = node / order.pow((self.dims() - 1 - r) as u32) % order;
                coordinates.push(axis.place(place[r], self.rule.nodes[p]));
            }
        }
    }

    /// Puts back a cell as [`Cells::list`] gave it; whether it makes sense.
    pub(crate) fn put(&mut self, index: usize, cell: Cell) -> bool {
        let (length, nodes) = (self.slab_length(), self.nodes_a_cell());
        let expected = if cell.count <= nodes as u64 { cell.count as usize * self.dims() } else { nodes };
        let is_event = |row: &[f64]| self.index_of(row) == Some(index);
        let inside = cell.count > nodes as u64 || cell.values.chunks_exact(self.dims()).all(is_event);
        let finite = cell.values.iter().all(|v| v.is_finite());
        if index >= self.total() || cell.count == 0 || cell.values.len() != expected || !finite || !inside {
            return false;
        }
        let there = self.slabs[index / length].cell(index % length, length, 0);
        let is_new = there.count == 0;
        *there = cell;
        is_new
    }
}

impl Slab {
    /// One of its cells, with room for so many values if it is new.
    fn cell(&mut self, index: usize, length: usize, room: usize) -> &mut Cell {
        if self.places.is_empty() {
            self.places = vec![NONE; length];
        }
        if self.places[index] == NONE {
            self.places[index] = self.cells.len() as u32;
            self.cells.push(Cell { count: 0, values: Vec::with_capacity(room) });
        }
        &mut self.cells[self.places[index] as usize]
    }
}

impl Cell {
    /// Adds an event, ℓ at which is known.
    #[inline(always)]
    fn add(&mut self, row: &[f64], bases: &Bases, cells: &Cells, order: usize, nodes: usize) {
        if self.count < nodes as u64 {
            self.values.extend_from_slice(row);
        } else {
            if self.count == nodes as u64 {
                self.become_weights(cells, nodes);
            }
            add_products(&mut self.values, order, bases, row.len());
        }
        self.count += 1;
    }

    /// Adds events.
    fn add_rows(&mut self, rows: &[f64], cells: &Cells, nodes: usize) {
        let mut bases = [[0.0; MOST_ORDER]; MOST_AXES];
        for row in rows.chunks_exact(cells.dims()) {
            cells.locate(row, &mut bases);
            self.add(row, &bases, cells, cells.order(), nodes);
        }
    }

    /// Makes sure that it has weights.
    fn as_weights(&mut self, cells: &Cells, nodes: usize) {
        if self.count <= nodes as u64 {
            self.become_weights(cells, nodes);
        }
    }

    /// From events to weights.
    fn become_weights(&mut self, cells: &Cells, nodes: usize) {
        // On the stack if they fit: cells are many, and what they hold need not move.
        let (mut few, mut many) = ([0.0; 64], vec![]);
        let weights = match nodes <= few.len() {
            true => &mut few[..nodes],
            false => {
                many.resize(nodes, 0.0);
                &mut many[..]
            }
        };
        let mut bases = [[0.0; MOST_ORDER]; MOST_AXES];
        for row in self.values.chunks_exact(cells.dims()) {
            cells.locate(row, &mut bases);
            add_products(weights, cells.order(), &bases, cells.dims());
        }
        self.values.clear();
        self.values.extend_from_slice(weights);
    }
}

/// Adds the products of ℓ on all axes to weights, the last axis fastest.
#[inline(always)]
fn add_products(weights: &mut [f64], order: usize, bases: &Bases, dims: usize) {
    let last = &bases[dims - 1][..order];
    let add = |row: &mut [f64], factor: f64| row.iter_mut().zip(last).for_each(|(w, l)| *w += factor * l);
    match dims {
        1 => add(weights, 1.0),
        2 => weights.chunks_exact_mut(order).zip(&bases[0]).for_each(|(row, l)| add(row, *l)),
        _ => {
            let rows = weights.chunks_exact_mut(order).enumerate();
            rows.for_each(|(i, row)| add(row, bases[0][i / order] * bases[1][i % order]));
        }
    }
}
#[cfg(test)]
mod tests {
    use super::*;

    /// Points of no special place in the unit box, denser at its lower end.
    fn points(dims: usize, count: usize) -> Points {
        let place = |i: usize| ((i as f64 + 0.5) * [0.618_034, 0.754_878, 0.569_840][i % dims]).fract().powf(1.4);
        Points::new(dims, (0..count * dims).map(place).collect()).unwrap()
    }

    fn empty(dims: usize, times: usize, order: usize) -> Cells {
        let axis = |lo, hi, cells: usize| CellAxis { lo, hi, cells: cells * times };
        Cells::new([axis(0.0, 1.0, 4), axis(-0.1, 1.1, 3), axis(0.0, 1.0, 2)][..dims].to_vec(), order).unwrap()
    }

    fn cells(dims: usize, times: usize, order: usize, events: &Points) -> Cells {
        let mut cells = empty(dims, times, order);
        cells.add(events).unwrap();
        cells
    }

    fn sum(points: &Points, weights: &[f64], h: impl Fn(&[f64]) -> f64) -> f64 {
        points.rows().zip(weights).map(|(row, w)| w * h(row)).sum()
    }

    /// The nodes of a tensor as points.
    fn tensor_points(axes: &[Vec<f64>]) -> Points {
        let count: usize = axes.iter().map(Vec::len).product();
        let coordinate = |node: usize, r: usize| {
            let stride: usize = axes[r + 1..].iter().map(Vec::len).product();
            axes[r][node / stride % axes[r].len()]
        };
        let all = (0..count).flat_map(|node| (0..axes.len()).map(move |r| coordinate(node, r)));
        Points::new(axes.len(), all.collect()).unwrap()
    }

    fn close(a: &Cells, b: &Cells) {
        assert_eq!((a.events(), a.len()), (b.events(), b.len()));
        let ((a_at, a), (b_at, b)) = (a.tensor(), b.tensor());
        assert_eq!(a_at, b_at);
        a.iter().zip(&b).for_each(|(a, b)| assert!((a - b).abs() < 1e-11, "{a} {b}"));
    }

    #[test]
    fn moments_below_the_order_are_exact() {
        for (dims, order) in (1..=3).flat_map(|dims| (1..=5).map(move |order| (dims, order))) {
            let events = points(dims, 4000);
            let cells = cells(dims, 1, order, &events);
            let (nodes, weights) = cells.nodes();
            let (axes, tensor) = cells.tensor();
            for power in 0..order as i32 {
                let h = |row: &[f64]| row.iter().map(|x| (x - 0.3).powi(power)).product::<f64>();
                let want = sum(&events, &vec![1.0; events.len()], h);
                for got in [sum(&nodes, &weights, h), sum(&tensor_points(&axes), &tensor, h)] {
                    assert!((want - got).abs() < 1e-12 * 4000.0, "{dims} {order} {power}: {got} {want}");
                }
            }
        }
    }

    #[test]
    fn a_smooth_sum_is_known_the_better_the_higher_the_order_and_the_smaller_the_cells() {
        let events = points(2, 30_000);
        let h = |row: &[f64]| (2.0 + row[0] + (3.0 * row[1]).sin()).ln();
        let want = sum(&events, &vec![1.0; 30_000], h);
        let error = |order: usize, times: usize| {
            let (axes, weights) = cells(2, times, order, &events).tensor();
            (sum(&tensor_points(&axes), &weights, h) - want).abs()
        };
        assert!(error(3, 1) < 20.0 && error(5, 1) < 0.1 * error(3, 1) && error(8, 1) < 1e-3 * error(3, 1));
        assert!(error(4, 2) < 0.2 * error(4, 1) && error(4, 4) < 0.2 * error(4, 2));
    }

    #[test]
    fn merging_is_adding_all() {
        for count in [40, 3000] {
            let events = points(2, count);
            let mut parts = empty(2, 1, 3);
            for part in events.coordinates().chunks(2 * count / 3 / 2 * 2) {
                parts.merge(&cells(2, 1, 3, &Points::new(2, part.to_vec()).unwrap()));
            }
            close(&parts, &cells(2, 1, 3, &events));
        }
    }

    #[test]
    fn joining_cells_is_counting_in_larger_ones() {
        for (dims, count) in [(1, 3000), (2, 60), (2, 20_000), (3, 20_000)] {
            let events = points(dims, count);
            let times = [6, 2, 3];
            let fine = cells(dims, 6, 4, &events).coarsened(&times[..dims]);
            let mut coarse = empty(dims, 6, 4).coarsened(&times[..dims]);
            coarse.add(&events).unwrap();
            close(&fine, &coarse);
        }
    }

    #[test]
    fn cells_can_be_put_back_and_damaged_ones_are_refused() {
        let whole = cells(2, 1, 3, &points(2, 60));
        let mut again = empty(2, 1, 3);
        whole.list().for_each(|(index, cell)| assert!(again.put(index, cell.clone())));
        close(&again, &whole);
        let (index, cell) = whole.list().next().unwrap();
        assert!(!again.put(index, cell.clone()), "it is there already");
        let refused = [
            Cell { count: 0, values: vec![] },
            Cell { count: 2, values: vec![0.1; 3] },
            Cell { count: 1, values: vec![0.9, 0.9] },
            Cell { count: 10, values: vec![f64::NAN; 9] },
        ];
        refused.into_iter().for_each(|cell| assert!(!empty(2, 1, 3).put(0, cell)));
        assert!(!empty(2, 1, 3).put(12, Cell { count: 10, values: vec![0.1; 9] }));
    }

    #[test]
    fn few_events_stay_events_and_empty_cells_cost_nothing() {
        let events = Points::line(&[0.1, 0.11, 0.9, 1.0]).unwrap();
        let (nodes, weights) = cells(1, 1, 3, &events).nodes();
        assert_eq!((nodes.coordinates(), weights), (events.coordinates(), vec![1.0; 4]));
        assert!(matches!(
            empty(1, 1, 3).add(&Points::line(&[0.5, 1.5, 2.0]).unwrap()),
            Err(Error::OutsideWindow { index: 1, count: 2, .. })
        ));
        assert!(Cells::new(vec![CellAxis { lo: 0.0, hi: 0.0, cells: 3 }], 3).is_err());
        assert!(Cells::new(vec![CellAxis { lo: 0.0, hi: 1.0, cells: 3 }], 17).is_err());
    }

    #[test]
    fn the_same_bits_on_any_number_of_threads() {
        let events = points(2, 40_000);
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| cells(2, 5, 4, &events))
        };
        assert!(run(1) == run(2) && run(1) == run(4));
    }
}
