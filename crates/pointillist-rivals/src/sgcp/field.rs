//! The Gaussian process at finitely many points, with unit variance and no mean: a root of its correlation, draws, conditional draws.
//!
//! Correlation R_ij = exp(−½ Σ_r (x_ir−x_jr)²/ℓ_r²). It is smooth, so R is singular to all practical purposes once points are closer than
//! ℓ: hundreds of values are a few dozen numbers. [`Root`] is a Cholesky factor that leaves out every direction with less than `jitter`
//! of the variance given those before it; f at such a point is its mean given the others, and so is held to √jitter of its standard
//! deviation. A draw at new points given values at others continues the root: old points first, white noise for the new ones.
//!
//! Cost for n points of numerical rank r: a root n r². Where f is rough r nears n: the cube.

use pointillist::Points;
use pointillist::internals::numerics::exp_in_place;
use pointillist::internals::numerics::{Matrix, linalg};
use pointillist::internals::sample;
use rand::Rng;
use rand_distr::{Distribution, StandardNormal};
use std::f64::consts::TAU;

/// Part of the jitter up to which directions may be missing from a draw: less than anything a root can see.
const NEGLIGIBLE: f64 = 1e-2;
/// Columns of a root that are made together.
const PANEL: usize = 16;
/// Length-scales by which a box seems longer to [`rank`] than it is.
const AT_ENDS: f64 = 2.5;
/// Points after which an order is fine enough: what is between them is interpolated.
const SPREAD: usize = 128;

/// Coordinates in units of the length-scales, row after row.
fn scaled(points: &Points, lengthscales: &[f64]) -> Vec<f64> {
    points.rows().flat_map(|row| row.iter().zip(lengthscales).map(|(x, l)| x / l)).collect()
}

/// Correlations of the point `at` with all rows of `x`, without jitter.
fn correlations(x: &[f64], at: &[f64], out: &mut [f64]) {
    for (out, row) in out.iter_mut().zip(x.chunks_exact(at.len())) {
        *out = -0.5 * row.iter().zip(at).map(|(x, y)| (x - y) * (x - y)).sum::<f64>();
    }
    exp_in_place(out);
}

/// Every point as far as can be from those before it, distances taken in units of `sides`; once there are [`SPREAD`] the rest as they come.
pub(super) fn farthest_first(points: &Points, sides: &[f64]) -> Vec<usize> {
    let (size, dims, x) = (points.len(), points.dims(), scaled(points, sides));
    let mut distances = vec![f64::INFINITY; size];
    let mut order = Vec::with_capacity(size);
    let mut next = 0;
    for _ in 0..size.min(SPREAD) {
        order.push(next);
        let at = &x[next * dims..(next + 1) * dims];
        let mut farthest = 0.0;
        for (n, (distance, row)) in distances.iter_mut().zip(x.chunks_exact(dims)).enumerate() {
            *distance = distance.min(row.iter().zip(at).map(|(x, y)| (x - y) * (x - y)).sum());
            if *distance > farthest {
                (farthest, next) = (*distance, n);
            }
        }
        if farthest == 0.0 {
            break; // what is left are copies
        }
    }
    let mut taken = vec![false; size];
    order.iter().for_each(|&n| taken[n] = true);
    order.extend((0..size).filter(|&n| !taken[n]));
    order
}

/// A root of R: f = Σ_k column_k ν_k, ν white. There is a ν for every point, in the order of the factor, but those of points that are left
/// out do not matter.
///
/// The order matters to nobody but the whitened coordinates. Taken farthest first they go from coarse to fine, so that the values they
/// stand for bend gently as a length-scale changes; taken along a line, each would be extrapolated from its neighbours.
#[derive(Debug, Clone)]
pub(super) struct Root {
    /// Places in the factor → points.
    order: Vec<usize>,
    /// The places that are not left out, rising.
    active: Vec<usize>,
    /// One column for each of these, rows in the order of the factor. // (n, r)
    columns: Matrix,
    /// Their rows of the columns. // (r, r), lower triangular
    square: Matrix,
}

