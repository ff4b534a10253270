//! What a fit sees of the events, in the coordinates of the unit box: themselves, or weighted nodes that stand for them.
//!
//! Where inducing points form a grid, a kernel is a product over the axes and the window is made of boxes, the nodes form a
//! tensor grid and the bound is summed axis by axis (`field/inducing/by_axis.rs`); else nodes are used as events with weights. Cells are
//! chosen from the grid of inducing points; how much they leave out is found after the fit, by cells half as long.

use super::inducing::AUTO_MOST;
use super::{Asked, Inducing, Method};
use crate::data::events::Events;
use crate::data::seen::{Data, Seen};
use crate::data::summary::{MANY, Summary, is_worth};
use crate::error::Result;
use crate::kernel::{Expression, Factor, Parameter};
use crate::window::{Scaling, Window};
use std::borrow::Cow;

/// Cells for one distance between inducing points, on a line and in more dimensions, where sums axis by axis make them cheap.
const CELLS_A_STEP: [usize; 2] = [1, 2];
/// Cells in one period of a kernel, ...
const CELLS_A_PERIOD: f64 = 8.0;
/// ... but no more than these in all.
const MOST_CELLS: f64 = 1e6;
/// Cells twice as long leave out 16 times as much. So this part of the difference is what the smaller ones leave out.
const COARSER: f64 = 1.0 / 15.0;

/// What is seen, and what it leaves out.
pub(super) struct Observed {
    pub(super) seen: Seen,
    /// Where events are summarised: what they are in cells of another size, and what part of the difference is the error.
    pub(super) other: Option<(Seen, f64)>,
    /// Whether smaller cells can be had.
    pub(super) can_be_finer: bool,
    /// The cells of the finer of the two.
    pub(super) cells: Vec<usize>,
}

impl Asked {
    /// Whether everything is a product over the axes.
    pub(super) fn goes_by_axis(&self, expression: &Expression, window: &Window) -> bool {
        let on_grid = matches!(self.inducing, Inducing::Auto | Inducing::Grid(_)) && !self.optimise_inducing;
        let is_box = window.is_boxes() && window.pieces().len() == 1;
        let dims = window.dims();
        let varies = |r: usize| {
            let mut parts = expression.terms[0].parts.iter();
            parts.any(|part| part.axis == r && part.factor != Factor::Constant)
        };
        let is_product = dims > 1 && expression.terms.len() == 1 && (0..dims).all(varies);
        on_grid && self.method == Method::Collapsed && is_box && is_product
    }

    /// What the fit sees of the events, in cells so many `times` as small as the inducing points suggest.
    pub(super) fn observed(&self, data: Data<'_>, by_axis: bool, scaling: &Scaling, times: usize) -> Result<Observed> {
        let dims = data.window().dims();
        let wanted = self.wanted_cells(data.window(), times);
        let fine = match data {
            Data::Events(events) if self.exact || events.len() <= MANY || dims > 3 => {
                return Ok(one_by_one(events, scaling));
            }
            Data::Events(events) => {
                let mut fine = Summary::new(events.window(), &twice(&wanted))?;
                fine.add(events.points())?;
                Cow::Owned(fine)
            }
            Data::Summary(summary) => Cow::Borrowed(summary),
        };
        let finer = divisors(&fine.cells(), &twice(&divisors(&fine.cells(), &wanted)));
        let used = divisors(&finer, &wanted);
        // Joining cells twice gives what joining them once does, and there are fewer the second time.
        let between = fine.coarsened(&finer)?;
        let coarse = between.coarsened(&used)?;
        if let Data::Events(events) = data
            && !by_axis
            && !is_worth(coarse.len(), events.len())
        {
            return Ok(one_by_one(events, scaling));
        }
        let can_be_finer = matches!(data, Data::Events(_)) || finer != used;
        let see = |summary: &Summary| Seen::of(summary, by_axis, scaling);
        // The finest cells there are can only be compared with coarser ones.
        let other = match finer != used {
            true => Some((see(&between), 1.0)),
            false => {
                let half: Vec<usize> = used.iter().map(|n| n.div_ceil(2)).collect();
                let coarser = divisors(&used, &half);
                (coarser != used).then(|| fine.coarsened(&coarser)).transpose()?.map(|coarser| (see(&coarser), COARSER))
            }
        };
        Ok(Observed { seen: see(&coarse), other, can_be_finer, cells: finer })
    }

    /// Cells on each axis for the inducing points that are asked for, and for the periods that are given.
    fn wanted_cells(&self, window: &Window, times: usize) -> Vec<usize> {
        let dims = window.dims();
        let counts = match &self.inducing {
            Inducing::Grid(counts) => counts.clone(),
            _ => vec![(AUTO_MOST as f64).powf(1.0 / dims as f64).round() as usize; dims],
        };
        let cells_a_step = CELLS_A_STEP[usize::from(dims > 1)];
        let sides = window.bounding_box().into_iter().map(|span| span.length());
        let waves = sides.enumerate().map(|(r, side)| self.shortest_period(r).map_or(0.0, |period| side / period));
        let cells = |(n, waves): (&usize, f64)| {
            // More cells than can be held are as good as none: then events are looked at one by one.
            let for_waves = (CELLS_A_PERIOD * waves).ceil().min(MOST_CELLS) as usize;
            times * (cells_a_step * n.max(&2)).max(for_waves)
        };
        counts.iter().zip(waves).map(cells).collect()
    }

    /// The shortest period on an axis that is given, in the user's units: inducing points need not be as close as that.
    fn shortest_period(&self, axis: usize) -> Option<f64> {
        let parts = self.kernel.iter().flat_map(|kernel| &kernel.terms).flat_map(|term| &term.parts);
        let periods = parts.filter(|part| part.axis == axis).flat_map(|part| {
            let known = part.factor.parameters().iter().zip(&part.parameters);
            known.filter(|(parameter, _)| parameter.name == Parameter::PERIOD.name).filter_map(|(_, said)| said.value)
        });
        periods.reduce(f64::min)
    }
}

fn one_by_one(events: &Events, scaling: &Scaling) -> Observed {
    let points = scaling.points_inward(events.points());
    let weights = vec![1.0; points.len()];
    Observed { seen: Seen::Points(points, weights), other: None, can_be_finer: false, cells: vec![] }
}

fn twice(cells: &[usize]) -> Vec<usize> {
    cells.iter().map(|n| 2 * n).collect()
}

/// The fewest cells that divide these and are no fewer than wanted; all of them if there are none.
fn divisors(cells: &[usize], wanted: &[usize]) -> Vec<usize> {
    let of = |cells: usize, wanted: usize| (wanted..=cells).find(|n| cells.is_multiple_of(*n)).unwrap_or(cells);
    cells.iter().zip(wanted).map(|(cells, wanted)| of(*cells, *wanted)).collect()
}
