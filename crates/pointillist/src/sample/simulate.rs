//! Events from any intensity on any window: a Poisson process of rate repeats · exposure · rate(x).
//!
//! Thinning under a ceiling found cell by cell. Each piece of the window is cut into cells, the rate is looked at in a few points of each,
//! and where it changes much between them its highest point is climbed to; a cell in which most candidates would be thrown away is
//! halved, again and again, so that a spike costs little. A ceiling is 1.3 times the highest rate seen, and the largest change between
//! neighbouring points more; the exposure's part of it is exact.
//!
//! A candidate is a place and a height under the ceiling; it is an event if it lies below the rate. Should a rate show above its ceiling,
//! the ceiling is raised and candidates are drawn in the strip between the old one and the new: those below stay as they are. Drawing the
//! cell anew instead would be wrong where events are few, since it is an event there that brings the second draw about.
//!
//! It does not know the rate between the points it looks at: a spike so narrow that no point of any cell is on it or on its foot, nor a
//! candidate, is missed. The points of a cell are its corners and some at random places inside, so that no period hides between them.
//!
//! Cost: about 20 000 evaluations to find the cells on one or two axes, 75 000 on three, several times that if the rate is rough; then
//! about two per event.

use super::{stream, thinning};
use crate::data::points::Points;
use crate::error::{Error, Result};
use crate::parallel;
use crate::window::{AxisRule, Nodes, Piece, Window, node_count};
use rand::{Rng, RngExt};

/// Most axes: the points of a cell grow by three with each.
const MOST_AXES: usize = 8;
/// Cells to begin with: of one axis, and at most of several.
const CELLS: [f64; 2] = [4096.0, 2744.0];
/// Evaluations to begin with, on many axes.
const FIRST_PROBES: f64 = 200_000.0;
/// Evaluations after which cells are not halved any more.
const MOST_PROBES: usize = 3_000_000;
/// Ceiling over the highest rate seen.
const HEADROOM: f64 = 1.3;
/// A cell is rough if the rate changes by more than this part of its height between neighbouring points.
const ROUGH: f64 = 0.5;
/// Rounds of a climb: each tries a step both ways on each axis, or halves the step.
const ROUNDS: usize = 16;
/// Ceiling over the rate that exceeded the last one.
const RAISE: f64 = 1.5;
/// A cell is halved if more than this many candidates, and more than half of them, are thrown away in it.
const WASTE: f64 = 10.0;
/// Most candidates of a draw, and most that one raise may bring.
const MOST_CANDIDATES: f64 = 1e9;
const MOST_RAISED: f64 = 2e7;
/// Candidates that are held at a time.
const BATCH: f64 = 500_000.0;
/// Points evaluated at a time.
const BLOCK: usize = 4096;
/// What an evaluation costs, in the measure of [`parallel`].
const EVALUATION: usize = 40;
/// Panels per axis for the expected number, by the number of axes.
const PANELS: [usize; MOST_AXES] = [256, 64, 16, 6, 3, 2, 1, 1];
/// So many candidates an expected event mean that the nodes miss spikes.
const UNSEEN: f64 = 8.0;
/// The expected number is known if half as many panels more change it by at most this part.
const SETTLED: f64 = 1e-3;
/// Most nodes for the expected number.
const MOST_NODES: usize = 3_000_000;

/// Rates at points.
type Rates<'a> = Box<dyn Fn(&Points) -> Result<Vec<f64>> + Sync + 'a>;

/// Events from `rate` on the window, whose repeats and exposure multiply it: draw number `draw` of `seed`. On one axis they rise; on
/// several they come in no order. For many draws make one [`Simulation`].
///
/// ```
/// use pointillist::{Window, simulate};
///
/// let events = simulate(&Window::interval(0.0, 5.0)?, |x| 5.0 * (x[0] * x[0]).sin() + 6.0, 0, 0)?;
/// assert!(events.len() > 10 && events.len() < 60);
/// # Ok::<(), pointillist::Error>(())
/// ```
pub fn simulate(window: &Window, rate: impl Fn(&[f64]) -> f64 + Sync, seed: u64, draw: u64) -> Result<Points> {
    Simulation::new(window, rate)?.draw(seed, draw)
}

