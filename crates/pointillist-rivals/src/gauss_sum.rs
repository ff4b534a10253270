//! Sums of Gaussians: S(x) = Σ_m w_m exp(−|x − y_m|²/2) at many places x, and Σ_m w_m exp(−|x − y_m|²/2) (x_r − y_mr)² for each axis r.
//!
//! Everything is in units of the bandwidth. Three ways: every pair (exact but for rounding; up to four million pairs), the pairs that lie
//! near each other (`gauss_cells.rs`, for bandwidths that hold few events), a grid between sources and targets (`gauss_grid.rs`, for the
//! others, up to three axes). The cheapest one is taken, by an estimate that depends on the data alone.
//!
//! Error: 1e-9 of each sum, however small, or what rounding makes of it; typically 1e-12. That needs weights of one sign: with both, it is
//! 1e-9 of the sum that their absolute values have. The sums with squares: 1e-7 of the
//! larger of both.
//!
//! Not: other kernels, correlated bandwidths. Cost per target and source, on one core: 4 ns per pair; by a grid 0.2, 0.7, 20 µs in 1, 2, 3-D.

use super::gauss_cells::Cells;
use super::gauss_grid::Grid;
use pointillist::Points;
use pointillist::internals::numerics::dot;
use pointillist::internals::numerics::exp_in_place;
use pointillist::internals::parallel;
use std::ops::Range;

/// The error of a sum that is allowed, relative to it.
pub(super) const TOLERANCE: f64 = 1e-9;

/// Up to this many pairs all are summed.
const FEW_PAIRS: usize = 4_000_000;

/// Pairs whose exponentials are taken at a time.
const CHUNK: usize = 512;

/// Points in units of the bandwidth, one list per axis: sums run along these lists.
#[derive(Debug, Clone)]
pub(super) struct Cloud {
    pub(super) axes: Vec<Vec<f64>>,
}

impl Cloud {
    pub(super) fn new(points: &Points, bandwidth: &[f64]) -> Self {
        let axis = |r: usize| points.rows().map(|row| row[r] / bandwidth[r]).collect();
        Self { axes: (0..points.dims()).map(axis).collect() }
    }

    pub(super) fn dims(&self) -> usize {
        self.axes.len()
    }

    pub(super) fn len(&self) -> usize {
        self.axes[0].len()
    }

    /// Copies point `n` to `out`.
    pub(super) fn read(&self, n: usize, out: &mut [f64]) {
        out.iter_mut().zip(&self.axes).for_each(|(out, axis)| *out = axis[n]);
    }

    /// The points in another order.
    pub(super) fn reordered(&self, order: &[u32]) -> Self {
        let moved = |axis: &Vec<f64>| order.iter().map(|&n| axis[n as usize]).collect();
        Self { axes: self.axes.iter().map(moved).collect() }
    }

    /// The smallest and the largest coordinate on an axis; inside out if there are no points.
    pub(super) fn ends(&self, r: usize) -> (f64, f64) {
        let wider = |(lo, hi): (f64, f64), x: &f64| (lo.min(*x), hi.max(*x));
        self.axes[r].iter().fold((f64::INFINITY, f64::NEG_INFINITY), wider)
    }
}

/// Which sums are wanted.
#[derive(Clone, Copy)]
pub(super) struct Job<'a> {
    pub(super) targets: &'a Cloud,
    pub(super) sources: &'a Cloud,
    pub(super) weights: &'a [f64],
    /// The targets are the sources, and each leaves itself out.
    pub(super) leave_out: bool,
    /// The sums with squared distances too.
    pub(super) squares: bool,
}

impl Job<'_> {
    /// Numbers a target: the sum, and that with the square of each axis.
    pub(super) fn stride(&self) -> usize {
        if self.squares { 1 + self.sources.dims() } else { 1 }
    }

    /// The target that leaves source `n` out is target `n`.
    pub(super) fn left_out(&self, target: usize) -> Option<usize> {
        self.leave_out.then_some(target)
    }

    pub(super) fn total_weight(&self) -> f64 {
        self.weights.iter().map(|w| w.abs()).sum()
    }
}

/// Sums at the targets.
#[derive(Debug, Clone)]
pub(super) struct Sums {
    pub(super) stride: usize,
    /// For each target the sum, then those with squares. // (targets, stride)
    pub(super) data: Vec<f64>,
}

