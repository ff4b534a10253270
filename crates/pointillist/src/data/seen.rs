//! What a fit sees of the events: themselves, or weighted points that stand for them. One type for every family.

use crate::data::events::Events;
use crate::data::points::Points;
use crate::data::summary::Summary;
use crate::window::{Scaling, Window};

/// The events as they are given.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Data<'a> {
    /// One by one.
    Events(&'a Events),
    /// By cell.
    Summary(&'a Summary),
}

impl Data<'_> {
    pub(crate) fn window(&self) -> &Window {
        match self {
            Data::Events(events) => events.window(),
            Data::Summary(summary) => summary.window(),
        }
    }

    /// Number of events.
    pub(crate) fn len(&self) -> usize {
        match self {
            Data::Events(events) => events.len(),
            Data::Summary(summary) => summary.events() as usize,
        }
    }

    /// By how much the log-likelihood is higher in unit coordinates and without the exposure.
    pub(crate) fn log_units(&self, scaling: &Scaling) -> f64 {
        match self {
            Data::Events(events) => scaling.log_units(events.window(), events.points()),
            Data::Summary(summary) => self.len() as f64 * scaling.volume().ln() - summary.log_exposure(),
        }
    }
}

/// Nodes on the axes, and the weights of their tensor product, the last axis fastest.
#[derive(Debug, Clone)]
pub(crate) struct Tensor {
    pub(crate) axes: Vec<Vec<f64>>,
    pub(crate) weights: Vec<f64>,
}

/// What stands for the events.
#[derive(Debug, Clone)]
pub(crate) enum Seen {
    /// Points with weights.
    Points(Points, Vec<f64>),
    /// A tensor grid.
    Tensor(Tensor),
}

impl Seen {
    pub(crate) fn of(summary: &Summary, by_axis: bool, scaling: &Scaling) -> Self {
        if !by_axis {
            let (points, weights) = summary.nodes();
            return Seen::Points(scaling.points_inward(&points), weights);
        }
        let (mut axes, weights) = summary.tensor();
        axes.iter_mut().enumerate().for_each(|(r, x)| x.iter_mut().for_each(|x| *x = scaling.inward(r, *x)));
        Seen::Tensor(Tensor { axes, weights })
    }

    pub(crate) fn weights(&self) -> &[f64] {
        match self {
            Seen::Points(_, weights) => weights,
            Seen::Tensor(tensor) => &tensor.weights,
        }
    }

    /// What is seen of one axis alone: coordinates with weights.
    pub(crate) fn axis(&self, r: usize) -> (Vec<f64>, Vec<f64>) {
        match self {
            Seen::Points(points, weights) => (points.axis(r), weights.clone()),
            Seen::Tensor(Tensor { axes, weights }) => {
                let stride: usize = axes[r + 1..].iter().map(Vec::len).product();
                let mut sums = vec![0.0; axes[r].len()];
                weights.iter().enumerate().for_each(|(n, w)| sums[n / stride % axes[r].len()] += w);
                (axes[r].clone(), sums)
            }
        }
    }
}