/// A rate on a window, with the cells in which events are drawn.
///
/// ```
/// use pointillist::{Simulation, Window};
///
/// let window = Window::interval(0.0, 5.0)?;
/// let simulation = Simulation::new(&window, |x| 3.0 * x[0])?;
/// assert!(simulation.expected().is_some_and(|expected| (expected - 37.5).abs() < 1e-6));
/// let sets = (0..10).map(|draw| simulation.draw(0, draw)).collect::<Result<Vec<_>, _>>()?;
/// assert!(sets[0] != sets[1] && sets.iter().all(|events| events.len() > 10));
/// # Ok::<(), pointillist::Error>(())
/// ```
pub struct Simulation<'a> {
    window: &'a Window,
    rates: Rates<'a>,
    cells: Vec<Cell>,
}

/// A box inside the box of a piece of the window.
struct Place {
    piece: usize,
    lo: Vec<f64>,
    hi: Vec<f64>,
    /// The highest rate seen in it so far, and where: what one level of cells saw the next may miss.
    peak: Option<(Vec<f64>, f64)>,
}

/// A place that has been looked at.
struct Cell {
    place: Place,
    /// The largest change of the rate between neighbouring points.
    change: f64,
    /// Rate of the candidates, repeats and exposure included; unknown if the rate is none in all points, which then lie outside.
    ceiling: Option<f64>,
    /// The mean of what it must cover.
    mean: f64,
    /// The axis on which that changes most.
    steepest: usize,
}

/// Candidates of a cell between two heights.
struct Strip<'a> {
    cell: &'a Cell,
    from: f64,
    to: f64,
}

impl Place {
    fn volume(&self) -> f64 {
        self.lo.iter().zip(&self.hi).map(|(lo, hi)| hi - lo).product()
    }

    /// The point at these fractions of the sides.
    fn point<'p>(&'p self, fractions: impl Iterator<Item = f64> + 'p) -> impl Iterator<Item = f64> + 'p {
        let ends = self.lo.iter().zip(&self.hi);
        // Rounding must not lead out.
        ends.zip(fractions).map(|((&lo, &hi), fraction)| (lo + (hi - lo) * fraction).min(hi))
    }

    /// The points one step, a fraction of the sides, below and above the peak on each axis: rows of coordinates.
    fn around_the_peak(&self, step: f64) -> Vec<f64> {
        let Some((peak, _)) = &self.peak else { return Vec::new() };
        let mut rows = Vec::with_capacity(2 * peak.len() * peak.len());
        for (r, &x) in peak.iter().enumerate() {
            let step = step * (self.hi[r] - self.lo[r]);
            for moved in [x - step, x + step] {
                let start = rows.len();
                rows.extend_from_slice(peak);
                rows[start + r] = moved.clamp(self.lo[r], self.hi[r]);
            }
        }
        rows
    }

    /// Its halves along an axis.
    fn halves(self, axis: usize) -> [Self; 2] {
        let middle = 0.5 * (self.lo[axis] + self.hi[axis]);
        let (low, high) = match self.peak {
            Some(peak) if peak.0[axis] < middle => (Some(peak), None),
            peak => (None, peak),
        };
        let (mut under, mut over) = (self.hi.clone(), self.lo.clone());
        (under[axis], over[axis]) = (middle, middle);
        [
            Place { piece: self.piece, lo: self.lo, hi: under, peak: low },
            Place { piece: self.piece, lo: over, hi: self.hi, peak: high },
        ]
    }
}

impl Cell {
    fn candidates(&self) -> f64 {
        self.ceiling.unwrap_or(0.0) * self.place.volume()
    }

    fn is_rough(&self) -> bool {
        self.place.peak.as_ref().is_some_and(|peak| self.change > ROUGH * peak.1)
    }

    fn is_wasteful(&self) -> bool {
        let useful = self.mean * self.place.volume();
        self.candidates() - useful > WASTE.max(useful)
    }
}

impl<'a> Simulation<'a> {
    /// Looks at a rate all over the window.
    pub fn new(window: &'a Window, rate: impl Fn(&[f64]) -> f64 + Sync + 'a) -> Result<Self> {
        Self::of_batches(window, move |points| Ok(points.rows().map(&rate).collect()))
    }

