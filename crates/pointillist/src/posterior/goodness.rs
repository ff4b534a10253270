//! Goodness of fit: whether the events look like events drawn from the fitted rate (docs/derivation.md, section 17).
//!
//! The window is cut into cells, and boxes of cells at several scales are compared with what is expected there: the count of a box by itself,
//! and its part of the count of a box three times as wide, which a flattened peak changes most. How large the largest difference may be is
//! learned from counts drawn from the fit, so that it holds for any window, exposure and number of events. On a line rescaled times are compared
//! with even ones as well. With more axes, one of which has a cycle, cells are so short there that a cycle is seen, and counts are also folded: those of the
//! same part of all cycles are added, which shows a peak that is too low each time. The fit has seen the events, which are therefore nearer to it than new ones. On a lattice over a line, or over a plane if it
//! is not too fine, rates are drawn from the posterior, counts from these, and what would be fitted to them is followed to first order
//! (`following.rs`); elsewhere counts are drawn from the posterior mean and compared with it, and p-values are cautious.

use super::Posterior;
use super::following::Following;
use crate::data::points::Points;
use crate::data::seen::Data;
use crate::data::summary::Summary;
use crate::error::Result;
use crate::kernel::Part;
use crate::parallel;
use crate::sample::{self, thinning};
use crate::watch::{PartWatch, Work, unwatched};
use crate::window::{Axis, AxisRule, Nodes, Scaling, Span, Window, node_count};

/// Fewer events say nothing of a fit.
const FEWEST_EVENTS: usize = 10;
/// Events per cell on the mean, and the fewest and most cells on each axis in one, two and three dimensions.
const EVENTS_PER_CELL: f64 = 4.0;
const CELLS: [(usize, usize); 3] = [(16, 8192), (4, 32), (4, 8)];
/// Cells in a cycle, and on an axis that has cycles at most.
const CELLS_PER_CYCLE: f64 = 8.0;
const MOST_OF_CYCLES: usize = 256;
/// Parts of a cycle whose counts are added over all cycles.
const PHASES: usize = 8;
/// Fewer cycles than this are not folded.
const FEWEST_CYCLES: f64 = 2.0;
/// Panels of quadrature on each axis at least, on lattices and with inducing points, whose nodes cost far more.
const PANELS: [[usize; 3]; 2] = [[128, 32, 8], [64, 16, 4]];
/// Nothing is said where the integral over the window comes out wrong by more than this.
const MOST_CRUDE: f64 = 0.02;
/// More nodes are not looked at.
const MOST_NODES: usize = 400_000;
/// Sets of counts that are drawn, and those that are followed together.
const REPLICATES: usize = 300;
const TOGETHER: usize = 20;
/// Components whose mean is taken at most, the heaviest.
const MOST_COMPONENTS: usize = 30;
/// What a component costs, in sets of counts.
const UNITS: usize = 10;
/// Where one component takes so many multiplications, the heaviest alone is taken; where it takes a part of that, so many more.
const MOST_WORK: f64 = 4e10;
const SEED: u64 = 0x60_0d;
/// Standard deviations by which the count of a cell may be off and still be one that the fit followed.
const PLAUSIBLE: f64 = 2.5;
const DRAWN_SEED: u64 = 0xd_4a3;
/// A box holds at most one part of this many of the cells of an axis.
const WIDEST: usize = 4;
/// Half the width of the 95 % band of Kolmogorov and Smirnov, times √N.
const KOLMOGOROV: f64 = 1.358;
/// What is expected is never taken for less.
const LEAST_EXPECTED: f64 = 1e-9;

/// Whether the events look like events drawn from the fitted rate.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Goodness {
    /// How often events drawn from the fitted rate are as far from what is expected, at most; with 300 sets drawn it is never said to be below
    /// 0.003.
    pub p: f64,
    /// What is furthest from what is expected.
    pub misfit: Misfit,
    /// Where events and expectation differ most, in the user's units: a span on each axis.
    pub place: Vec<Span>,
    /// Events there.
    pub seen: f64,
    /// Events expected there.
    pub expected: f64,
}

impl Goodness {
    /// A p-value below this means that the fit is poor.
    pub const POOR: f64 = 0.01;

    /// What to do where events are missing, for who knows no better.
    pub const OUTAGE: &str = "if nothing could be recorded there (an outage), leave that part out of the window or give it an exposure of 0; else ";

