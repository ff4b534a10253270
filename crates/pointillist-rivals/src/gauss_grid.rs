//! Sums of Gaussians through a grid, at a cost that grows with sources plus targets and not with pairs.
//!
//! On each axis, with nodes g of a grid of step Δ,
//!
//! ```text
//! exp(−(x−y)²/2) = Δ √(2/π) Σ_g exp(−(x−g)²) exp(−(g−y)²) · (1 + ε),   |ε| < 2 e^{−π²/(2Δ²)}
//! ```
//!
//! because the product is exp(−(x−y)²/2) exp(−2(g−m)²), m the middle of x and y, and the trapezoidal rule integrates a Gaussian to that
//! error. So sources are spread over the nodes around them and targets collect from the nodes around them, 28 per axis. With Δ = 0.4 ε is
//! 8e-14; the nodes left out, at least 14 Δ away, take e^{−(14Δ)²} = 2e-14 of a source's weight at most, and that only about 14 Δ from
//! it. All terms are positive, nothing cancels. Squares come from the second derivative: (4(x−g)² − 1) exp(−(x−g)²) collects (x−y)² exp.
//!
//! Where the sum is so small beside the weights around it that this is not 1e-9 of it, or where little is left without the source that is
//! left out, it is made anew pair by pair (`gauss_cells.rs`).
//!
//! The same bits on any number of threads: blocks of sources fill strips of the grid of their own, which are added in order.

use super::gauss_cells::Cells;
use super::gauss_sum::{Cloud, Job, Sums, TOLERANCE};
use pointillist::internals::numerics::exp_in_place;
use pointillist::internals::parallel;
use std::ops::Range;

/// Δ, in bandwidths.
const STEP: f64 = 0.4;
/// Nodes around a point, on each axis.
const WIDTH: usize = 28;
/// How many of them, at least, on each side.
const SIDE: usize = WIDTH / 2 - 1;
/// The error of a sum for each unit of weight that lies around: what the nodes left out would have added.
const LEFT_OUT: f64 = 2e-14;
/// Nodes a bin, and how many bins to each side are "around": 9.6 bandwidths.
const BIN: usize = 8;
const AROUND: usize = 3;
/// Most nodes a grid may have.
const MOST_NODES: f64 = 2e7;
/// What a source and a target cost together in seconds, in one, two and three dimensions; and a node.
const POINT_COST: [f64; 3] = [2e-7, 7e-7, 2e-5];
const NODE_COST: f64 = 3e-9;

/// Whether a·b + c in one instruction may be assumed at compile time.
const ALWAYS_FUSED: bool = cfg!(any(target_feature = "fma", target_arch = "aarch64"));

/// The values at the nodes around a point on one axis.
type Table = [f64; WIDTH];

/// A grid around sources and targets; the last axis varies fastest.
pub(super) struct Grid {
    low: Vec<f64>,
    counts: Vec<usize>,
    /// Where the rows of nodes around a point begin, counted from the first of them. // (WIDTH^(d−1))
    rows: Vec<usize>,
}

impl Grid {
    /// The grid of a job, if it is not too large.
    pub(super) fn new(job: Job<'_>) -> Option<Self> {
        let dims = job.sources.dims();
        if dims > 3 {
            return None;
        }
        let ends = |r: usize| {
            let (a, b) = (job.sources.ends(r), job.targets.ends(r));
            (a.0.min(b.0), a.1.max(b.1))
        };
        let low: Vec<f64> = (0..dims).map(|r| ends(r).0 - (SIDE as f64 + 0.5) * STEP).collect();
        let counts: Vec<f64> = (0..dims).map(|r| ((ends(r).1 - low[r]) / STEP).floor() + (SIDE + 3) as f64).collect();
        if counts.iter().product::<f64>() > MOST_NODES {
            return None;
        }
        let counts: Vec<usize> = counts.iter().map(|&c| c as usize).collect();
        let rows = (0..WIDTH.pow(dims as u32 - 1)).map(|row| row_start(&counts, row)).collect();
        Some(Self { low, counts, rows })
    }

