//! Draws: of the intensity at points, and of whole new sets of events. Each draw belongs to one component, picked by weight.

use super::{Component, Posterior, PosteriorBasis};
use crate::data::points::Points;
use crate::error::Result;
use crate::limits;
use crate::posterior::field::Field;
use crate::sample::simulate::Simulation;
use crate::sample::{self, gaussian};
use crate::watch::{PartWatch, Work, unwatched};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::component::BLOCK;

/// Coefficients of draws that are held at a time.
const DRAWS_HELD: usize = 1 << 24;
/// Added to the seed for the random numbers that pick components, which must not be those that make draws.
const PICKING: u64 = 0x9e37_79b9_7f4a_7c15;

impl Posterior {
    /// A number made of all its means and weights: two posteriors that have it in common are the same.
    pub fn fingerprint(&self) -> u64 {
        self.own_seed(0)
    }

    /// The seed of its draws, made of the one that was asked for and of its own numbers: draws of two posteriors have nothing to do with each other,
    /// though both are asked with the same seed.
    pub(super) fn own_seed(&self, seed: u64) -> u64 {
        let numbers = self.components.iter().flat_map(|component| {
            let mean = match &component.basis {
                PosteriorBasis::Inducing(field) => &field.q.mean,
                PosteriorBasis::Lattice(field) => field.mean(),
                PosteriorBasis::Layers(field) => field.mean(),
            };
            std::iter::once(&component.weight).chain(mean)
        });
        numbers.fold(seed, |mixed, number| {
            let mixed = (mixed ^ number.to_bits()).wrapping_mul(PICKING);
            mixed ^ (mixed >> 32)
        })
    }

    /// The number of the component that a draw belongs to.
    fn picked(&self, seed: u64, draw: u64) -> usize {
        if self.components.len() == 1 {
            return 0;
        }
        let share: f64 = sample::stream(seed.wrapping_add(PICKING), draw).random();
        let mut before = 0.0;
        let picked = self.components.iter().position(|component| {
            before += component.weight;
            share < before
        });
        picked.unwrap_or(self.components.len() - 1)
    }

    /// The numbers of the draws that belong to each component.
    pub(super) fn draws_of_each(&self, draws: usize, seed: u64) -> Vec<Vec<usize>> {
        let mut own = vec![vec![]; self.components.len()];
        (0..draws).for_each(|draw| own[self.picked(seed, draw as u64)].push(draw));
        own
    }

    /// `draws` joint draws of the intensity at points. Worked on in blocks of points, so that memory grows with points times draws alone.
    ///
    /// ```
    /// # use pointillist::{Events, Model, Points, Window};
    /// # let events = Events::new(Points::line(&[1.0, 1.2, 1.9, 4.0])?, Window::interval(0.0, 5.0)?)?;
    /// let posterior = Model::default().fit(&events)?.posterior;
    /// let draws = posterior.sample(&Points::line(&[1.1, 3.0])?, 100, 0)?;
    /// assert!(draws.len() == 100 && draws.iter().flatten().all(|rate| *rate >= 0.0));
    /// # Ok::<(), pointillist::Error>(())
    /// ```
    pub fn sample(&self, points: &Points, draws: usize, seed: u64) -> Result<Vec<Vec<f64>>> {
        self.sample_watched(points, draws, seed, &unwatched)
    }

    /// The same, telling `watch` which part of it is done.
    pub fn sample_watched(
        &self,
        points: &Points,
        draws: usize,
        seed: u64,
        watch: &PartWatch<'_>,
    ) -> Result<Vec<Vec<f64>>> {
        self.check_dims(points)?;
        limits::numbers("draws", draws, points.len())?;
        let seed = self.own_seed(seed);
        let inner = self.scaling.points_inward(points);
        let work = Work::new(draws.saturating_mul(1 + points.len().div_ceil(BLOCK).max(1)), watch);
        let mut drawn = vec![Vec::new(); draws];
        for (component, own) in self.components.iter().zip(self.draws_of_each(draws, seed)) {
            if !own.is_empty() {
                self.draw_from(component, &inner, (seed, &own), &mut drawn, &work)?;
            }
        }
        Ok(drawn)
    }