    /// The same with a rate that is best computed at many points at once: one value per point.
    pub fn of_batches(window: &'a Window, rates: impl Fn(&Points) -> Result<Vec<f64>> + Sync + 'a) -> Result<Self> {
        if window.dims() > MOST_AXES {
            return Err(Error::setting("axes", window.dims(), format!("must be at most {MOST_AXES} to draw events")));
        }
        let mut simulation = Self { window, rates: Box::new(rates), cells: Vec::new() };
        simulation.cells = simulation.find_cells()?;
        let candidates = simulation.candidates();
        if candidates <= MOST_CANDIDATES {
            return Ok(simulation);
        }
        let requirement = format!("must be at most {MOST_CANDIDATES:e}; take a lower rate or a smaller window");
        Err(Error::setting("number of candidates", format!("{candidates:.3e}"), requirement))
    }

    /// The mean number of candidates of a draw, which is above that of the events: what a draw costs.
    pub fn candidates(&self) -> f64 {
        self.cells.iter().map(Cell::candidates).sum()
    }

    /// The mean number of events of a draw, by Gauss-Legendre quadrature over ever narrower panels until more of them change nothing: exact to
    /// many digits if the rate is smooth over 1/256 of the window's side (two axes: 1/64; three: 1/16). None if it fails: where it does not settle,
    /// where the cells found spikes that it does not see, where the exposure's grid is too fine for it, or where the rate is no number just
    /// outside the window's outline.
    pub fn expected(&self) -> Option<f64> {
        let is_seen = |expected: &f64| expected.is_finite() && self.candidates() <= UNSEEN * expected;
        let mut panels = PANELS[self.window.dims() - 1];
        let finer = |panels: usize| panels + panels.div_ceil(2);
        let mut last = self.integral(panels)?;
        let mut settled = 0;
        // Twice, since one step may agree with the last by chance where the rate jumps.
        while settled < 2 {
            panels = finer(panels);
            let Some(next) = self.integral(panels) else { break };
            settled = if (next - last).abs() <= SETTLED * next { settled + 1 } else { 0 };
            if next.is_nan() {
                return None;
            }
            last = next;
        }
        // On many axes there is no room for finer panels: then the first must do.
        let is_known = settled > 0 || panels == finer(PANELS[self.window.dims() - 1]);
        Some(last).filter(|last| is_known && is_seen(last))
    }

    /// The integral of repeats · exposure · rate with so many panels per axis; none where these are too many.
    fn integral(&self, panels: usize) -> Option<f64> {
        let spans = self.window.bounding_box();
        let cut = |lo: f64, length: f64| (1..panels).map(|i| lo + length * i as f64 / panels as f64).collect();
        let cuts: Vec<Vec<f64>> = spans.iter().map(|span| cut(span.lo, span.length())).collect();
        let rules: Vec<AxisRule> = cuts.iter().map(|kinks| AxisRule { length: f64::INFINITY, kinks }).collect();
        let pieces = self.window.nodes(&rules);
        if node_count(&pieces) > MOST_NODES {
            return None;
        }
        let Nodes { points, weights } = Nodes::of_pieces(&pieces);
        Some(self.rates_at(&points).ok()?.iter().zip(&weights).map(|(rate, w)| w * rate).sum())
    }

    /// The events of draw number `draw` of `seed`. On one axis they rise; on several they come in no order.
    pub fn draw(&self, seed: u64, draw: u64) -> Result<Points> {
        let mut rng = stream(seed, draw);
        let mut events = Vec::new();
        let mut rest = &self.cells[..];
        while !rest.is_empty() {
            let (batch, others) = rest.split_at(batch_length(rest));
            self.fill(batch, &mut rng, &mut events)?;
            rest = others;
        }
        let dims = self.window.dims();
        if dims == 1 {
            events.sort_by(f64::total_cmp);
        } else {
            shuffle(&mut events, dims, &mut rng);
        }
        Points::new(dims, events)
    }

