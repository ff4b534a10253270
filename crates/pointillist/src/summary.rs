//! Events by cell: a few weighted nodes in place of many events, so that the cost of a fit does not grow with their
//! number (math: the event summary).
//!
//! The data term is Σ h(x_n) with h smooth in a cell. With q Chebyshev nodes an axis and the tensor Lagrange basis ℓ_p on
//! them, node p gets the weight W_p = Σ ℓ_p(x_n), and Σ h(x_n) ≈ Σ W_p h(x_p): exact for polynomials of degree q − 1 on each
//! axis. A cell with no more events than nodes keeps its events. Weights may be negative. Summaries over the same cells add
//! up: parts of the events, files and machines can each make one. Cost: one pass over the events and a sort; memory by the
//! cells that are not empty. It does not say how large its error is: that depends on h, which its user knows.

use crate::error::{Error, Result};
use crate::parallel;
use crate::points::Points;
use std::f64::consts::PI;

/// Events as weighted nodes in cells.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// Where the cells of each axis end, rising.
    edges: Vec<Vec<f64>>,
    rule: Rule,
    /// The cells that are not empty, by rising index.
    cells: Vec<Cell>,
}

/// What is known of the events of one cell.
#[derive(Debug, Clone, PartialEq)]
struct Cell {
    /// The last axis varies fastest.
    index: usize,
    count: usize,
    /// The coordinates of the events while they are no more than nodes, then the weights of the nodes.
    values: Vec<f64>,
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

    /// ℓ_p(t).
    fn basis(&self, p: usize, t: f64) -> f64 {
        let others = self.nodes.iter().enumerate().filter(|(j, _)| *j != p);
        others.fold(self.scales[p], |product, (_, node)| product * (t - node))
    }
}

impl Summary {
    /// No events yet, in cells between `edges` (of each axis, rising), with `order` nodes an axis in each.
    pub fn new(edges: Vec<Vec<f64>>, order: usize) -> Result<Self> {
        let rising = |edges: &Vec<f64>| {
            edges.len() > 1 && edges.iter().all(|e| e.is_finite()) && edges.windows(2).all(|pair| pair[0] < pair[1])
        };
        if edges.is_empty() || !edges.iter().all(rising) {
            return Err(Error::setting("cells", "edges", "must be two or more an axis, finite and rising"));
        }
        if order == 0 {
            return Err(Error::setting("order", order, "must be at least 1"));
        }
        Ok(Self { edges, rule: Rule::new(order), cells: vec![] })
    }

    /// Number of axes.
    pub fn dims(&self) -> usize {
        self.edges.len()
    }

    /// Number of events so far.
    pub fn events(&self) -> usize {
        self.cells.iter().map(|cell| cell.count).sum()
    }

    /// Number of nodes that stand for them.
    pub fn len(&self) -> usize {
        self.cells.iter().map(|cell| cell.count.min(self.nodes_a_cell())).sum()
    }

    /// Whether there are no events so far.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Adds events. The same events in the same order give the same bits on any number of threads.
    pub fn add(&mut self, points: &Points) -> Result<()> {
        let places = by_cell(&self.locate(points)?, self.edges.iter().map(|e| (e.len() - 1) as f64).product());
        let groups: Vec<&[(usize, usize)]> = places.chunk_by(|a, b| a.0 == b.0).collect();
        let block = parallel::block_length(groups.len());
        let parts = parallel::map(groups.chunks(block), 16 * points.len(), |groups| {
            groups.iter().map(|group| self.cell_of(group, points)).collect::<Vec<_>>()
        });
        self.take_in(parts.into_iter().flatten());
        Ok(())
    }

    /// Adds what another summary over the same cells stands for.
    pub fn merge(&mut self, other: Summary) -> Result<()> {
        if other.edges != self.edges || other.rule != self.rule {
            return Err(Error::setting("summary", "other cells or nodes", "must be over the same cells, of one order"));
        }
        self.take_in(other.cells.into_iter());
        Ok(())
    }