    /// What a job costs, in seconds.
    pub(super) fn cost(&self, job: Job<'_>) -> f64 {
        let points = 0.5 * (job.sources.len() + job.targets.len()) as f64;
        POINT_COST[self.counts.len() - 1] * points + NODE_COST * self.counts.iter().product::<usize>() as f64
    }

    /// Nodes in one step along the first axis.
    fn slab(&self) -> usize {
        self.counts[1..].iter().product()
    }

    /// The sums at all targets.
    pub(super) fn sums(&self, job: Job<'_>) -> Sums {
        let nodes = self.spread(job);
        let around = Bins::new(self, job);
        let stride = job.stride();
        let mut data = vec![0.0; job.targets.len() * stride];
        let block = parallel::block_length(job.targets.len());
        let work = job.targets.len() * self.rows.len() * WIDTH;
        let doubtful = parallel::map(data.chunks_mut(block * stride).enumerate(), work, |(index, out)| {
            let first = index * block;
            let targets = first..first + out.len() / stride;
            vectorised(Collect { grid: self, nodes: &nodes, cloud: job.targets, targets, stride, out });
            self.settle(job, &around, first, out)
        });
        let doubtful: Vec<u32> = doubtful.concat();
        if !doubtful.is_empty() {
            Cells::new(job).correct(job, &doubtful, &mut data);
        }
        Sums { stride, data }
    }

    /// Takes away what is to be left out; names the targets whose sums are too small for the error of the grid.
    fn settle(&self, job: Job<'_>, around: &Bins, first: usize, out: &mut [f64]) -> Vec<u32> {
        let mut at = vec![0.0; self.low.len()];
        let mut doubtful = vec![];
        for (n, row) in out.chunks_exact_mut(job.stride()).enumerate() {
            let target = first + n;
            if let Some(source) = job.left_out(target) {
                row[0] -= job.weights[source];
            }
            job.targets.read(target, &mut at);
            let error = LEFT_OUT * around.weight(self, &at);
            // The comparison fails for NaN too.
            let is_certain = row[0].abs() * TOLERANCE >= error;
            if !is_certain {
                doubtful.push(target as u32);
            }
        }
        doubtful
    }

    /// The weights of the sources at the nodes.
    fn spread(&self, job: Job<'_>) -> Vec<f64> {
        let slab = self.slab();
        let count = job.sources.len();
        let block = parallel::block_length(count);
        let blocks = (0..count).step_by(block).map(|start| start..(start + block).min(count));
        let strips = parallel::map(blocks, count * self.rows.len() * WIDTH, |sources| {
            let strip = self.strip(&job.sources.axes[0][sources.clone()]);
            let mut nodes = vec![0.0; strip.len() * slab];
            let first = strip.start;
            vectorised(Spread {
                grid: self,
                cloud: job.sources,
                weights: job.weights,
                sources,
                first,
                nodes: &mut nodes,
            });
            (first, nodes)
        });
        let mut all = vec![0.0; self.counts[0] * slab];
        for (first, nodes) in strips {
            all[first * slab..][..nodes.len()].iter_mut().zip(&nodes).for_each(|(sum, part)| *sum += part);
        }
        let scale = (STEP * (2.0 / std::f64::consts::PI).sqrt()).powi(self.low.len() as i32);
        all.iter_mut().for_each(|node| *node *= scale);
        all
    }

    /// The steps along the first axis that are near these coordinates.
    fn strip(&self, coordinates: &[f64]) -> Range<usize> {
        let firsts = coordinates.iter().map(|&x| self.first_node(0, x));
        let (lo, hi) = firsts.fold((usize::MAX, 0), |(lo, hi), first| (lo.min(first), hi.max(first)));
        lo.min(hi)..hi + WIDTH
    }

    /// The first node around a coordinate.
    #[inline(always)]
    fn first_node(&self, r: usize, x: f64) -> usize {
        ((x - self.low[r]) / STEP) as usize - SIDE
    }
}