    /// Whether so few events are where so many are expected that perhaps nothing could be recorded there.
    pub fn is_a_gap(seen: f64, expected: f64) -> bool {
        4.0 * seen < expected
    }

    /// The warning of a fit, with numbers for places.
    pub fn warning(&self, axes: &[Axis]) -> String {
        self.sentence(axes, |_, value| format!("{value:.6}"))
    }

    /// What is wrong, in a sentence; `show` writes a value on an axis.
    pub fn sentence(&self, axes: &[Axis], show: impl Fn(&Axis, f64) -> String) -> String {
        let Self { p, seen, expected, .. } = self;
        let along = |(axis, span): (&Axis, &Span)| {
            format!("{} from {} to {}", axis.name, show(axis, span.lo), show(axis, span.hi))
        };
        let place: Vec<String> = axes.iter().zip(&self.place).map(along).collect();
        let what = match self.misfit {
            Misfit::Times => "rescaled times are not even; most is off where",
            _ => "",
        };
        let again = if self.misfit == Misfit::Cycle { " and the same part of every other cycle" } else { "" };
        let events = if *seen == 1.0 { "1 event is seen".into() } else { format!("{seen} events are seen") };
        let what = if what.is_empty() { events } else { format!("{what} {events}") };
        // A part in which nothing could be seen is no part of the window: no model mends that.
        let outage = if Self::is_a_gap(*seen, *expected) { Self::OUTAGE } else { "" };
        format!(
            "the events do not look like events of this rate (p = {p:.3}): {what} and {expected:.1} expected, {}{again}; {outage}\
             a shorter window about that place, a rougher prior, another link or a finer lattice may show what is smoothed away",
            place.join(", ")
        )
    }
}

/// Events beside what is expected of them, in equal cells over the box around the window, the last axis fastest.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Residuals {
    /// Cells on each axis.
    pub cells: Vec<usize>,
    /// Events in each.
    pub seen: Vec<f64>,
    /// Events expected there under the posterior mean.
    pub expected: Vec<f64>,
}

impl Residuals {
    /// The parts of all events that were seen, and that are expected, before the end of each cell of a line: rescaled times, which follow each other evenly if the
    /// rate is right.
    pub fn rescaled(&self) -> Vec<(f64, f64)> {
        let totals = [&self.expected, &self.seen].map(|list| list.iter().sum::<f64>());
        let add = |sums: &mut (f64, f64), (expected, seen): (&f64, &f64)| {
            *sums = (sums.0 + expected / totals[0], sums.1 + seen / totals[1]);
            Some(*sums)
        };
        self.expected.iter().zip(&self.seen).scan((0.0, 0.0), add).collect()
    }

    /// The largest distance of rescaled times from even ones, and half the width of the band of 95 % in which it lies for a rate that is known (Kolmogorov and Smirnov).
    pub fn distance_and_band(&self) -> (f64, f64) {
        let apart = self.rescaled().iter().map(|(expected, seen)| (expected - seen).abs()).fold(0.0, f64::max);
        (apart, KOLMOGOROV / self.seen.iter().sum::<f64>().sqrt())
    }
}

/// What can be further from expectation than chance explains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Misfit {
    /// The count of one box.
    Count,
    /// The count of one box beside those around it.
    Peak,
    /// The rescaled times on a line.
    Times,
    /// The count of the same part of all cycles.
    Cycle,
}

/// How many there are.
const MISFITS: usize = 4;

impl Misfit {
    /// One word for files and tables.
    pub fn as_str(self) -> &'static str {
        match self {
            Misfit::Count => "count",
            Misfit::Peak => "peak",
            Misfit::Times => "times",
            Misfit::Cycle => "cycle",
        }
    }
}

impl Posterior {
    /// Whether `events`, from which this posterior was learned, look like events drawn from its mean; nothing where they are too few, or the
    /// window has too many parts.
    pub fn goodness_of_fit(&self, events: &Points) -> Result<Option<Goodness>> {
        self.goodness_of_fit_watched(events, &unwatched)
    }

    /// The same, telling `watch` which part of it is done.
    pub fn goodness_of_fit_watched(&self, events: &Points, watch: &PartWatch<'_>) -> Result<Option<Goodness>> {
        self.window().check_inside(events)?;
        let cells = Cells::for_events(events.len(), events.dims(), self.cycle());
        self.goodness(events.len(), &cells, || cells.counts_of(&self.scaling().points_inward(events)), watch)
    }

