//! Sums of Gaussians over the pairs that lie near each other.
//!
//! The sources are sorted into cells half a reach wide; at a target, those of the cells within two steps are summed. Beyond lies at most
//! e^{−8.5²/2} = 2e-16 of the weight of all sources; where that is not small beside the sum (an outlier among events), the reach is
//! widened until it is, or until exp gives 0. So sums are relatively right however small they are.
//!
//! Cells without sources take no room: a cell is a key, sources are sorted by it, and those of neighbours along the last axis follow each
//! other. Cost: the sort, 5^(d−1) searches a cell that holds targets, and the pairs.

use super::gauss_sum::{Cloud, Job, Near, Sums, TOLERANCE};
use pointillist::internals::parallel;
use std::ops::Range;

/// The width of a cell, in bandwidths.
const CELL: f64 = 4.25;

/// How many cells to each side are looked at, one after the other: at the last, everything beyond is 0 in double precision.
const REACHES: [i64; 3] = [2, 4, 10];

/// What a pair costs, in seconds: without squares, with them.
const PAIR_COST: [f64; 2] = [2.5e-9, 4e-9];

/// Targets by whose neighbours the cost is estimated.
const SAMPLE: usize = 1000;

/// The sources in cells.
pub(super) struct Cells {
    low: Vec<f64>,
    /// Bits of a key for each axis.
    bits: u32,
    /// Source at each place.
    order: Vec<u32>,
    /// Place of each source.
    places: Vec<u32>,
    sources: Cloud,
    weights: Vec<f64>,
    /// Keys of cells that hold sources, rising, with the place of their first one.
    cells: Vec<(u64, usize)>,
    total_weight: f64,
}

impl Cells {
    pub(super) fn new(job: Job<'_>) -> Self {
        let dims = job.sources.dims();
        let low = (0..dims).map(|r| job.sources.ends(r).0).collect();
        let mut cells = Self {
            low,
            bits: (63 / dims as u32).min(31),
            order: vec![],
            places: vec![],
            sources: job.sources.clone(),
            weights: vec![],
            cells: vec![],
            total_weight: job.total_weight(),
        };
        let sorted = cells.sorted(job.sources);
        cells.order = sorted.iter().map(|&(_, n)| n).collect();
        cells.places = vec![0; sorted.len()];
        cells.order.iter().enumerate().for_each(|(place, &n)| cells.places[n as usize] = place as u32);
        cells.sources = job.sources.reordered(&cells.order);
        cells.weights = cells.order.iter().map(|&n| job.weights[n as usize]).collect();
        cells.cells = sorted.iter().enumerate().map(|(place, &(key, _))| (key, place)).collect();
        cells.cells.dedup_by_key(|(key, _)| *key);
        cells
    }

    /// Points with the keys of their cells, by key. What lies outside of all cells has the key of the nearest one.
    fn sorted(&self, cloud: &Cloud) -> Vec<(u64, u32)> {
        let (mut at, mut cell) = (vec![0.0; cloud.dims()], vec![0; cloud.dims()]);
        let mut keys: Vec<(u64, u32)> = (0..cloud.len())
            .map(|n| {
                cloud.read(n, &mut at);
                self.find(&at, &mut cell);
                (self.key(&cell), n as u32)
            })
            .collect();
        keys.sort_unstable();
        keys
    }

    /// The cell of a place, perhaps outside of all.
    fn find(&self, at: &[f64], cell: &mut [i64]) {
        for (r, cell) in cell.iter_mut().enumerate() {
            // A cast saturates; half of that leaves room to step to neighbours.
            *cell = ((at[r] - self.low[r]) / CELL).floor().clamp(-1e18, 1e18) as i64;
        }
    }

    /// A coordinate that is too large for its bits counts as the largest: neighbours stay neighbours.
    fn key(&self, cell: &[i64]) -> u64 {
        let largest = (1i64 << self.bits) - 1;
        cell.iter().fold(0, |key, c| key << self.bits | (*c).clamp(0, largest) as u64)
    }

    /// The place of the first source in a cell with this key or a higher one.
    fn start(&self, key: u64) -> usize {
        let cell = self.cells.partition_point(|(k, _)| *k < key);
        self.cells.get(cell).map_or(self.order.len(), |(_, place)| *place)
    }

    /// The runs of sources within `reach` cells of a cell.
    fn runs(&self, cell: &[i64], reach: i64, runs: &mut Vec<Range<usize>>) {
        runs.clear();
        let largest = (1i64 << self.bits) - 1;
        let last = cell.len() - 1;
        let clipped = |r: usize| ((cell[r] - reach).max(0), (cell[r] + reach).clamp(-1, largest));
        // A target beyond the largest coordinate looks at it as if it were its own.
        let span = |r: usize| if cell[r] - reach > largest { (largest, largest) } else { clipped(r) };
        let spans: Vec<(i64, i64)> = (0..cell.len()).map(span).collect();
        if spans.iter().any(|(lo, hi)| lo > hi) {
            return;
        }
        let mut now: Vec<i64> = spans.iter().map(|(lo, _)| *lo).collect();
        loop {
            now[last] = spans[last].0;
            let start = self.start(self.key(&now));
            now[last] = spans[last].1;
            let end = self.start(self.key(&now) + 1);
            if start < end {
                runs.push(start..end);
            }
            let Some(r) = (0..last).rev().find(|&r| now[r] < spans[r].1) else { return };
            now[r] += 1;
            (r + 1..last).for_each(|r| now[r] = spans[r].0);
        }
    }