    /// The nodes and their weights.
    pub fn nodes(&self) -> (Points, Vec<f64>) {
        let count = self.len();
        let (mut coordinates, mut weights) = (Vec::with_capacity(count * self.dims()), Vec::with_capacity(count));
        for cell in &self.cells {
            if self.keeps_events(cell.count) {
                coordinates.extend_from_slice(&cell.values);
                weights.resize(weights.len() + cell.count, 1.0);
            } else {
                self.add_node_places(cell.index, &mut coordinates);
                weights.extend_from_slice(&cell.values);
            }
        }
        (Points::of_rows(self.dims(), coordinates), weights)
    }

    fn nodes_a_cell(&self) -> usize {
        self.rule.nodes.len().pow(self.dims() as u32)
    }

    /// Whether a cell with this many events keeps them.
    fn keeps_events(&self, count: usize) -> bool {
        count <= self.nodes_a_cell()
    }

    /// The cell of each point.
    fn locate(&self, points: &Points) -> Result<Vec<usize>> {
        if points.dims() != self.dims() {
            return Err(Error::Dimension { what: "events", expected: self.dims(), found: points.dims() });
        }
        let rows = points.coordinates().chunks(self.dims() * parallel::block_length(points.len()));
        let parts = parallel::map(rows, 16 * points.len(), |rows| {
            rows.chunks_exact(self.dims()).map(|row| self.index_of(row)).collect::<Option<Vec<_>>>()
        });
        match parts.into_iter().collect::<Option<Vec<_>>>() {
            Some(parts) => Ok(parts.concat()),
            None => Err(self.outside(points)),
        }
    }

    /// The error for points in no cell.
    fn outside(&self, points: &Points) -> Error {
        let mut outside = (0..points.len()).filter(|n| self.index_of(points.row(*n)).is_none());
        let index = outside.next().unwrap_or_default();
        Error::OutsideWindow {
            index,
            point: points.row(index).to_vec(),
            count: 1 + outside.count(),
            total: points.len(),
        }
    }

    /// The index of a point's cell, unless it lies in none.
    fn index_of(&self, point: &[f64]) -> Option<usize> {
        let mut index = 0;
        for (edges, &x) in self.edges.iter().zip(point) {
            index = index * (edges.len() - 1) + cell_between(edges, x)?;
        }
        Some(index)
    }

    /// The ends of a cell on each axis.
    fn ends(&self, mut index: usize) -> Vec<(f64, f64)> {
        let mut ends = vec![(0.0, 0.0); self.dims()];
        for (r, edges) in self.edges.iter().enumerate().rev() {
            let place = index % (edges.len() - 1);
            index /= edges.len() - 1;
            ends[r] = (edges[place], edges[place + 1]);
        }
        ends
    }

    /// A cell from its events.
    fn cell_of(&self, group: &[(usize, usize)], points: &Points) -> Cell {
        let (index, count) = (group[0].0, group.len());
        let coordinates = group.iter().flat_map(|(_, n)| points.row(*n)).copied().collect();
        let cell = Cell { index, count, values: coordinates };
        if self.keeps_events(count) { cell } else { Cell { values: self.weights(index, &cell.values), ..cell } }
    }

    /// W_p of the events of a cell.
    fn weights(&self, index: usize, coordinates: &[f64]) -> Vec<f64> {
        let (ends, order) = (self.ends(index), self.rule.nodes.len());
        let mut sums = vec![0.0; self.nodes_a_cell()];
        let mut products = vec![0.0; sums.len()];
        for event in coordinates.chunks_exact(ends.len()) {
            products[0] = 1.0;
            let mut count = 1;
            for (x, (lo, hi)) in event.iter().zip(&ends) {
                let t = (2.0 * x - lo - hi) / (hi - lo);
                // from the last product down, so that none is written over before it is read
                for c in (0..count).rev() {
                    let product = products[c];
                    (0..order).for_each(|p| products[c * order + p] = product * self.rule.basis(p, t));
                }
                count *= order;
            }
            sums.iter_mut().zip(&products).for_each(|(sum, product)| *sum += product);
        }
        sums
    }