    /// Draws the events in some cells.
    fn fill(&self, cells: &[Cell], rng: &mut impl Rng, events: &mut Vec<f64>) -> Result<()> {
        let whole = |cell| Strip { cell, from: 0.0, to: cell.ceiling.unwrap_or(0.0) };
        let mut strips: Vec<Strip> = cells.iter().map(whole).collect();
        while !strips.is_empty() {
            let counts: Vec<usize> = strips.iter().map(|strip| strip.count(rng)).collect();
            let (points, heights) = self.candidates_in(&strips, &counts, rng);
            let owners =
                || strips.iter().zip(&counts).flat_map(|(strip, &n)| std::iter::repeat_n(&strip.cell.place, n));
            let rates = self.intensities(&points, owners())?;
            for ((row, height), rate) in points.rows().zip(&heights).zip(&rates) {
                if height < rate {
                    events.extend_from_slice(row);
                }
            }
            strips = raised(&strips, &counts, &rates)?;
        }
        Ok(())
    }

    /// So many candidates in each strip, with their heights.
    fn candidates_in(&self, strips: &[Strip], counts: &[usize], rng: &mut impl Rng) -> (Points, Vec<f64>) {
        let (dims, total) = (self.window.dims(), counts.iter().sum());
        let (mut rows, mut heights) = (Vec::with_capacity(total * dims), Vec::with_capacity(total));
        for (strip, &count) in strips.iter().zip(counts) {
            for _ in 0..count {
                rows.extend(strip.cell.place.point(std::iter::repeat_with(|| rng.random::<f64>())));
                heights.push(strip.from + (strip.to - strip.from) * rng.random::<f64>());
            }
        }
        (Points::of_rows(dims, rows), heights)
    }

    /// Repeats · exposure · rate at each point, given the place it stands in; 0 outside the window.
    fn intensities<'p>(&self, points: &Points, places: impl Iterator<Item = &'p Place>) -> Result<Vec<f64>> {
        let mut rates = self.rates_at(points)?;
        for ((point, rate), place) in points.rows().zip(&mut rates).zip(places) {
            let piece = &self.window.pieces()[place.piece];
            *rate = if !is_inside(piece, point) {
                0.0
            } else if is_rate(*rate) {
                *rate * piece.repeats * self.window.exposure_at(point)
            } else {
                return Err(Error::BadRate { point: point.to_vec(), value: *rate });
            };
        }
        Ok(rates)
    }

    /// The rates as they are, block by block.
    fn rates_at(&self, points: &Points) -> Result<Vec<f64>> {
        let dims = points.dims();
        let blocks = points.coordinates().chunks(BLOCK * dims);
        let rates = parallel::map(blocks, EVALUATION * points.len(), |block| {
            let block = Points::of_rows(dims, block.to_vec());
            let rates = (self.rates)(&block)?;
            let (expected, found) = (block.len(), rates.len());
            if expected == found { Ok(rates) } else { Err(Error::Dimension { what: "rates", expected, found }) }
        });
        Ok(rates.into_iter().collect::<Result<Vec<_>>>()?.concat())
    }
}