impl Sums {
    pub(super) fn rows(&self) -> std::slice::ChunksExact<'_, f64> {
        self.data.chunks_exact(self.stride)
    }

    /// The sums without squares.
    pub(super) fn values(&self) -> Vec<f64> {
        self.rows().map(|row| row[0]).collect()
    }
}

/// A way to the sums.
enum Plan {
    Direct,
    Near(Cells),
    Grid(Grid),
}

/// The sums, by the cheapest way.
pub(super) fn sums(job: Job<'_>) -> Sums {
    match choose(job) {
        Plan::Direct => direct(job),
        Plan::Near(cells) => cells.sums(job),
        Plan::Grid(grid) => grid.sums(job),
    }
}

fn choose(job: Job<'_>) -> Plan {
    if job.targets.len().saturating_mul(job.sources.len()) <= FEW_PAIRS {
        return Plan::Direct;
    }
    let Some(grid) = Grid::new(job) else { return Plan::Near(Cells::new(job)) };
    // Sorting into cells costs about as much as it may save; an even spread has the fewest pairs.
    if Cells::cost_of_an_even_spread(job) > 2.0 * grid.cost(job) {
        return Plan::Grid(grid);
    }
    let cells = Cells::new(job);
    if cells.cost(job) < grid.cost(job) { Plan::Near(cells) } else { Plan::Grid(grid) }
}

/// Every pair.
pub(super) fn direct(job: Job<'_>) -> Sums {
    let stride = job.stride();
    let mut data = vec![0.0; job.targets.len() * stride];
    let block = parallel::block_length(job.targets.len());
    let blocks = data.chunks_mut(block * stride).enumerate();
    parallel::for_each(blocks, job.targets.len() * job.sources.len(), |(index, out)| {
        let mut near = Near::new(job.sources, job.weights);
        for (n, out) in out.chunks_exact_mut(stride).enumerate() {
            let target = index * block + n;
            job.targets.read(target, &mut near.at);
            near.add(0..job.sources.len(), job.left_out(target), out);
        }
    });
    Sums { stride, data }
}

/// Sums pair by pair at one target after another.
pub(super) struct Near<'a> {
    sources: &'a Cloud,
    weights: &'a [f64],
    /// The target.
    pub(super) at: Vec<f64>,
    terms: Vec<f64>,
}

impl<'a> Near<'a> {
    pub(super) fn new(sources: &'a Cloud, weights: &'a [f64]) -> Self {
        Self { sources, weights, at: vec![0.0; sources.dims()], terms: vec![0.0; CHUNK] }
    }

    /// Adds the terms of a run of sources, one of them left out perhaps.
    pub(super) fn add(&mut self, run: Range<usize>, left_out: Option<usize>, out: &mut [f64]) {
        match left_out.filter(|n| run.contains(n)) {
            Some(n) => {
                self.add_run(run.start..n, out);
                self.add_run(n + 1..run.end, out);
            }
            None => self.add_run(run, out),
        }
    }

    fn add_run(&mut self, run: Range<usize>, out: &mut [f64]) {
        let mut start = run.start;
        while start < run.end {
            let end = run.end.min(start + CHUNK);
            self.add_chunk(start..end, out);
            start = end;
        }
    }

    fn add_chunk(&mut self, run: Range<usize>, out: &mut [f64]) {
        let terms = &mut self.terms[..run.len()];
        terms.fill(0.0);
        for (axis, at) in self.sources.axes.iter().zip(&self.at) {
            for (term, y) in terms.iter_mut().zip(&axis[run.clone()]) {
                *term -= 0.5 * (y - at) * (y - at);
            }
        }
        exp_in_place(terms);
        let weights = &self.weights[run.clone()];
        out[0] += dot(terms, weights);
        if out.len() > 1 {
            terms.iter_mut().zip(weights).for_each(|(term, w)| *term *= w);
            for (r, (axis, at)) in self.sources.axes.iter().zip(&self.at).enumerate() {
                out[1 + r] += weighted_squares(terms, &axis[run.clone()], *at);
            }
        }
    }
}