    /// The draws with these numbers from one component. Each has a unit of the work for its coefficients, and one for each block of points.
    fn draw_from(
        &self,
        component: &Component,
        points: &Points,
        (seed, own): (u64, &[usize]),
        drawn: &mut [Vec<f64>],
        work: &Work<'_>,
    ) -> Result<()> {
        let beyond = component.reaching_points(points)?;
        let field = beyond.as_deref().unwrap_or(component.field());
        let (volume, link, blocks) = (self.scaling.volume(), component.formula(), even_blocks(points));
        let held = (DRAWS_HELD / field.size().max(1)).max(1);
        for group in own.chunks(held) {
            let start = |draw: &usize| {
                let mut rng = sample::stream(seed, *draw as u64);
                let coefficients = draw_coefficients(field, &mut rng)?;
                work.advance(1)?;
                Ok((coefficients, rng))
            };
            let mut streams = group.iter().map(start).collect::<Result<Vec<_>>>()?;
            group.iter().for_each(|draw| drawn[*draw].reserve(points.len()));
            for block in &blocks {
                let at = field.at(block)?;
                work.pulse()?;
                for (draw, (coefficients, rng)) in group.iter().zip(&mut streams) {
                    drawn[*draw].extend(at.draw(coefficients, rng).iter().map(|f| link.rate(*f) / volume));
                    work.advance(1)?;
                }
            }
        }
        Ok(())
    }

    /// A whole new set of events: an intensity from the posterior, then events from it. Draw number `draw` of `seed`. What inducing
    /// points leave unexplained of the intensity counts by its mean, as in [`Posterior::count`].
    ///
    /// ```
    /// # use pointillist::{Events, Model, Points, Window};
    /// # let events = Events::new(Points::line(&[1.0, 1.2, 1.9, 4.0])?, Window::interval(0.0, 5.0)?)?;
    /// let posterior = Model::default().fit(&events)?.posterior;
    /// let new = posterior.sample_events(7, 0)?;
    /// assert!(new.rows().all(|x| (0.0..=5.0).contains(&x[0])));
    /// # Ok::<(), pointillist::Error>(())
    /// ```
    pub fn sample_events(&self, seed: u64, draw: u64) -> Result<Points> {
        self.sample_events_apart((seed, draw), 0)
    }

    /// The same, with chance of its own for each `apart`: types of one draw have intensities that belong together, and events that do not.
    pub(super) fn sample_events_apart(&self, (seed, draw): (u64, u64), apart: u64) -> Result<Points> {
        self.events_of(&mut self.drawn(seed, draw)?, (apart, draw))
    }

    /// The unknowns of draw number `draw` of `seed`, from a component by its weight.
    pub(super) fn drawn(&self, seed: u64, draw: u64) -> Result<Drawn<'_>> {
        let seed = self.own_seed(seed);
        let number = self.picked(seed, draw);
        let mut rng = sample::stream(seed, draw);
        let component = &self.components[number];
        let coefficients = draw_coefficients(component.field(), &mut rng)?;
        Ok(Drawn { number, component, coefficients, rng })
    }

    /// Events of a drawn intensity.
    pub(super) fn events_of(&self, drawn: &mut Drawn<'_>, (apart, draw): (u64, u64)) -> Result<Points> {
        let Drawn { component, coefficients, rng, .. } = drawn;
        let (field, link, volume) = (component.field(), component.formula(), self.scaling.volume());
        let rates = |points: &Points| -> Result<Vec<f64>> {
            let inner = self.scaling.points_inward(points);
            let at = field.at(&inner)?;
            let both = at.mean(coefficients).into_iter().zip(at.residual());
            Ok(both.map(|(f, c)| link.moments(f, *c).0 / volume).collect())
        };
        // Its numbers must not be those that made the intensity.
        let of_events = rng.random::<u64>().wrapping_add(apart.wrapping_mul(PICKING));
        Simulation::of_batches(&self.window, rates)?.draw(of_events, draw)
    }
}

/// The unknowns of one draw, and where chance goes on.
pub(super) struct Drawn<'a> {
    /// The number of the component that it belongs to.
    pub(super) number: usize,
    component: &'a Component,
    pub(super) coefficients: Vec<f64>,
    pub(super) rng: ChaCha8Rng,
}

/// Points in as few blocks as possible, all of about the same length: a very short one would be drawn by another method.
fn even_blocks(points: &Points) -> Vec<Points> {
    let count = points.len().div_ceil(BLOCK).max(1);
    let length = points.len().div_ceil(count).max(1);
    let block = |rows: &[f64]| Points::of_rows(points.dims(), rows.to_vec());
    points.coordinates().chunks(length * points.dims()).map(block).collect()
}

pub(super) fn draw_coefficients(field: &dyn Field, rng: &mut ChaCha8Rng) -> Result<Vec<f64>> {
    field.draw(&gaussian::standard_normal(rng, field.size()))
}