/// Where a row of nodes around a point begins, counted from the first of them.
fn row_start(counts: &[usize], row: usize) -> usize {
    match counts.len() {
        1 => 0,
        2 => row * counts[1],
        _ => (row / WIDTH * counts[1] + row % WIDTH) * counts[2],
    }
}

/// Work that is compiled twice: for any processor, and for one with wide registers and fused multiplication.
trait Pass {
    fn run<const FUSED: bool>(self);
}

fn vectorised(pass: impl Pass) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        // SAFETY: the processor has just been found to have both features the function is compiled for.
        return unsafe { run_avx2(pass) };
    }
    pass.run::<ALWAYS_FUSED>();
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn run_avx2(pass: impl Pass) {
    pass.run::<true>();
}

/// `sums += factor · values`.
#[inline(always)]
fn add_scaled<const FUSED: bool>(sums: &mut Table, factor: f64, values: &Table) {
    for i in 0..WIDTH {
        sums[i] = if FUSED { factor.mul_add(values[i], sums[i]) } else { sums[i] + factor * values[i] };
    }
}

/// The tables of one point: exp(−(x−g)²), and the same times 4(x−g)² − 1.
struct Tables {
    start: usize,
    value: [Table; 3],
    square: [Table; 3],
}

impl Tables {
    fn new() -> Self {
        Self { start: 0, value: [[0.0; WIDTH]; 3], square: [[0.0; WIDTH]; 3] }
    }

    /// For point `n`, with nodes counted from step `first` of the first axis.
    #[inline(always)]
    fn fill(&mut self, grid: &Grid, cloud: &Cloud, n: usize, first: usize, squares: bool) {
        self.start = 0;
        for (r, axis) in cloud.axes.iter().enumerate() {
            let x = axis[n];
            let node = grid.first_node(r, x);
            let offset = x - grid.low[r] - STEP * node as f64;
            let exponent: Table = std::array::from_fn(|i| {
                let distance = offset - STEP * i as f64;
                -distance * distance
            });
            self.value[r] = exponent;
            exp_in_place(&mut self.value[r]);
            if squares {
                self.square[r] = std::array::from_fn(|i| (-4.0 * exponent[i] - 1.0) * self.value[r][i]);
            }
            self.start = self.start * grid.counts[r] + node - if r == 0 { first } else { 0 };
        }
    }
}

/// Adds the weights of sources to a strip of nodes.
struct Spread<'a> {
    grid: &'a Grid,
    cloud: &'a Cloud,
    weights: &'a [f64],
    sources: Range<usize>,
    /// The step of the first axis at which the strip begins.
    first: usize,
    nodes: &'a mut [f64],
}

impl Pass for Spread<'_> {
    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let last = self.cloud.dims() - 1;
        let mut tables = Tables::new();
        for n in self.sources {
            tables.fill(self.grid, self.cloud, n, self.first, false);
            let table = tables.value[last];
            for (row, start) in self.grid.rows.iter().enumerate() {
                let factor = self.weights[n] * factor(&tables.value, last, row);
                let Some(nodes) = self.nodes[tables.start + start..].first_chunk_mut() else { continue };
                add_scaled::<FUSED>(nodes, factor, &table);
            }
        }
    }
}

/// The product of the tables of all axes but the last, for a row of nodes.
#[inline(always)]
fn factor(tables: &[Table; 3], last: usize, row: usize) -> f64 {
    match last {
        0 => 1.0,
        1 => tables[0][row],
        _ => tables[0][row / WIDTH] * tables[1][row % WIDTH],
    }
}

/// Collects the sums at targets from the nodes.
struct Collect<'a> {
    grid: &'a Grid,
    nodes: &'a [f64],
    cloud: &'a Cloud,
    targets: Range<usize>,
    stride: usize,
    out: &'a mut [f64],
}