/// A root in the making.
struct Growing {
    x: Vec<f64>,
    dims: usize,
    columns: Vec<f64>,
    active: Vec<usize>,
    /// The variance of each point given the columns so far.
    left: Vec<f64>,
}

impl Growing {
    /// Adds columns for those of these places, in turn, that have more than `floor` of their variance left.
    fn add(&mut self, panel: &[usize], floor: f64) -> Option<()> {
        let size = self.left.len();
        let mut fresh = self.unexplained(panel);
        let mut added: Vec<usize> = Vec::new();
        for (p, &j) in panel.iter().enumerate() {
            if self.left[j] <= floor {
                continue;
            }
            if !self.left[j].is_finite() {
                return None;
            }
            let (before, column) = fresh.split_at_mut(p * size);
            let column = &mut column[j..size];
            for &q in &added {
                let known = &before[q * size..(q + 1) * size];
                linalg::add_scaled(column, -known[j], &known[j..]);
            }
            let scale = 1.0 / self.left[j].sqrt();
            column.iter_mut().for_each(|c| *c *= scale);
            self.left[j..].iter_mut().zip(&*column).for_each(|(left, c)| *left -= c * c);
            added.push(p);
        }
        for &p in &added {
            fresh[p * size..p * size + panel[p]].fill(0.0);
            self.columns.extend_from_slice(&fresh[p * size..(p + 1) * size]);
            self.active.push(panel[p]);
        }
        Some(())
    }

    /// The correlations of these places with all points, less what the columns so far explain: one matrix product. Places rise.
    fn unexplained(&self, panel: &[usize]) -> Vec<f64> {
        let (size, dims) = (self.left.len(), self.dims);
        let mut fresh = vec![0.0; size * panel.len()];
        if !self.columns.is_empty() {
            let rows: Vec<f64> = panel.iter().flat_map(|&j| self.columns[j..].iter().step_by(size)).copied().collect();
            // Rows above the panel are not looked at.
            linalg::product_rows_from(panel[0], size, &self.columns, &rows, &mut fresh);
        }
        let mut column = vec![0.0; size];
        for (&j, explained) in panel.iter().zip(fresh.chunks_exact_mut(size)) {
            correlations(&self.x[j * dims..], &self.x[j * dims..(j + 1) * dims], &mut column[j..]);
            explained[j..].iter_mut().zip(&column[j..]).for_each(|(e, c)| *e = c - *e);
        }
        fresh
    }
}

/// Which points a root leaves out.
pub(super) enum Keep<'a> {
    /// Those with no more than this part of the variance left.
    Above(f64),
    /// The same as this one.
    As(&'a Root),
}

impl Root {
    /// None if a direction that must be kept has no variance left.
    pub(super) fn new(points: &Points, order: Vec<usize>, lengthscales: &[f64], keep: Keep<'_>) -> Option<Self> {
        let (size, dims) = (points.len(), points.dims());
        let ordered = Points::of_rows(dims, order.iter().flat_map(|&n| points.row(n).to_vec()).collect());
        let x = scaled(&ordered, lengthscales);
        let mut growing = Growing { x, dims, columns: vec![], active: vec![], left: vec![1.0; size] };
        match keep {
            Keep::As(other) => {
                for panel in other.active.chunks(PANEL) {
                    growing.add(panel, 0.0)?;
                }
                if growing.active.len() < other.active.len() {
                    return None;
                }
            }
            Keep::Above(floor) => {
                let mut next = 0;
                loop {
                    let rest = (next..size).filter(|&j| growing.left[j] > floor);
                    let panel: Vec<usize> = rest.take(PANEL).collect();
                    let Some(&last) = panel.last() else { break };
                    growing.add(&panel, floor)?;
                    next = last + 1;
                }
            }
        }
        let Growing { columns, active, .. } = growing;
        let columns = Matrix::from_columns(size, columns);
        let square =
            Matrix::from_fn(active.len(), active.len(), |i, k| if i < k { 0.0 } else { columns[(active[i], k)] });
        Some(Self { order, active, columns, square })
    }

    /// The order of its factor.
    pub(super) fn order(&self) -> &[usize] {
        &self.order
    }