/// Σ t_i (y_i − x)², with four running sums so that it vectorises.
fn weighted_squares(terms: &[f64], y: &[f64], x: f64) -> f64 {
    let mut sums = [0.0; 4];
    let whole = y.len() / 4 * 4;
    for (terms, y) in terms.chunks_exact(4).zip(y.chunks_exact(4)) {
        for lane in 0..4 {
            sums[lane] += terms[lane] * (y[lane] - x) * (y[lane] - x);
        }
    }
    let tail: f64 = (whole..y.len()).map(|i| terms[i] * (y[i] - x) * (y[i] - x)).sum();
    sums.iter().sum::<f64>() + tail
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Points of no order in the unit box, a third of them in a cluster, and an outlier.
    fn points(dims: usize, count: usize) -> Points {
        let place = |n: usize, r: usize| ((n * dims + r) as f64 * [0.618_034, 0.754_878, 0.819_173][r] + 0.137).fract();
        let squeezed = |n: usize, x: f64| if n.is_multiple_of(3) { 0.7 + 0.02 * x } else { 0.9 * x };
        let mut rows: Vec<Vec<f64>> =
            (0..count).map(|n| (0..dims).map(|r| squeezed(n, place(n * 7919, r))).collect()).collect();
        rows.push(vec![1.0; dims]);
        rows.sort_by(|a, b| a[0].total_cmp(&b[0]));
        Points::new(dims, rows.concat()).unwrap()
    }

    fn worst(got: &Sums, want: &Sums, column: usize) -> f64 {
        let error = |(a, b): (&[f64], &[f64])| {
            let size = b[0].max(b[column]);
            if a[column] == b[column] { 0.0 } else { (a[column] - b[column]).abs() / size }
        };
        got.rows().zip(want.rows()).map(error).fold(0.0, f64::max)
    }

    fn compare(dims: usize, count: usize, h: f64) {
        let points = points(dims, count);
        let cloud = Cloud::new(&points, &vec![h; dims]);
        let weights: Vec<f64> = (0..cloud.len()).map(|n| 1.0 + (n % 5) as f64).collect();
        for leave_out in [true, false] {
            let job = Job { targets: &cloud, sources: &cloud, weights: &weights, leave_out, squares: true };
            let want = direct(job);
            let ways = [Some(Cells::new(job).sums(job)), Grid::new(job).map(|grid| grid.sums(job))];
            for (way, got) in ways.iter().enumerate().filter_map(|(way, got)| got.as_ref().map(|got| (way, got))) {
                let errors: Vec<f64> = (0..got.stride).map(|column| worst(got, &want, column)).collect();
                let is_good = errors[0] <= TOLERANCE && errors[1..].iter().all(|e| *e <= 1e-7);
                assert!(is_good, "{dims}-D, {count}, h = {h}, {leave_out}, way {way}: {errors:?}");
            }
        }
    }

    #[test]
    fn every_way_gives_the_sum_over_all_pairs() {
        for h in [10.0, 0.5, 0.05, 0.005, 5e-4, 1e-4] {
            compare(1, 3000, h);
            compare(2, 2000, h);
        }
        for h in [3.0, 0.3, 0.05, 0.005] {
            compare(3, 500, h);
        }
    }

    #[test]
    fn sums_far_from_all_sources_are_right_too() {
        let sources = Cloud::new(&points(2, 1500), &[0.01, 0.01]);
        let weights = vec![0.5; sources.len()];
        let far = Points::from_rows(&[[1.1, 1.1], [1.2, 1.0], [-0.2, 0.5], [1.25, 1.25], [2.0, -3.0], [1e9, 0.0]]);
        let targets = Cloud::new(&far.unwrap(), &[0.01, 0.01]);
        let job = Job { targets: &targets, sources: &sources, weights: &weights, leave_out: false, squares: true };
        let want = direct(job);
        assert!(want.data[0] < 1e-40 && want.data[0] > 0.0 && want.values()[4] == 0.0);
        for got in [Some(Cells::new(job).sums(job)), Grid::new(job).map(|grid| grid.sums(job))].into_iter().flatten() {
            assert!((0..3).all(|column| worst(&got, &want, column) < 1e-9), "{:?} {:?}", got.data, want.data);
        }
    }

    #[test]
    fn the_same_bits_on_one_thread_and_on_three() {
        let cloud = Cloud::new(&points(2, 20_000), &[0.03, 0.02]);
        let weights = vec![1.0; cloud.len()];
        let job = Job { targets: &cloud, sources: &cloud, weights: &weights, leave_out: true, squares: true };
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| (sums(job).data, Cells::new(job).sums(job).data))
        };
        assert_eq!(on(1), on(3));
    }
}