/// Finding the cells.
impl Simulation<'_> {
    fn find_cells(&self) -> Result<Vec<Cell>> {
        let (mut places, mut cells, mut probes) = (self.first_places(), Vec::new(), 0);
        for level in 0.. {
            probes += places.len() * probes_of_a_cell(self.window.dims());
            let mut looked_at = self.look_at(places, level)?;
            let mut rough: Vec<&mut Cell> = looked_at.iter_mut().filter(|cell| cell.is_rough()).collect();
            probes += rough.len() * ROUNDS * 2 * self.window.dims();
            self.climb(&mut rough)?;
            looked_at.iter_mut().for_each(|cell| cell.ceiling = self.ceiling(cell));
            if probes > MOST_PROBES {
                cells.extend(looked_at);
                break;
            }
            let (wasteful, good): (Vec<_>, Vec<_>) = looked_at.into_iter().partition(Cell::is_wasteful);
            cells.extend(good);
            let halves = wasteful.into_iter().flat_map(|cell| cell.place.halves(cell.steepest));
            places = halves.filter(|place| self.is_needed(place)).collect();
            if places.is_empty() {
                break;
            }
        }
        self.guess_the_unseen(&mut cells);
        cells.retain(|cell| cell.candidates() > 0.0);
        Ok(cells)
    }

    /// Even cells over each piece, as many as its share of the window.
    fn first_places(&self) -> Vec<Place> {
        let dims = self.window.dims();
        let most = CELLS[usize::from(dims > 1)].min(FIRST_PROBES / probes_of_a_cell(dims) as f64);
        let volume = |piece: &Piece| piece.spans.iter().map(|span| span.length()).product::<f64>();
        let whole: f64 = self.window.pieces().iter().map(volume).sum();
        let mut places = Vec::new();
        for (number, piece) in self.window.pieces().iter().enumerate() {
            let share = (most * volume(piece) / whole).powf(1.0 / dims as f64);
            // A hair more, so that the root of a cube is not rounded down.
            let side = ((share + 1e-9) as usize).max(1);
            places.extend((0..side.pow(dims as u32)).map(|index| cut(piece, number, side, index)));
        }
        places.retain(|place| self.is_needed(place));
        places
    }

    /// Whether a part of the window may lie in it.
    fn is_needed(&self, place: &Place) -> bool {
        let span = |r: usize| crate::window::Span { lo: place.lo[r], hi: place.hi[r] };
        let outline = &self.window.pieces()[place.piece].outline;
        outline.as_ref().is_none_or(|outline| outline.meets_box(span(0), span(1)))
    }

    /// Evaluates the rate in points of each place, and draws the conclusions. The places inside a cell do not depend on the seed of a draw.
    fn look_at(&self, places: Vec<Place>, level: u64) -> Result<Vec<Cell>> {
        let (dims, each) = (self.window.dims(), probes_of_a_cell(self.window.dims()));
        let mut rng = stream(0, level);
        let mut rows = Vec::with_capacity(places.len() * each * dims);
        for place in &places {
            let fractions: Vec<Vec<f64>> = (0..dims).map(|_| fractions(dims, &mut rng)).collect();
            let side = fractions[0].len();
            for index in 0..each {
                rows.extend(place.point((0..dims).map(|r| fractions[r][digit(index, r, side, dims)])));
            }
        }
        let points = Points::of_rows(dims, rows);
        let rates = self.rates_at(&points)?;
        let blocks = points.coordinates().chunks_exact(each * dims).zip(rates.chunks_exact(each));
        places.into_iter().zip(blocks).map(|(place, (rows, rates))| self.conclude(place, rows, rates)).collect()
    }

    fn conclude(&self, mut place: Place, rows: &[f64], rates: &[f64]) -> Result<Cell> {
        let (dims, piece) = (self.window.dims(), &self.window.pieces()[place.piece]);
        let mut inside = Vec::with_capacity(rates.len());
        for (point, &rate) in rows.chunks_exact(dims).zip(rates) {
            let is_inside = is_inside(piece, point);
            if is_inside && !is_rate(rate) {
                return Err(Error::BadRate { point: point.to_vec(), value: rate });
            }
            if is_rate(rate) && place.peak.as_ref().is_none_or(|peak| peak.1 < rate) {
                place.peak = Some((point.to_vec(), rate));
            }
            inside.push(if is_inside { rate * piece.repeats * self.window.exposure_at(point) } else { 0.0 });
        }
        // Outside, the rate may be anything; a number still tells what is near.
        let known: Vec<f64> = rates.iter().map(|&rate| if is_rate(rate) { rate } else { 0.0 }).collect();
        let change = changes(&known, dims).into_iter().fold(0.0, f64::max);
        let mean = inside.iter().sum::<f64>() / inside.len() as f64;
        let steepest = largest(&changes(&inside, dims)).unwrap_or_else(|| longest_side(&place, piece));
        Ok(Cell { place, change, ceiling: None, mean, steepest })
    }

    /// Leads each cell's peak uphill, all of them a step at a time.
    fn climb(&self, cells: &mut [&mut Cell]) -> Result<()> {
        let dims = self.window.dims();
        let mut steps = vec![0.5; cells.len()];
        for _ in 0..ROUNDS {
            let rows = cells.iter().zip(&steps).flat_map(|(cell, &step)| cell.place.around_the_peak(step)).collect();
            let points = Points::of_rows(dims, rows);
            let rates = self.rates_at(&points)?;
            for (n, cell) in cells.iter_mut().enumerate() {
                let tried = (2 * dims * n..2 * dims * (n + 1)).filter(|&k| is_rate(rates[k]));
                let best = tried.max_by(|&a, &b| rates[a].total_cmp(&rates[b]));
                match best.filter(|&k| cell.place.peak.as_ref().is_some_and(|peak| rates[k] > peak.1)) {
                    Some(k) => cell.place.peak = Some((points.row(k).to_vec(), rates[k])),
                    None => steps[n] *= 0.5,
                }
            }
        }
        Ok(())
    }

    /// What the rate, with repeats and exposure, will hardly exceed.
    fn ceiling(&self, cell: &Cell) -> Option<f64> {
        let exposure = self.window.exposure().map_or(1.0, |exposure| exposure.most_in(&cell.place.lo, &cell.place.hi));
        let most = self.window.pieces()[cell.place.piece].repeats * exposure;
        cell.place.peak.as_ref().map(|peak| most * (HEADROOM * peak.1 + cell.change))
    }

    /// A cell in which the rate is none wherever it was looked at may still hold a sliver of the window: it gets the highest ceiling
    /// of its piece.
    fn guess_the_unseen(&self, cells: &mut [Cell]) {
        let mut most = vec![0.0; self.window.pieces().len()];
        for cell in cells.iter() {
            most[cell.place.piece] = cell.ceiling.unwrap_or(0.0).max(most[cell.place.piece]);
        }
        for cell in cells {
            cell.ceiling.get_or_insert(most[cell.place.piece]);
        }
    }
}