    fn outward(&self, ordered: &[f64]) -> Vec<f64> {
        let mut values = vec![0.0; ordered.len()];
        self.order.iter().zip(ordered).for_each(|(&n, v)| values[n] = *v);
        values
    }

    /// The values that white noise, one number per point, stands for.
    pub(super) fn colour(&self, white: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; white.len()];
        for (k, &j) in self.active.iter().enumerate() {
            linalg::add_scaled(&mut out[j..], white[j], &self.columns.col(k)[j..]);
        }
        self.outward(&out)
    }

    /// White noise that stands for values; what does not matter is drawn.
    pub(super) fn whiten(&self, values: &[f64], rng: &mut impl Rng) -> Vec<f64> {
        let mut white = sample::standard_normal(rng, self.order.len());
        self.active.iter().zip(self.solved(values)).for_each(|(&j, w)| white[j] = w);
        white
    }

    /// White noise of the active places.
    fn solved(&self, values: &[f64]) -> Vec<f64> {
        let mut out: Vec<f64> = self.active.iter().map(|&j| values[self.order[j]]).collect();
        if !out.is_empty() {
            linalg::solve_lower(&self.square, &mut out);
        }
        out
    }

    /// `R⁻¹ values`, R that of the points that are not left out; zero at those that are.
    pub(super) fn solve(&self, values: &[f64]) -> Vec<f64> {
        let mut solved = self.solved(values);
        if !solved.is_empty() {
            linalg::solve_lower_transposed(&self.square, &mut solved);
        }
        let mut out = vec![0.0; values.len()];
        self.active.iter().zip(solved).for_each(|(&j, v)| out[self.order[j]] = v);
        out
    }

    /// Several draws from the prior.
    pub(super) fn draws(&self, rng: &mut impl Rng, count: usize) -> Vec<Vec<f64>> {
        let size = self.order.len();
        if self.active.is_empty() {
            return vec![vec![0.0; size]; count];
        }
        let white = sample::standard_normal(rng, self.active.len() * count);
        let mut out = vec![0.0; size * count];
        linalg::product_columns(&self.columns, &white, &mut out);
        out.chunks_exact(size).map(|draw| self.outward(draw)).collect()
    }
}

/// Σ_j k(new_i, known_j) w_j.
pub(super) fn cross_times(new: &Points, known: &Points, lengthscales: &[f64], weights: &[f64]) -> Vec<f64> {
    let heavy = known.rows().zip(weights).filter(|(_, w)| **w != 0.0);
    let heavy = Points::of_rows(known.dims(), heavy.flat_map(|(row, _)| row.to_vec()).collect());
    let weights: Vec<f64> = weights.iter().copied().filter(|w| *w != 0.0).collect();
    let (from, to) = (scaled(&heavy, lengthscales), scaled(new, lengthscales));
    let mut row = vec![0.0; heavy.len()];
    to.chunks_exact(new.dims())
        .map(|at| {
            correlations(&from, at, &mut row);
            linalg::dot(&row, &weights)
        })
        .collect()
}

/// A draw from the prior at points, all but a hundredth of `jitter` of its variance.
pub(super) fn prior_draw(rng: &mut impl Rng, points: &Points, lengthscales: &[f64], jitter: f64) -> Vec<f64> {
    prior_draw_in_turn(rng, &[points], lengthscales, jitter).concat()
}