    /// `events` beside what is expected of them, about four to a cell; nothing where they are too few, or the window has too many parts.
    ///
    /// ```
    /// # use pointillist::{Events, Model, Points, Window};
    /// let times: Vec<f64> = (0..40).map(|i| 0.2 * f64::from(i)).collect();
    /// let events = Events::new(Points::line(&times)?, Window::interval(0.0, 8.0)?)?;
    /// let posterior = Model::default().fit(&events)?.posterior;
    /// let residuals = posterior.residuals(events.points())?.unwrap();
    /// assert_eq!(residuals.seen.iter().sum::<f64>(), 40.0);
    /// assert!((residuals.expected.iter().sum::<f64>() - 40.0).abs() < 1.0);
    /// # Ok::<(), pointillist::Error>(())
    /// ```
    pub fn residuals(&self, events: &Points) -> Result<Option<Residuals>> {
        self.window().check_inside(events)?;
        if events.len() < FEWEST_EVENTS {
            return Ok(None);
        }
        let cells = Cells::for_events(events.len(), events.dims(), self.cycle());
        let seen = cells.counts_of(&self.scaling().points_inward(events));
        let expected = self.expected_in(&cells, &Work::new(1, &unwatched))?;
        Ok(expected.map(|(expected, _)| Residuals { cells: cells.counts, seen, expected }))
    }

    /// The same for the data of a fit.
    pub(crate) fn goodness_for(&self, data: Data<'_>) -> Result<Option<Goodness>> {
        match data {
            Data::Events(events) => self.goodness_of_fit(events.points()),
            Data::Summary(summary) => {
                let Some(cells) = Cells::for_summary(summary, self.cycle()) else { return Ok(None) };
                self.goodness(data.len(), &cells, || cells.counts_of_summary(summary), &unwatched)
            }
        }
    }

    fn goodness(
        &self,
        events: usize,
        cells: &Cells,
        counts: impl Fn() -> Vec<f64>,
        watch: &PartWatch<'_>,
    ) -> Result<Option<Goodness>> {
        if events < FEWEST_EVENTS {
            return Ok(None);
        }
        // A component costs about as much as a few of the sets of counts that are drawn.
        let work = Work::new(REPLICATES + UNITS * self.components().len().min(MOST_COMPONENTS), watch);
        let Some((expected, following)) = self.expected_in(cells, &work)? else { return Ok(None) };
        let boxes = Boxes::new(cells);
        let counts = counts();
        let observed = boxes.largest(&counts, &expected);
        let drawn =
            following.as_ref().map(|following| following.drawn(&expected, REPLICATES, DRAWN_SEED)).transpose()?;
        // What no rate of this model explains is not followed either.
        let plausible = |(count, mean): (&f64, &f64)| {
            let most = PLAUSIBLE * mean.max(1.0).sqrt();
            mean + (count - mean).clamp(-most, most)
        };
        let seen: Vec<f64> = counts.iter().zip(&expected).map(plausible).collect();
        let counted = |draw: usize| -> Vec<f64> {
            let mut rng = sample::stream(SEED, draw as u64);
            let means = drawn.as_ref().map_or(&expected, |drawn| &drawn[draw]);
            means.iter().map(|mean| thinning::poisson(&mut rng, *mean) as f64).collect()
        };
        let some = |group: usize| -> Vec<[f64; MISFITS]> {
            let sets: Vec<Vec<f64>> = (group..REPLICATES.min(group + TOGETHER)).map(counted).collect();
            // Once it was cancelled, what remains is left out, and the call ends below.
            if work.advance(sets.len()).is_err() {
                return vec![];
            }
            let fitted = following.as_ref().map(|following| following.fitted(&expected, &seen, &sets));
            let beside = |n: usize| fitted.as_ref().map_or(&expected, |fitted| &fitted[n]);
            let largest =
                |(n, counts): (usize, &Vec<f64>)| boxes.largest(counts, beside(n)).map(|(distance, _)| distance);
            sets.iter().enumerate().map(largest).collect()
        };
        let groups = (0..REPLICATES).step_by(TOGETHER);
        let replicates = parallel::map(groups, REPLICATES * boxes.list.len(), some).concat();
        work.check()?;
        let (p, misfit) = p_value(observed.map(|(distance, _)| distance), &replicates);
        Ok(boxes.report(&counts, &expected, observed[misfit as usize].1, (p, misfit), self.scaling()))
    }