impl Strip<'_> {
    fn count(&self, rng: &mut impl Rng) -> usize {
        thinning::poisson(rng, (self.to - self.from) * self.cell.place.volume()) as usize
    }
}

/// The strips above those in which a rate above the ceiling showed.
fn raised<'c>(strips: &[Strip<'c>], counts: &[usize], rates: &[f64]) -> Result<Vec<Strip<'c>>> {
    let mut higher = Vec::new();
    let mut rest = rates;
    for (strip, &count) in strips.iter().zip(counts) {
        let (own, others) = rest.split_at(count);
        rest = others;
        let most = own.iter().copied().fold(0.0, f64::max);
        if most <= strip.to {
            continue;
        }
        let strip = Strip { cell: strip.cell, from: strip.to, to: RAISE * most };
        if (strip.to - strip.from) * strip.cell.place.volume() > MOST_RAISED {
            let (lo, hi) = (&strip.cell.place.lo, &strip.cell.place.hi);
            let requirement =
                format!("rises too steeply between {lo:?} and {hi:?}; cut the window there into smaller pieces");
            return Err(Error::setting("rate", most, requirement));
        }
        higher.push(strip);
    }
    Ok(higher)
}

/// How many of the cells are filled together.
fn batch_length(cells: &[Cell]) -> usize {
    let mut total = 0.0;
    let full = cells.iter().position(|cell| {
        total += cell.candidates();
        total > BATCH
    });
    full.map_or(cells.len(), |last| last.max(1))
}

/// Puts rows in random order: cells must not show in it, else the first half of the events would be those of one side.
fn shuffle(rows: &mut [f64], dims: usize, rng: &mut impl Rng) {
    for last in (1..rows.len() / dims).rev() {
        let other = rng.random_range(0..=last);
        for r in 0..dims {
            rows.swap(last * dims + r, other * dims + r);
        }
    }
}

fn is_rate(rate: f64) -> bool {
    rate.is_finite() && rate >= 0.0
}

/// Whether a point of the box of a piece lies in the piece.
fn is_inside(piece: &Piece, point: &[f64]) -> bool {
    piece.outline.as_ref().is_none_or(|outline| outline.contains([point[0], point[1]]))
}

/// Number `index` of the `side`ᴿ even parts of a piece's box.
fn cut(piece: &Piece, number: usize, side: usize, index: usize) -> Place {
    let dims = piece.spans.len();
    let end = |r: usize, i: usize| {
        let span = piece.spans[r];
        if i == side { span.hi } else { span.lo + span.length() * i as f64 / side as f64 }
    };
    let of = |r: usize| digit(index, r, side, dims);
    let lo = (0..dims).map(|r| end(r, of(r))).collect();
    let hi = (0..dims).map(|r| end(r, of(r) + 1)).collect();
    Place { piece: number, lo, hi, peak: None }
}