    /// Appends where the nodes of a cell are, in the order of its weights.
    fn add_node_places(&self, index: usize, coordinates: &mut Vec<f64>) {
        let (ends, order) = (self.ends(index), self.rule.nodes.len());
        for node in 0..self.nodes_a_cell() {
            for (r, (lo, hi)) in ends.iter().enumerate() {
                let p = node / order.pow((ends.len() - 1 - r) as u32) % order;
                coordinates.push(lo + 0.5 * (hi - lo) * (1.0 + self.rule.nodes[p]));
            }
        }
    }

    /// Takes in cells, by rising index.
    fn take_in(&mut self, cells: impl Iterator<Item = Cell>) {
        let mine = std::mem::take(&mut self.cells);
        let (mut mine, mut others) = (mine.into_iter().peekable(), cells.peekable());
        let mut all = Vec::with_capacity(mine.len());
        while let (Some(a), Some(b)) = (mine.peek(), others.peek()) {
            let order = a.index.cmp(&b.index);
            let first = if order.is_le() { mine.next() } else { None };
            let second = if order.is_ge() { others.next() } else { None };
            all.extend(match (first, second) {
                (Some(a), Some(b)) => Some(self.both(a, b)),
                (a, b) => a.or(b),
            });
        }
        all.extend(mine);
        all.extend(others);
        self.cells = all;
    }

    /// What two summaries say of one cell.
    fn both(&self, a: Cell, b: Cell) -> Cell {
        let (index, count) = (a.index, a.count + b.count);
        if self.keeps_events(count) {
            return Cell { index, count, values: [a.values, b.values].concat() };
        }
        let weights =
            |cell: Cell| if self.keeps_events(cell.count) { self.weights(index, &cell.values) } else { cell.values };
        let values = weights(a).iter().zip(weights(b)).map(|(a, b)| a + b).collect();
        Cell { index, count, values }
    }
}

/// Every point's cell and number, by cell and then as they came.
fn by_cell(places: &[usize], cells: f64) -> Vec<(usize, usize)> {
    if cells > 4.0 * places.len() as f64 {
        let mut sorted: Vec<(usize, usize)> = places.iter().copied().zip(0..).collect();
        sorted.sort_unstable();
        return sorted;
    }
    // Few cells: count what each holds, then every point's place is known.
    let mut starts = vec![0; cells as usize + 1];
    places.iter().for_each(|cell| starts[cell + 1] += 1);
    (1..starts.len()).for_each(|cell| starts[cell] += starts[cell - 1]);
    let mut sorted = vec![(0, 0); places.len()];
    for (n, &cell) in places.iter().enumerate() {
        sorted[starts[cell]] = (cell, n);
        starts[cell] += 1;
    }
    sorted
}