    /// The shortest cycle of the kernel, if there are more axes than one.
    fn cycle(&self) -> Option<Cycle> {
        let kernel = &self.components().first()?.inducing()?.hyper.kernel;
        let of_part = |part: &Part| Some(Cycle { axis: part.axis, period: part.factor.period(&part.parameters)? });
        let cycles = kernel.terms.iter().flat_map(|term| &term.parts).filter_map(of_part);
        cycles.filter(|_| kernel.dims > 1).min_by(|a, b| a.period.total_cmp(&b.period))
    }

    /// The expected number of events in each cell under the posterior mean, and how it follows them.
    fn expected_in(&self, cells: &Cells, work: &Work<'_>) -> Result<Option<(Vec<f64>, Option<Following>)>> {
        let dims = cells.counts.len();
        let least = PANELS[usize::from(self.lattice().is_none())][dims.min(3) - 1];
        let window = self.window().scaled(self.scaling());
        // As fine as the lattice, or as many nodes as can be looked at.
        let mut panels =
            self.lattice().map_or(least, |lattice| lattice.nodes.into_iter().max().unwrap_or(0).max(least));
        let found = loop {
            match cells.nodes(&window, panels, |r| self.lines_of_covariates(r)) {
                None if panels > least => panels = (panels / 2).max(least),
                found => break found,
            }
        };
        let Some((nodes, places)) = found else { return Ok(None) };
        let mut expected = vec![0.0; cells.total()];
        // With inducing points a node takes the square of their number.
        let unknowns =
            self.components().iter().filter_map(|component| Some(component.inducing()?.locations.len())).max();
        let each = unknowns.map_or(0.0, |count| (count * count * places.len()) as f64);
        let affordable = if dims > 2 { (MOST_WORK / each.max(1.0)) as usize } else { MOST_COMPONENTS };
        let heaviest = self.heaviest(affordable.clamp(1, MOST_COMPONENTS));
        for component in heaviest.components() {
            let (f, link) = (component.field().marginals(&nodes.points)?, component.formula());
            for (n, (mean, variance)) in f.mean.iter().zip(&f.variance).enumerate() {
                expected[places[n]] += component.weight * nodes.weights[n] * link.moments(*mean, *variance).0;
            }
            work.advance(UNITS)?;
        }
        expected.iter_mut().for_each(|mean| *mean = mean.max(0.0)); // rounding in cut cells
        let whole = heaviest.expected(heaviest.window())?;
        let is_fine = (expected.iter().sum::<f64>() / whole - 1.0).abs() < MOST_CRUDE;
        let first = heaviest.components()[0].lattice().filter(|field| is_fine && Following::is_cheap(field, dims));
        let following = first.map(|field| Following::new(field, &nodes, (&places, cells.total()))).transpose()?;
        Ok(is_fine.then_some((expected, following)))
    }
}

/// What repeats itself on an axis of the unit box.
#[derive(Clone, Copy)]
struct Cycle {
    axis: usize,
    period: f64,
}

/// Equal cells over the box around the window, the last axis fastest.
struct Cells {
    counts: Vec<usize>,
    cycle: Option<Cycle>,
}

impl Cells {
    /// Cells by the number of events, a power of 2 on each axis; on one that has cycles so many that they are seen.
    fn for_events(events: usize, dims: usize, cycle: Option<Cycle>) -> Self {
        let (least, most) = CELLS[dims.min(3) - 1];
        let wanted = events as f64 / EVENTS_PER_CELL;
        let Some(Cycle { axis, period }) = cycle else {
            let count = wanted.powf(1.0 / dims as f64).ceil() as usize;
            return Self { counts: vec![count.next_power_of_two().clamp(least, most); dims], cycle };
        };
        let along = ((CELLS_PER_CYCLE / period).ceil() as usize).clamp(least, MOST_OF_CYCLES);
        let across = (wanted / along as f64).powf(1.0 / (dims - 1) as f64).ceil() as usize;
        let mut counts = vec![across.next_power_of_two().clamp(least, most); dims];
        counts[axis] = along;
        Self { counts, cycle }
    }