impl Pass for Collect<'_> {
    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        match self.stride {
            1 | 2 => self.by_columns::<FUSED, 1>(),
            3 => self.by_columns::<FUSED, 2>(),
            _ => self.by_columns::<FUSED, 3>(),
        }
    }
}

impl Collect<'_> {
    /// Sums the rows with `SETS` sets of factors: all axes but the last plain, or one of them squared; then along the last axis.
    #[inline(always)]
    fn by_columns<const FUSED: bool, const SETS: usize>(self) {
        let last = self.cloud.dims() - 1;
        let mut tables = Tables::new();
        for (n, out) in self.targets.clone().zip(self.out.chunks_exact_mut(self.stride)) {
            tables.fill(self.grid, self.cloud, n, 0, self.stride > 1);
            let mut columns = [[0.0; WIDTH]; SETS];
            for (row, start) in self.grid.rows.iter().enumerate() {
                let Some(nodes) = self.nodes[tables.start + start..].first_chunk() else { continue };
                for (set, column) in columns.iter_mut().enumerate() {
                    add_scaled::<FUSED>(column, tables.factor(last, row, set), nodes);
                }
            }
            out[0] = product(&columns[0], &tables.value[last]);
            for (set, column) in columns.iter().enumerate().skip(1) {
                out[set] = product(column, &tables.value[last]);
            }
            if self.stride > 1 {
                out[1 + last] = product(&columns[0], &tables.square[last]);
            }
        }
    }
}

impl Tables {
    /// [`factor`], with axis `set` − 1 squared.
    #[inline(always)]
    fn factor(&self, last: usize, row: usize, set: usize) -> f64 {
        match (last, set) {
            (_, 0) => factor(&self.value, last, row),
            (1, _) => self.square[0][row],
            (_, 1) => self.square[0][row / WIDTH] * self.value[1][row % WIDTH],
            _ => self.value[0][row / WIDTH] * self.square[1][row % WIDTH],
        }
    }
}

#[inline(always)]
fn product(a: &Table, b: &Table) -> f64 {
    let mut sums = [0.0; 4];
    for i in (0..WIDTH).step_by(4) {
        (0..4).for_each(|lane| sums[lane] += a[i + lane] * b[i + lane]);
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3])
}

/// The weight that lies around each part of the grid.
struct Bins {
    counts: Vec<usize>,
    weights: Vec<f64>,
}

impl Bins {
    fn new(grid: &Grid, job: Job<'_>) -> Self {
        let counts: Vec<usize> = grid.counts.iter().map(|n| n / BIN + 1).collect();
        let mut bins = Self { weights: vec![0.0; counts.iter().product()], counts };
        let mut at = vec![0.0; grid.low.len()];
        for (n, weight) in job.weights.iter().enumerate() {
            job.sources.read(n, &mut at);
            let bin = bins.find(grid, &at);
            bins.weights[bin] += weight.abs();
        }
        (0..bins.counts.len()).for_each(|r| bins.add_neighbours(r));
        bins
    }

    fn find(&self, grid: &Grid, at: &[f64]) -> usize {
        (0..at.len()).fold(0, |bin, r| bin * self.counts[r] + ((at[r] - grid.low[r]) / (STEP * BIN as f64)) as usize)
    }

    fn weight(&self, grid: &Grid, at: &[f64]) -> f64 {
        self.weights[self.find(grid, at)]
    }

    /// Replaces every weight by the sum with its neighbours on one axis.
    fn add_neighbours(&mut self, r: usize) {
        let count = self.counts[r];
        let stride: usize = self.counts[r + 1..].iter().product();
        let mut line = vec![0.0; count];
        for start in 0..self.weights.len() / count {
            let start = start / stride * stride * count + start % stride;
            (0..count).for_each(|i| line[i] = self.weights[start + i * stride]);
            for i in 0..count {
                let near = i.saturating_sub(AROUND)..(i + AROUND + 1).min(count);
                self.weights[start + i * stride] = line[near].iter().sum();
            }
        }
    }
}