/// The place on axis r of point `index` of a grid with `side` points per axis; the last axis varies fastest.
fn digit(index: usize, r: usize, side: usize, dims: usize) -> usize {
    index / side.pow((dims - 1 - r) as u32) % side
}

/// Points looked at on each axis of a cell: both ends, and some between.
fn probes_of_an_axis(dims: usize) -> usize {
    if dims == 1 { 5 } else { 3 }
}

fn probes_of_a_cell(dims: usize) -> usize {
    probes_of_an_axis(dims).pow(dims as u32)
}

/// Where on an axis of a cell: both ends, and between them a random place in each even part.
fn fractions(dims: usize, rng: &mut impl Rng) -> Vec<f64> {
    let between = probes_of_an_axis(dims) - 2;
    let inner = (0..between).map(|i| (i as f64 + 0.15 + 0.7 * rng.random::<f64>()) / between as f64);
    [0.0].into_iter().chain(inner).chain([1.0]).collect()
}

/// The largest change between neighbouring points of a cell, along each axis.
fn changes(values: &[f64], dims: usize) -> Vec<f64> {
    let side = probes_of_an_axis(dims);
    let along = |r: usize| {
        let step = side.pow((dims - 1 - r) as u32);
        let followed = (0..values.len()).filter(|&index| digit(index, r, side, dims) + 1 < side);
        followed.map(|index| (values[index + step] - values[index]).abs()).fold(0.0, f64::max)
    };
    (0..dims).map(along).collect()
}

/// The place of the largest value, unless all are 0.
fn largest(values: &[f64]) -> Option<usize> {
    let place = (0..values.len()).max_by(|&a, &b| values[a].total_cmp(&values[b]))?;
    (values[place] > 0.0).then_some(place)
}

/// The axis on which a cell is the largest part of its piece.
fn longest_side(place: &Place, piece: &Piece) -> usize {
    let part = |r: usize| (place.hi[r] - place.lo[r]) / piece.spans[r].length();
    (0..place.lo.len()).max_by(|&a, &b| part(a).total_cmp(&part(b))).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ceilings_that_are_none_are_raised_without_bias() {
        let window = Window::interval(0.0, 10.0).unwrap();
        let mut simulation = Simulation::new(&window, |x| 4e4 * (1.0 + 0.5 * x[0].sin())).unwrap();
        for cell in &mut simulation.cells {
            cell.ceiling = cell.ceiling.map(|ceiling| 0.3 * ceiling);
        }
        let mean = simulation.expected().unwrap();
        let total: usize = (0..5).map(|draw| simulation.draw(0, draw).unwrap().len()).sum();
        assert!((total as f64 - 5.0 * mean).abs() < 4.0 * (5.0 * mean).sqrt(), "{total} {mean}");
    }

    #[test]
    fn a_climb_reaches_the_top_of_a_cell() {
        let window = Window::new(&[(0.0, 1.0), (0.0, 1.0)]).unwrap();
        let peak = |p: &[f64]| (-((p[0] - 0.501).powi(2) + (p[1] - 0.503).powi(2)) / 1e-6).exp();
        let simulation = Simulation::new(&window, |p| 1e-3 * peak(p)).unwrap();
        let highest = simulation.cells.iter().filter_map(|cell| cell.ceiling).fold(0.0, f64::max);
        assert!(highest > 1.2e-3, "{highest}");
    }

    #[test]
    fn places_are_halved_and_keep_their_peak() {
        let whole = Place { piece: 0, lo: vec![0.0, 0.0], hi: vec![4.0, 2.0], peak: Some((vec![3.0, 1.0], 9.0)) };
        let [left, right] = whole.halves(0);
        assert_eq!((left.lo, left.hi, left.peak), (vec![0.0, 0.0], vec![2.0, 2.0], None));
        assert_eq!((right.lo.clone(), right.hi.clone()), (vec![2.0, 0.0], vec![4.0, 2.0]));
        assert_eq!(right.around_the_peak(0.75), [2.0, 1.0, 4.0, 1.0, 3.0, 0.0, 3.0, 2.0]);
        assert_eq!(right.volume(), 4.0);
    }
}