    /// Cells that those of a summary can be joined to, if there are any.
    fn for_summary(summary: &Summary, cycle: Option<Cycle>) -> Option<Self> {
        let own = summary.cells();
        let wanted = Self::for_events(summary.events() as usize, own.len(), cycle).counts;
        let divisor = |(own, wanted): (&usize, &usize)| {
            (CELLS[2].0..=*wanted).rev().find(|count| own % count == 0).or((*own <= *wanted).then_some(*own))
        };
        let counts = own.iter().zip(&wanted).map(divisor).collect::<Option<Vec<usize>>>()?;
        Some(Self { counts, cycle })
    }

    /// Cells for the same part of all cycles, if there are several: their number on the axis of the cycle, and the place among them of each cell.
    fn folded(&self) -> Option<(Self, Vec<usize>)> {
        let Cycle { axis, period } = self.cycle.filter(|cycle| FEWEST_CYCLES * cycle.period <= 1.0)?;
        let mut counts = self.counts.clone();
        counts[axis] = PHASES;
        let folded = Self { counts, cycle: self.cycle };
        let place = |mut cell: usize| {
            let mut middle = vec![0.0; self.counts.len()];
            for (r, count) in self.counts.iter().enumerate().rev() {
                middle[r] = ((cell % count) as f64 + 0.5) / *count as f64;
                cell /= count;
            }
            middle[axis] = (middle[axis] / period).fract();
            folded.place(&middle)
        };
        let places = (0..self.total()).map(place).collect();
        Some((folded, places))
    }

    fn total(&self) -> usize {
        self.counts.iter().product()
    }

    fn place(&self, row: &[f64]) -> usize {
        let along = |x: f64, count: usize| ((x * count as f64).max(0.0) as usize).min(count - 1);
        row.iter().zip(&self.counts).fold(0, |place, (x, count)| place * count + along(*x, *count))
    }

    fn counts_of(&self, points: &Points) -> Vec<f64> {
        let mut counts = vec![0.0; self.total()];
        points.rows().for_each(|row| counts[self.place(row)] += 1.0);
        counts
    }

    fn counts_of_summary(&self, summary: &Summary) -> Vec<f64> {
        let mut counts = vec![0.0; self.total()];
        let own = summary.cells();
        for record in summary.records() {
            let (mut rest, mut middle) = (record.index, vec![0.0; own.len()]);
            for (r, count) in own.iter().enumerate().rev() {
                middle[r] = ((rest % count) as f64 + 0.5) / *count as f64;
                rest /= count;
            }
            counts[self.place(&middle)] += record.count as f64;
        }
        counts
    }

    /// Quadrature over the window between the edges of the cells and more lines across each axis, with the cell of each node; nothing if these are too many.
    fn nodes(&self, window: &Window, panels: usize, more: impl Fn(usize) -> Vec<f64>) -> Option<(Nodes, Vec<usize>)> {
        let lines = |(r, count): (usize, &usize)| {
            let all = count * panels.div_ceil(*count);
            (1..all).map(|i| i as f64 / all as f64).chain(more(r)).collect::<Vec<f64>>()
        };
        let lines: Vec<Vec<f64>> = self.counts.iter().enumerate().map(lines).collect();
        let rules: Vec<_> = lines.iter().map(|kinks| AxisRule { length: f64::INFINITY, kinks }).collect();
        if window.node_estimate(&rules) > MOST_NODES as f64 {
            return None;
        }
        let pieces = window.nodes(&rules);
        if node_count(&pieces) > MOST_NODES {
            return None;
        }
        let nodes = Nodes::of_pieces(&pieces);
        let places = nodes.points.rows().map(|row| self.place(row)).collect();
        Some((nodes, places))
    }
}

/// A box of cells, and the one around it: sums over them are signed sums over corners of a table of sums.
struct CellBox {
    low: Vec<usize>,
    high: Vec<usize>,
    inner: Vec<(usize, f64)>,
    outer: Vec<(usize, f64)>,
}

/// All boxes.
struct Boxes<'a> {
    cells: &'a Cells,
    list: Vec<CellBox>,
    folded: Option<Folded>,
    n_log_n: NLogN,
}

/// Boxes in which the same parts of all cycles are added.
struct Folded {
    cells: Cells,
    /// To which of them each cell belongs.
    places: Vec<usize>,
    list: Vec<CellBox>,
}

impl Folded {
    fn new(cells: &Cells) -> Option<Self> {
        let (folded, places) = cells.folded()?;
        let list = boxes(&folded);
        Some(Self { cells: folded, places, list })
    }

