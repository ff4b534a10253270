//! One component of a posterior: a field with its link and its weight, and f at any place under it.

use super::field::Field;
use super::{InducingField, LatticeField, LatticeSummary, PosteriorBasis};
use crate::data::points::Points;
use crate::error::Result;
use crate::field::lattice::Smoothness;
use crate::terms::{Link, LinkFormula, Marginals};
use crate::watch::Work;
use crate::window::{Span, Window};

/// Rounding of the ends of a window on their way into the unit box.
const ROUNDING: f64 = 1e-9;
/// Ranges from the window at which nothing is known any more: correlation is below 1e-3.
const FAR: f64 = 3.0;
/// Points worked on at a time: what is held for them grows with the number of coefficients.
pub(super) const BLOCK: usize = 4096;

/// A field with its weight. Coordinates are those of the unit box.
#[derive(Clone)]
pub(crate) struct Component {
    pub(crate) weight: f64,
    pub(crate) link: Link,
    pub(crate) basis: PosteriorBasis,
}

impl Component {
    /// The smoothness and the link of a lattice.
    pub(crate) fn family(&self) -> Option<(Smoothness, Link)> {
        match &self.basis {
            PosteriorBasis::Inducing(_) | PosteriorBasis::Layers(_) => None,
            PosteriorBasis::Lattice(field) => Some((field.smoothness(), self.link)),
        }
    }

    /// Whether it stands for a rate that does not vary.
    pub(crate) fn is_constant(&self) -> bool {
        match &self.basis {
            PosteriorBasis::Inducing(_) | PosteriorBasis::Layers(_) => false,
            PosteriorBasis::Lattice(field) => LatticeSummary::hardly_varies(self.link, field.theta.variance),
        }
    }

    pub(crate) fn field(&self) -> &dyn Field {
        match &self.basis {
            PosteriorBasis::Inducing(field) => field,
            PosteriorBasis::Lattice(field) => field,
            PosteriorBasis::Layers(field) => field,
        }
    }

    /// The same with nothing kept of what is made on demand: that goes when this one does.
    pub(crate) fn apart(&self) -> Self {
        let basis = match &self.basis {
            PosteriorBasis::Inducing(field) => PosteriorBasis::Inducing(field.clone()),
            PosteriorBasis::Lattice(field) => PosteriorBasis::Lattice(field.apart()),
            PosteriorBasis::Layers(field) => PosteriorBasis::Layers(field.apart()),
        };
        Self { basis, ..*self }
    }

    pub(super) fn inducing(&self) -> Option<&InducingField> {
        match &self.basis {
            PosteriorBasis::Inducing(field) => Some(field),
            PosteriorBasis::Lattice(_) | PosteriorBasis::Layers(_) => None,
        }
    }

    pub(super) fn lattice(&self) -> Option<&LatticeField> {
        match &self.basis {
            PosteriorBasis::Inducing(_) | PosteriorBasis::Layers(_) => None,
            PosteriorBasis::Lattice(field) => Some(field),
        }
    }

    pub(crate) fn formula(&self) -> &'static dyn LinkFormula {
        self.link.formula()
    }

    /// Mean and variance of f at points. Outside the window they are those of the prior given what is known inside.
    pub(super) fn marginals(&self, points: &Points, work: &Work<'_>) -> Result<Marginals> {
        self.asked(points, work, |field, points| field.marginals(points))
    }

    /// The same as bands of the rate show it.
    pub(super) fn shown(&self, points: &Points, work: &Work<'_>) -> Result<Marginals> {
        self.asked(points, work, |field, points| field.shown(points))
    }

    /// Worked on in blocks: memory grows with the points alone.
    fn asked(
        &self,
        points: &Points,
        work: &Work<'_>,
        ask: impl Fn(&dyn Field, &Points) -> Result<Marginals>,
    ) -> Result<Marginals> {
        let reaching = match self.brought_near(points) {
            Some(near) => self.field().reaching(&spans_of(&near), false)?,
            None => None,
        };
        in_blocks(points, work, |block| {
            // Inside the window the answers are the same whatever else is asked for.
            let mut all = ask(self.field(), block)?;
            if let (Some(field), Some(near)) = (&reaching, self.brought_near(block)) {
                let outside = ask(&**field, &near)?;
                for (n, _) in block.rows().enumerate().filter(|(_, row)| !is_in_unit_box(row)) {
                    (all.mean[n], all.variance[n]) = (outside.mean[n], outside.variance[n]);
                }
            }
            Ok(all)
        })
    }

    /// Points of which some lie outside the window, where a lattice may not reach. Those so far away that nothing is known any more are
    /// moved nearer.
    fn brought_near(&self, points: &Points) -> Option<Points> {
        let field = self.lattice().filter(|_| !points.rows().all(is_in_unit_box))?;
        if field.regressors().is_some() {
            return Some(points.clone()); // elsewhere covariates are others
        }
        let far: Vec<f64> = field.theta.ranges().iter().map(|range| FAR * range).collect();
        Some(points.map(|r, x| x.clamp(-far[r], 1.0 + far[r])))
    }

    /// A field that can draw f at points outside the window, if this one cannot.
    pub(super) fn reaching_points(&self, points: &Points) -> Result<Option<Box<dyn Field>>> {
        match points.rows().all(is_in_unit_box) {
            true => Ok(None),
            false => self.field().reaching(&spans_of(points), false),
        }
    }

    /// A field that knows f all over regions beyond the window, if this one does not.
    pub(super) fn reaching_regions(&self, regions: &[Window], dims: usize) -> Result<Option<Box<dyn Field>>> {
        let mut around: Vec<Span> = vec![Span { lo: 0.0, hi: 1.0 }; dims];
        for span in regions.iter().map(Window::bounding_box) {
            around.iter_mut().zip(span).for_each(|(all, one)| {
                (all.lo, all.hi) = (all.lo.min(one.lo), all.hi.max(one.hi));
            });
        }
        if regions.iter().all(is_inside) {
            return Ok(None);
        }
        self.field().reaching(&around, true)
    }
}

/// Whether a region does not reach beyond the window. Its ends may be rounded on their way in.
pub(super) fn is_inside(region: &Window) -> bool {
    region.bounding_box().iter().all(|span| span.lo > -ROUNDING && span.hi < 1.0 + ROUNDING)
}

fn is_in_unit_box(row: &[f64]) -> bool {
    row.iter().all(|x| (-ROUNDING..=1.0 + ROUNDING).contains(x))
}

/// The box around points, and the window.
fn spans_of(points: &Points) -> Vec<Span> {
    let mut spans = vec![Span { lo: 0.0, hi: 1.0 }; points.dims()];
    for row in points.rows() {
        spans.iter_mut().zip(row).for_each(|(span, x)| (span.lo, span.hi) = (span.lo.min(*x), span.hi.max(*x)));
    }
    spans
}

/// Mean and variance of f at points, block by block; each point is a unit of the work.
pub(crate) fn in_blocks(
    points: &Points,
    work: &Work<'_>,
    of_block: impl Fn(&Points) -> Result<Marginals>,
) -> Result<Marginals> {
    let mut all = Marginals::default();
    for rows in points.coordinates().chunks(BLOCK * points.dims()) {
        let block = Points::of_rows(points.dims(), rows.to_vec());
        let part = of_block(&block)?;
        all.mean.extend(part.mean);
        all.variance.extend(part.variance);
        work.advance(block.len())?;
    }
    Ok(all)
}