/// The same at one group of points after the other: what is drawn at a group does not depend on those after it.
pub(super) fn prior_draw_in_turn(
    rng: &mut impl Rng,
    groups: &[&Points],
    lengthscales: &[f64],
    jitter: f64,
) -> Vec<Vec<f64>> {
    let (dims, x) = (lengthscales.len(), groups.iter().flat_map(|g| scaled(g, lengthscales)).collect::<Vec<_>>());
    let mut out = vec![0.0; x.len() / dims];
    let mut left = vec![1.0f64; out.len()];
    let mut directions: Vec<Vec<f64>> = Vec::new();
    let mut end = 0;
    for group in groups {
        let start = end;
        end += group.len();
        while let Some(pivot) = (start..end).max_by(|&i, &j| left[i].total_cmp(&left[j])) {
            if left[pivot] <= NEGLIGIBLE * jitter {
                break;
            }
            let mut direction = vec![0.0; out.len()];
            correlations(&x, &x[pivot * dims..(pivot + 1) * dims], &mut direction);
            for known in &directions {
                linalg::add_scaled(&mut direction, -known[pivot], known);
            }
            let scale = 1.0 / left[pivot].sqrt();
            direction.iter_mut().for_each(|d| *d *= scale);
            left.iter_mut().zip(&direction).for_each(|(left, d)| *left = (*left - d * d).max(0.0));
            left[pivot] = 0.0;
            linalg::add_scaled(&mut out, StandardNormal.sample(rng), &direction);
            directions.push(direction);
        }
    }
    let mut out = out.into_iter();
    groups.iter().map(|group| out.by_ref().take(group.len()).collect()).collect()
}

/// About how many numbers a draw at many points in a box is made of. Waves that are shorter than 2πℓ/c have less than a
/// hundredth of `jitter` of the variance; a box holds as many of the longer ones as a ball of radius c, in units of 1/ℓ,
/// times Π side/2π, and some more because it ends.
pub(super) fn rank(sides: &[f64], lengthscales: &[f64], jitter: f64) -> f64 {
    let c = (-2.0 * (NEGLIGIBLE * jitter).ln()).sqrt();
    let waves = |(side, l): (&f64, &f64)| c * (side / l + AT_ENDS) / TAU;
    unit_ball(sides.len()) * sides.iter().zip(lengthscales).map(waves).product::<f64>()
}

/// The volume of the ball of radius 1.
fn unit_ball(dims: usize) -> f64 {
    match dims {
        0 => 1.0,
        1 => 2.0,
        _ => unit_ball(dims - 2) * TAU / dims as f64,
    }
}

/// Points, and white noise at them.
#[derive(Clone, Copy)]
pub(super) struct Noise<'a> {
    pub(super) points: &'a Points,
    pub(super) white: &'a [f64],
}