    /// Sums before each corner of what is added.
    fn table(&self, values: &[f64]) -> Vec<f64> {
        let mut sums = vec![0.0; self.cells.total()];
        self.places.iter().zip(values).for_each(|(place, value)| sums[*place] += value);
        self.cells.table(&sums)
    }
}

/// The boxes that are looked at: as wide on all axes, or where one has cycles, of any width there, and on the others together.
fn boxes(cells: &Cells) -> Vec<CellBox> {
    let narrowest = cells.counts.iter().copied().min().unwrap_or(1);
    let powers = |most: usize| (0..).map(|power| 1 << power).take_while(move |width| width * WIDEST <= most);
    let widths: Vec<Vec<usize>> = match cells.cycle {
        None => powers(narrowest).map(|width| vec![width; cells.counts.len()]).collect(),
        Some(Cycle { axis, .. }) => {
            let others = cells.counts.iter().enumerate().filter(|(r, _)| *r != axis).map(|(_, count)| *count);
            let most = others.min().unwrap_or(1);
            // All of the other axes as well, where few events are in a place.
            let across: Vec<Vec<usize>> =
                powers(most).map(|width| vec![width; cells.counts.len()]).chain([cells.counts.clone()]).collect();
            let with = |width: usize| {
                across.iter().cloned().map(move |mut widths| {
                    widths[axis] = width;
                    widths
                })
            };
            powers(cells.counts[axis]).flat_map(with).collect()
        }
    };
    let of_widths = |widths: Vec<usize>| {
        let starts = |(count, width): (&usize, &usize)| -> Vec<usize> {
            (0..=count - width).step_by((width / 2).max(1)).collect()
        };
        let starts: Vec<Vec<usize>> = cells.counts.iter().zip(&widths).map(starts).collect();
        combinations(&starts).into_iter().map(move |low| CellBox::new(cells, low, &widths)).collect::<Vec<_>>()
    };
    widths.into_iter().flat_map(of_widths).collect()
}

impl<'a> Boxes<'a> {
    fn new(cells: &'a Cells) -> Self {
        Self { cells, list: boxes(cells), folded: Folded::new(cells), n_log_n: NLogN::new() }
    }

    /// The largest root of a deviance of a count and of a peak, each with the number of its box; how far rescaled times are from even
    /// ones, beside the box whose count is furthest off; and the largest root of either deviance where cycles are added.
    fn largest(&self, counts: &[f64], expected: &[f64]) -> [(f64, usize); MISFITS] {
        let [seen, means] = [counts, expected].map(|values| self.cells.table(values));
        let mut largest = [(0.0, 0); 3];
        for (number, one) in self.list.iter().enumerate() {
            for (kind, deviance) in one.deviances(&seen, &means, &self.n_log_n).into_iter().enumerate() {
                if deviance > largest[kind].0 {
                    largest[kind] = (deviance, number);
                }
            }
        }
        let [(count, number), (peak, of_peak), _] = largest;
        let times = rescaled_times(counts, expected, self.cells);
        let (cycle, of_cycle) = self.largest_folded(counts, expected);
        [(count.sqrt(), number), (peak.sqrt(), of_peak), (times, number), (cycle.sqrt(), of_cycle)]
    }

    /// The largest deviance where the same parts of all cycles are added, with its box; 0 without cycles.
    fn largest_folded(&self, counts: &[f64], expected: &[f64]) -> (f64, usize) {
        let Some(folded) = &self.folded else { return (0.0, 0) };
        let [seen, means] = [counts, expected].map(|values| folded.table(values));
        let of_box = |(number, one): (usize, &CellBox)| {
            let [count, part] = one.deviances(&seen, &means, &self.n_log_n);
            (count.max(part), number)
        };
        folded.list.iter().enumerate().map(of_box).fold((0.0, 0), |best, one| if one.0 > best.0 { one } else { best })
    }