/// The cell in which a coordinate lies; on an edge the upper one.
fn cell_between(edges: &[f64], x: f64) -> Option<usize> {
    let (cells, first, last) = (edges.len() - 1, edges[0], edges[edges.len() - 1]);
    if !(first <= x && x <= last) {
        return None;
    }
    // Edges are mostly even: look there first.
    let guess = (((x - first) / (last - first) * cells as f64) as usize).min(cells - 1);
    if edges[guess] <= x && x < edges[guess + 1] {
        return Some(guess);
    }
    Some(edges.partition_point(|edge| *edge <= x).clamp(1, cells) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Points of no special place in the unit box, denser at its lower end.
    fn points(dims: usize, count: usize) -> Points {
        let place = |i: usize| ((i as f64 + 0.5) * [0.618_034, 0.754_878, 0.569_840][i % dims]).fract().powf(1.4);
        Points::new(dims, (0..count * dims).map(place).collect()).unwrap()
    }

    fn edges(dims: usize) -> Vec<Vec<f64>> {
        // even and uneven
        [vec![0.0, 0.25, 0.5, 0.75, 1.0], vec![-0.1, 0.2, 0.9, 1.1], vec![0.0, 0.5, 1.0]][..dims].to_vec()
    }

    fn summary(dims: usize, order: usize, events: &Points) -> Summary {
        let mut summary = Summary::new(edges(dims), order).unwrap();
        summary.add(events).unwrap();
        summary
    }

    fn sum(points: &Points, weights: &[f64], h: impl Fn(&[f64]) -> f64) -> f64 {
        points.rows().zip(weights).map(|(row, w)| w * h(row)).sum()
    }

    #[test]
    fn moments_below_the_order_are_exact() {
        for dims in 1..=3 {
            for order in 1..=5 {
                let events = points(dims, 4000);
                let (nodes, weights) = summary(dims, order, &events).nodes();
                for power in 0..order as i32 {
                    let h = |row: &[f64]| row.iter().map(|x| (x - 0.3).powi(power)).product::<f64>();
                    let (want, got) = (sum(&events, &vec![1.0; events.len()], h), sum(&nodes, &weights, h));
                    assert!((want - got).abs() < 1e-12 * 4000.0, "{dims} {order} {power}: {got} {want}");
                }
            }
        }
    }

    #[test]
    fn a_smooth_sum_is_known_the_better_the_higher_the_order() {
        let events = points(2, 3000);
        let h = |row: &[f64]| (2.0 + row[0] + (3.0 * row[1]).sin()).ln();
        let want = sum(&events, &vec![1.0; 3000], h);
        let error = |order: usize| {
            let (nodes, weights) = summary(2, order, &events).nodes();
            (sum(&nodes, &weights, h) - want).abs()
        };
        assert!(error(3) < 2.0 && error(5) < 0.1 * error(3) && error(8) < 1e-3 * error(3), "{}", error(3));
    }

    #[test]
    fn merging_is_adding_all() {
        for count in [40, 3000] {
            let events = points(2, count);
            let whole = summary(2, 3, &events);
            let mut parts = Summary::new(edges(2), 3).unwrap();
            for part in events.coordinates().chunks(2 * count / 3 / 2 * 2) {
                parts.merge(summary(2, 3, &Points::new(2, part.to_vec()).unwrap())).unwrap();
            }
            assert_eq!((whole.events(), whole.len()), (count, parts.len()));
            let ((want_at, want), (at, got)) = (whole.nodes(), parts.nodes());
            assert_eq!(want_at, at);
            want.iter().zip(&got).for_each(|(a, b)| assert!((a - b).abs() < 1e-11, "{a} {b}"));
        }
        let mut other = Summary::new(edges(2), 4).unwrap();
        assert!(other.merge(summary(2, 3, &points(2, 10))).is_err());
    }

    #[test]
    fn few_events_stay_events_and_empty_cells_cost_nothing() {
        let events = Points::line(&[0.1, 0.11, 0.9, 1.0]).unwrap();
        let (nodes, weights) = summary(1, 3, &events).nodes();
        assert_eq!((nodes.coordinates(), weights), (events.coordinates(), vec![1.0; 4]));
        assert!(matches!(
            Summary::new(edges(1), 3).unwrap().add(&Points::line(&[0.5, 1.5, 2.0]).unwrap()),
            Err(Error::OutsideWindow { index: 1, count: 2, .. })
        ));
        assert!(Summary::new(vec![vec![0.0, 0.0]], 3).is_err());
    }

    #[test]
    fn the_same_bits_on_one_and_two_threads() {
        let events = points(2, 40_000);
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| summary(2, 4, &events))
        };
        assert_eq!(run(1), run(2));
    }
}