/// What white noise stands for at new points, given what other white noise stands for at those of a root. The length-scales may be others
/// than the root's: then both are what the noise stands for under these. None if a factorisation fails.
pub(super) fn continued(
    root: &Root,
    known: Noise<'_>,
    new: Noise<'_>,
    lengthscales: &[f64],
    jitter: f64,
) -> Option<Vec<f64>> {
    let held = known.points.len();
    let order = root.order.iter().copied().chain(held..held + new.points.len()).collect();
    let longer = Root::new(&known.points.followed_by(new.points), order, lengthscales, Keep::Above(jitter))?;
    Some(longer.colour(&[known.white, new.white].concat()).split_off(held))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pointillist::internals::sample::stream;
    use rand::RngExt;

    const JITTER: f64 = 1e-8;

    fn root(points: &Points, lengthscales: &[f64]) -> Root {
        Root::new(points, farthest_first(points, &[1.0]), lengthscales, Keep::Above(JITTER)).unwrap()
    }

    fn scattered(range: std::ops::Range<usize>) -> Points {
        Points::line(&range.map(|i| (i as f64 * 0.618_034).fract()).collect::<Vec<_>>()).unwrap()
    }

    fn further(rng: &mut impl Rng, root: &Root, known: &Points, values: &[f64], new: &Points, l: f64) -> Vec<f64> {
        let (white, fresh) = (root.whiten(values, rng), sample::standard_normal(rng, new.len()));
        continued(root, Noise { points: known, white: &white }, Noise { points: new, white: &fresh }, &[l], JITTER)
            .unwrap()
    }

    #[test]
    fn a_root_rebuilds_the_correlation_with_few_columns() {
        let points = scattered(0..200);
        let root = root(&points, &[0.2]);
        assert!(root.active.len() < 40, "{}", root.active.len());
        let column = |k: usize| root.colour(&(0..200).map(|j| f64::from(j == root.active[k])).collect::<Vec<_>>());
        let columns: Vec<Vec<f64>> = (0..root.active.len()).map(column).collect();
        for i in 0..200 {
            for j in 0..200 {
                let got: f64 = columns.iter().map(|c| c[i] * c[j]).sum();
                let want = (-0.5 * ((points.row(i)[0] - points.row(j)[0]) / 0.2).powi(2)).exp();
                assert!((got - want).abs() < 1e-7, "{i} {j} {got} {want}");
            }
        }
        let same = Root::new(&points, root.order.clone(), &[0.21], Keep::As(&root)).unwrap();
        assert_eq!(same.active, root.active);
    }

    #[test]
    fn conditional_draws_have_the_mean_and_covariance_of_the_textbook() {
        let known = Points::line(&[0.0, 0.3, 1.0, 1.1]).unwrap();
        let new = Points::line(&[0.15, 0.6, 2.0]).unwrap();
        let (values, lengthscales) = ([0.5, -0.2, 1.0, 0.9], [0.4]);
        let root = root(&known, &lengthscales);
        let k = |x: f64, y: f64| (-0.5 * ((x - y) / 0.4).powi(2)).exp();
        let weights = |x: f64| root.solve(&known.rows().map(|row| k(row[0], x)).collect::<Vec<_>>());
        let mut rng = stream(5, 0);
        let draws: Vec<Vec<f64>> = (0..40_000).map(|_| further(&mut rng, &root, &known, &values, &new, 0.4)).collect();
        let mean: Vec<f64> = (0..3).map(|i| draws.iter().map(|d| d[i]).sum::<f64>() / draws.len() as f64).collect();
        for i in 0..3 {
            let (x, w) = (new.row(i)[0], weights(new.row(i)[0]));
            let want = linalg::dot(&w, &values);
            assert!((mean[i] - want).abs() < 0.02, "{i} {} {want}", mean[i]);
            for j in 0..3 {
                let y = new.row(j)[0];
                let explained: f64 = known.rows().zip(&w).map(|(row, w)| w * k(row[0], y)).sum();
                let want = k(x, y) - explained;
                let products = draws.iter().map(|d| (d[i] - mean[i]) * (d[j] - mean[j]));
                let got = products.sum::<f64>() / draws.len() as f64;
                assert!((got - want).abs() < 0.02 * (1.0 + want.abs()), "{i} {j} {got} {want}");
            }
        }
    }

    #[test]
    fn values_drawn_in_two_goes_are_as_white_as_those_drawn_in_one() {
        let (known, new) = (scattered(0..20), scattered(20..50));
        let all = known.followed_by(&new);
        let (first, both) = (root(&known, &[0.3]), root(&all, &[0.3]));
        let mut rng = stream(6, 0);
        let (mut square, draws, rank) = (0.0, 2000, both.active.len() as f64);
        for _ in 0..draws {
            let values = prior_draw(&mut rng, &known, &[0.3], JITTER);
            let more = further(&mut rng, &first, &known, &values, &new, 0.3);
            let values = [values, more].concat();
            let white = both.solved(&values);
            square += linalg::dot(&white, &white) / (rank * draws as f64);
            let again = both.colour(&both.whiten(&values, &mut rng));
            assert!(values.iter().zip(&again).all(|(a, b)| (a - b).abs() < 1e-3));
        }
        assert!((square - 1.0).abs() < 0.05, "{square}");
    }

    #[test]
    fn ranks_are_foreseen() {
        for (dims, side) in [(1, 5.0), (1, 100.0), (2, 3.0), (2, 10.0), (3, 3.0)] {
            let mut rng = stream(7, 0);
            let points = Points::of_rows(dims, (0..2000 * dims).map(|_| side * rng.random::<f64>()).collect());
            let (order, keep) = (farthest_first(&points, &[1.0; 3]), Keep::Above(NEGLIGIBLE * JITTER));
            let found = Root::new(&points, order, &[1.0; 3], keep).unwrap().active.len() as f64;
            let foreseen = rank(&vec![side; dims], &[1.0; 3], JITTER);
            assert!((0.8..1.6).contains(&(foreseen / found)), "{dims} axes, side {side}: {foreseen} for {found}");
        }
    }
}