    fn report(
        &self,
        counts: &[f64],
        expected: &[f64],
        number: usize,
        (p, misfit): (f64, Misfit),
        scaling: &Scaling,
    ) -> Option<Goodness> {
        let folded = self.folded.as_ref().filter(|_| misfit == Misfit::Cycle);
        let one = folded.map_or(&self.list, |folded| &folded.list).get(number)?;
        // Of the same parts of all cycles that of the first is told.
        let part = |r: usize, cell: usize| match folded {
            Some(Folded { cells, .. }) => {
                let length = cells.cycle.filter(|cycle| cycle.axis == r).map_or(1.0, |cycle| cycle.period);
                length * cell as f64 / cells.counts[r] as f64
            }
            None => cell as f64 / self.cells.counts[r] as f64,
        };
        let end = |r: usize, cell: usize| scaling.outward(r, part(r, cell));
        let place = (0..one.low.len()).map(|r| Span { lo: end(r, one.low[r]), hi: end(r, one.high[r]) }).collect();
        let table = |values: &[f64]| folded.map_or_else(|| self.cells.table(values), |folded| folded.table(values));
        let [seen, expected] = [counts, expected].map(|values| sum_over(&one.inner, &table(values)));
        Some(Goodness { p, misfit, place, seen, expected })
    }
}

/// The p-value of the largest of the standardised distances, and which one that is.
fn p_value(observed: [f64; MISFITS], replicates: &[[f64; MISFITS]]) -> (f64, Misfit) {
    let count = replicates.len() as f64;
    let moments = [0, 1, 2, 3].map(|kind| {
        let mean = replicates.iter().map(|distances| distances[kind]).sum::<f64>() / count;
        let square = replicates.iter().map(|distances| (distances[kind] - mean).powi(2)).sum::<f64>() / count;
        (mean, square.sqrt())
    });
    let largest = |distances: &[f64; MISFITS]| {
        let standardised = |kind: Misfit| {
            let (mean, sd) = moments[kind as usize];
            // There are no times in a plane, and not always cycles.
            (if sd > 0.0 { (distances[kind as usize] - mean) / sd } else { f64::NEG_INFINITY }, kind)
        };
        let all = [Misfit::Count, Misfit::Peak, Misfit::Times, Misfit::Cycle].map(standardised);
        all.into_iter().reduce(|best, one| if one.0 > best.0 { one } else { best }).unwrap_or(all[0])
    };
    let (distance, misfit) = largest(&observed);
    let as_far = replicates.iter().filter(|distances| largest(distances).0 >= distance).count() as f64;
    ((1.0 + as_far) / (1.0 + count), misfit)
}

/// √N times the largest distance of rescaled times on a line from even ones, at the edges of cells; 0 elsewhere.
fn rescaled_times(counts: &[f64], expected: &[f64], cells: &Cells) -> f64 {
    if cells.counts.len() > 1 {
        return 0.0;
    }
    let (total, all): (f64, f64) = (counts.iter().sum(), expected.iter().sum());
    let (mut seen, mut rescaled, mut apart) = (0.0, 0.0, 0.0f64);
    for (count, mean) in counts.iter().zip(expected) {
        (seen, rescaled) = (seen + count, rescaled + mean);
        apart = apart.max((seen / total.max(1.0) - rescaled / all).abs());
    }
    apart * total.sqrt()
}

/// All rows with one of the numbers of each list.
fn combinations(lists: &[Vec<usize>]) -> Vec<Vec<usize>> {
    lists.iter().fold(vec![vec![]], |rows, list| {
        rows.iter().flat_map(|row| list.iter().map(move |one| [&row[..], &[*one]].concat())).collect()
    })
}

impl Cells {
    /// Sums over all cells before each corner on every axis.
    fn table(&self, counts: &[f64]) -> Vec<f64> {
        let sides: Vec<usize> = self.counts.iter().map(|count| count + 1).collect();
        let mut table = vec![0.0; sides.iter().product()];
        for (cell, count) in counts.iter().enumerate() {
            let (mut rest, mut place, mut stride) = (cell, 0, 1);
            for (cells, side) in self.counts.iter().zip(&sides).rev() {
                place += (rest % cells + 1) * stride;
                rest /= cells;
                stride *= side;
            }
            table[place] = *count;
        }
        let mut stride = 1;
        for side in sides.iter().rev() {
            (0..table.len()).filter(|at| at / stride % side > 0).for_each(|at| table[at] += table[at - stride]);
            stride *= side;
        }
        table
    }

    /// The corners of the table of sums that make the sum over a box.
    fn corners(&self, low: &[usize], high: &[usize]) -> Vec<(usize, f64)> {
        let along = |corners: Vec<(usize, f64)>, r: usize| -> Vec<(usize, f64)> {
            let side = self.counts[r] + 1;
            let ends = |(at, sign): (usize, f64)| [(at * side + high[r], sign), (at * side + low[r], -sign)];
            corners.into_iter().flat_map(ends).collect()
        };
        (0..self.counts.len()).fold(vec![(0, 1.0)], along)
    }
}