    /// What the pairs would cost if the sources were spread evenly over the box around them, in seconds.
    pub(super) fn cost_of_an_even_spread(job: Job<'_>) -> f64 {
        let reached = (2 * REACHES[0] + 1) as f64 * CELL;
        let share = |r: usize| {
            let (lo, hi) = job.sources.ends(r);
            (reached / (hi - lo).max(reached)).min(1.0)
        };
        let neighbours = (0..job.sources.dims()).fold(job.sources.len() as f64, |n, r| n * share(r));
        job.targets.len() as f64 * neighbours * PAIR_COST[usize::from(job.squares)]
    }

    /// What the pairs cost, in seconds.
    pub(super) fn cost(&self, job: Job<'_>) -> f64 {
        let count = job.targets.len();
        let (mut at, mut cell, mut runs) = (self.low.clone(), vec![0; self.low.len()], vec![]);
        let (mut seen, mut pairs) = (0, 0);
        for target in (0..count).step_by(count.div_ceil(SAMPLE).max(1)) {
            job.targets.read(target, &mut at);
            self.find(&at, &mut cell);
            self.runs(&cell, REACHES[0], &mut runs);
            seen += 1;
            pairs += runs.iter().map(Range::len).sum::<usize>();
        }
        count as f64 * pairs as f64 / f64::from(seen.max(1)) * PAIR_COST[usize::from(job.squares)]
    }

    /// The sums at all targets.
    pub(super) fn sums(&self, job: Job<'_>) -> Sums {
        let stride = job.stride();
        let mut data = vec![0.0; job.targets.len() * stride];
        let all: Vec<u32> = (0..job.targets.len() as u32).collect();
        self.correct(job, &all, &mut data);
        Sums { stride, data }
    }

    /// Puts the sums at some targets in place of what stands in `data`.
    pub(super) fn correct(&self, job: Job<'_>, targets: &[u32], data: &mut [f64]) {
        let stride = job.stride();
        let chosen = job.targets.reordered(targets);
        let sorted = self.sorted(&chosen);
        let block = parallel::block_length(sorted.len());
        // The work is not known; searches alone cost as much as a few dozen pairs.
        let parts = parallel::map(sorted.chunks(block), sorted.len() * 100, |block| {
            let mut walk = Walk::new(self, job);
            block.iter().flat_map(|&(_, n)| walk.sums(targets[n as usize] as usize)).collect::<Vec<f64>>()
        });
        let rows = parts.iter().flat_map(|part| part.chunks_exact(stride));
        for (&(_, n), row) in sorted.iter().zip(rows) {
            let target = targets[n as usize] as usize;
            data[target * stride..(target + 1) * stride].copy_from_slice(row);
        }
    }
}

/// A walk along targets, which remembers the neighbours of the last cell it was in.
struct Walk<'a> {
    cells: &'a Cells,
    job: Job<'a>,
    near: Near<'a>,
    cell: Vec<i64>,
    runs: Vec<Range<usize>>,
    last: Option<Vec<i64>>,
    /// Neighbours within a wider reach, for one target.
    wide: Vec<Range<usize>>,
}

impl<'a> Walk<'a> {
    fn new(cells: &'a Cells, job: Job<'a>) -> Self {
        let near = Near::new(&cells.sources, &cells.weights);
        Self { cells, job, near, cell: vec![0; job.sources.dims()], runs: vec![], last: None, wide: vec![] }
    }

    fn sums(&mut self, target: usize) -> Vec<f64> {
        self.job.targets.read(target, &mut self.near.at);
        self.cells.find(&self.near.at, &mut self.cell);
        if self.last.as_ref() != Some(&self.cell) {
            self.cells.runs(&self.cell, REACHES[0], &mut self.runs);
            self.last = Some(self.cell.clone());
        }
        let left_out = self.job.left_out(target).map(|n| self.cells.places[n] as usize);
        let mut out = vec![0.0; self.job.stride()];
        self.runs.iter().for_each(|run| self.near.add(run.clone(), left_out, &mut out));
        for pair in REACHES.windows(2) {
            let border = pair[0] as f64 * CELL;
            if self.cells.total_weight * (-0.5 * border * border).exp() <= TOLERANCE * out[0].abs() {
                break;
            }
            self.cells.runs(&self.cell, pair[1], &mut self.wide);
            out.fill(0.0);
            self.wide.iter().for_each(|run| self.near.add(run.clone(), left_out, &mut out));
        }
        out
    }
}