fn sum_over(corners: &[(usize, f64)], table: &[f64]) -> f64 {
    corners.iter().map(|(at, sign)| sign * table[*at]).sum()
}

/// n log n for whole numbers, the smaller of them from a table.
struct NLogN(Vec<f64>);

impl NLogN {
    const MOST: usize = 4096;

    fn new() -> Self {
        Self((0..Self::MOST).map(|n| if n > 0 { n as f64 * (n as f64).ln() } else { 0.0 }).collect())
    }

    fn at(&self, n: f64) -> f64 {
        self.0.get(n as usize).copied().unwrap_or_else(|| n * n.ln())
    }
}

impl CellBox {
    fn new(cells: &Cells, low: Vec<usize>, widths: &[usize]) -> Self {
        let high: Vec<usize> = low.iter().zip(widths).map(|(low, width)| low + width).collect();
        let wide_low: Vec<usize> = low.iter().zip(widths).map(|(low, width)| low.saturating_sub(*width)).collect();
        let ends = high.iter().zip(widths).zip(&cells.counts);
        let wide_high: Vec<usize> = ends.map(|((high, width), count)| (high + width).min(*count)).collect();
        let (inner, outer) = (cells.corners(&low, &high), cells.corners(&wide_low, &wide_high));
        Self { low, high, inner, outer }
    }

    /// Twice the logarithm of the likelihood ratio of a rate of its own in the box, and of a part of its own of the count around; from tables
    /// of sums.
    fn deviances(&self, seen: &[f64], means: &[f64], n_log_n: &NLogN) -> [f64; 2] {
        let (expected, around) = (sum_over(&self.inner, means), sum_over(&self.outer, means));
        if expected <= LEAST_EXPECTED {
            return [0.0; 2];
        }
        let (inner, outer) = (sum_over(&self.inner, seen).max(0.0), sum_over(&self.outer, seen));
        let (own, log_expected) = (n_log_n.at(inner), expected.ln());
        let count = own - inner * (log_expected + 1.0) + expected;
        let (rest, outside) = ((outer - inner).max(0.0), around - expected);
        if outside <= LEAST_EXPECTED * around {
            return [2.0 * count.max(0.0), 0.0]; // there is no rest
        }
        let split = own + n_log_n.at(rest) - n_log_n.at(inner + rest);
        let part = split - inner * (log_expected - around.ln()) - rest * (outside / around).ln();
        [2.0 * count.max(0.0), 2.0 * part.max(0.0)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_over_boxes_are_those_of_their_cells() {
        let cells = Cells { counts: vec![4, 8, 4], cycle: None };
        let counts: Vec<f64> = (0..cells.total()).map(|cell| ((cell * 37) % 11) as f64).collect();
        let table = cells.table(&counts);
        let (low, high) = ([1, 2, 0], [3, 7, 2]);
        let mut slow = 0.0;
        for (i, j, k) in (1..3).flat_map(|i| (2..7).flat_map(move |j| (0..2).map(move |k| (i, j, k)))) {
            slow += counts[(i * 8 + j) * 4 + k];
        }
        assert_eq!(sum_over(&cells.corners(&low, &high), &table), slow);
    }

    #[test]
    fn deviances_are_those_of_poisson_and_binomial_counts() {
        let cells = Cells { counts: vec![16], cycle: None };
        let mut counts = vec![2.0; 16];
        counts[5] = 9.0;
        let boxes = Boxes::new(&cells);
        let [(count, number), (part, _), ..] = boxes.largest(&counts, &[3.0; 16]);
        assert_eq!((boxes.list[number].low[0], boxes.list[number].high[0]), (5, 6));
        let poisson = 2.0 * (9.0 * (9.0f64 / 3.0).ln() - 6.0);
        let binomial = 2.0 * (9.0 * (9.0 / (13.0 / 3.0f64)).ln() + 4.0 * (4.0 / (26.0 / 3.0f64)).ln());
        assert!((count - poisson.sqrt()).abs() < 1e-12 && (part - binomial.sqrt()).abs() < 1e-12, "{count} {part}");
        let apart = rescaled_times(&[63.0, 37.0], &[50.0; 2], &Cells { counts: vec![2], cycle: None });
        assert!((apart - 1.3).abs() < 1e-12, "{apart}");
    }
}
