//! The components of a rate whose kernel is a sum: what each is called, and the places over which one cycle of it is averaged.
//!
//! A term that repeats itself is called by its period; all that does not is the trend, and the constant belongs to it. Without anything that repeats itself
//! every term is a component of its own.

use super::fit_summary::brief;
use super::message::{Message, Setting};
use super::window::time_axis;
use crate::message;
use pointillist::kernel::{Kernel, Part};
use pointillist::parts::{PartAtPlaces, PartOfF};
use pointillist::watch::PartWatch;
use pointillist::{Axis, Error, Points, Posterior, Window};

/// What the trend is called.
const TREND: &str = "trend";
/// The constant, where it belongs to no trend.
const LEVEL: &str = "level";
/// Most cycles over which a profile is averaged: more would not change the picture.
const MOST_AVERAGED: usize = 60;
/// Seconds from 1970-01-01, a Thursday, back to a Monday.
const SINCE_MONDAY: f64 = 3.0 * 86_400.0;

/// A component.
#[derive(Clone, Debug, PartialEq)]
pub struct Component {
    /// What it is called.
    pub name: String,
    /// Which part of f it is.
    pub part: PartOfF,
    /// What it repeats itself after, if it does.
    pub cycle: Option<Cycle>,
}

/// A cycle on an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cycle {
    /// The axis.
    pub axis: usize,
    /// Its length, in the unit of the axis.
    pub period: f64,
    /// Where one begins: at midnight, on a Monday, or at the beginning of a year if the axis knows dates.
    pub start: f64,
    /// Which of those that have a name it is.
    pub named: Option<NamedCycle>,
}

/// Cycles of the clock and the calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamedCycle {
    /// Of 60 minutes.
    Hour,
    /// Of 24 hours.
    Day,
    /// From Monday to Sunday.
    Week,
    /// Of 365.2425 days.
    Year,
}

impl NamedCycle {
    /// All of them, from the shortest.
    pub const ALL: [Self; 4] = [Self::Hour, Self::Day, Self::Week, Self::Year];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hour => "hour",
            Self::Day => "day",
            Self::Week => "week",
            Self::Year => "year",
        }
    }

    /// Its length in seconds.
    pub fn seconds(self) -> f64 {
        match self {
            Self::Hour => 3600.0,
            Self::Day => 86_400.0,
            Self::Week => 604_800.0,
            Self::Year => 365.2425 * 86_400.0,
        }
    }

    /// Places of a cycle, as parts of it, and what they are called.
    pub fn labels(self) -> Vec<(f64, String)> {
        let parts = |count: u32, name: &dyn Fn(u32) -> String| {
            (0..=count).map(|i| (f64::from(i) / f64::from(count), name(i))).collect()
        };
        match self {
            Self::Hour => parts(6, &|i| format!("{} min", 10 * i)),
            Self::Day => parts(8, &|i| format!("{:02}:00", 3 * i)),
            Self::Week => {
                let days = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
                days.iter().enumerate().map(|(i, day)| (i as f64 / 7.0, day.to_string())).collect()
            }
            Self::Year => {
                let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
                let mut day = 0.0;
                let mut label = |(name, length): (&&str, f64)| {
                    day += length;
                    ((day - length) / 365.2425, name.to_string())
                };
                let lengths = [31.0, 28.2425, 31.0, 30.0, 31.0, 30.0, 31.0, 31.0, 30.0, 31.0, 30.0, 31.0];
                months.iter().zip(lengths).map(&mut label).collect()
            }
        }
    }
}

/// The components of a posterior; refused where it has one alone.
pub fn components(posterior: &Posterior) -> Result<Vec<Component>, Message> {
    let Some(kernel) = posterior.kernel().filter(|kernel| kernel.terms.len() > 1) else {
        return Err(message![
            "this model has no components: its rate is one part, and the factors of a product cannot be told apart; fit with ",
            Setting::Cycle.given("day"),
            ", or with a sum as ",
            Setting::Kernel
        ]);
    };
    let axes = posterior.window().axes();
    let cycles: Vec<Option<Cycle>> = (0..kernel.terms.len()).map(|term| cycle(&kernel, term, axes)).collect();
    if cycles.iter().all(Option::is_none) {
        return Ok(by_term(&kernel, axes));
    }
    let slow = (0..cycles.len()).filter(|term| cycles[*term].is_none()).collect::<Vec<_>>();
    let name = if slow.is_empty() { LEVEL } else { TREND };
    let trend = Component { name: name.into(), part: PartOfF { terms: slow, constant: true }, cycle: None };
    let mut found = vec![trend];
    for (term, cycle) in cycles.iter().enumerate().filter_map(|(term, cycle)| Some((term, (*cycle)?))) {
        let called = |name: &str| name.to_string();
        let name = cycle.named.map_or_else(|| format!("period {}", brief(cycle.period)), |named| called(named.name()));
        let taken =
            found.iter().filter(|other| other.name == name || other.name.starts_with(&format!("{name} "))).count();
        let name = if taken == 0 { name } else { format!("{name} {}", taken + 1) };
        found.push(Component { name, part: PartOfF { terms: vec![term], constant: false }, cycle: Some(cycle) });
    }
    Ok(found)
}

/// The constant, and every term by itself.
fn by_term(kernel: &Kernel, axes: &[Axis]) -> Vec<Component> {
    let name = |term: usize| {
        let factor = |part: &Part| format!("{}({})", part.factor.name(), axes[part.axis].name);
        let parts: Vec<String> = kernel.terms[term].parts.iter().map(factor).collect();
        format!("{} {}", term + 1, parts.join("*"))
    };
    let of_term =
        |term: usize| Component { name: name(term), part: PartOfF { terms: vec![term], constant: false }, cycle: None };
    let level = Component { name: LEVEL.into(), part: PartOfF { terms: vec![], constant: true }, cycle: None };
    std::iter::once(level).chain((0..kernel.terms.len()).map(of_term)).collect()
}

/// The longest cycle of a term.
fn cycle(kernel: &Kernel, term: usize, axes: &[Axis]) -> Option<Cycle> {
    let of_part = |part: &Part| {
        let place = part.factor.parameters().iter().position(|parameter| parameter.name == "period")?;
        Some((part.axis, *part.parameters.get(place)?))
    };
    let (axis, period) = kernel.terms[term].parts.iter().filter_map(of_part).max_by(|a, b| a.1.total_cmp(&b.1))?;
    let time = time_axis(&axes[axis]);
    let unit = time.map(|time| time.unit).or_else(|| axes[axis].unit.as_deref()?.parse().ok());
    let seconds = unit.map(|unit: super::TimeUnit| period * unit.seconds());
    let is_near = |named: &NamedCycle| seconds.is_some_and(|s| (s / named.seconds() - 1.0).abs() < 1e-3);
    let named = NamedCycle::ALL.into_iter().find(is_near);
    let begins = if named == Some(NamedCycle::Week) { -SINCE_MONDAY } else { 0.0 };
    let start = time.map_or(0.0, |time| (begins - time.origin_unix_seconds) / time.unit.seconds());
    Some(Cycle { axis, period, start, named })
}

impl Cycle {
    /// The places of a window of one axis that stand at a part of the cycle, all of them or so many that lie evenly among them; where the window has
    /// none, the one in the cycle in which it begins.
    pub fn places(&self, part: f64, window: &Window) -> Result<Points, Error> {
        Points::line(&self.times(part, window, MOST_AVERAGED, |x| window.contains(&[x])))
    }

    /// The places of its axis that stand at a part of the cycle and that `is_seen`, at most so many; where there is none, the one in the cycle in which the
    /// window begins.
    pub fn times(&self, part: f64, window: &Window, most: usize, is_seen: impl Fn(f64) -> bool) -> Vec<f64> {
        let span = window.bounding_box()[self.axis];
        let offset = self.start + part * self.period;
        let first = ((span.lo - offset) / self.period).ceil();
        let last = ((span.hi - offset) / self.period).floor();
        let at = |number: f64| offset + number * self.period;
        let all: Vec<f64> = (0..)
            .map(|i| first + f64::from(i))
            .take_while(|number| *number <= last)
            .map(at)
            .filter(|x| is_seen(*x))
            .collect();
        match all.len() {
            0 => vec![at(((span.lo - offset) / self.period).floor())],
            count if count <= most => all,
            count => (0..most).map(|i| all[i * count / most]).collect(),
        }
    }
}

/// One cycle of a component, averaged over those in the window: parts of the cycle, and the component at them. The window has one axis.
pub fn profile(
    posterior: &Posterior,
    (part, cycle): (&PartOfF, &Cycle),
    count: usize,
    probabilities: &[f64],
    watch: &PartWatch<'_>,
) -> Result<(Vec<f64>, PartAtPlaces), Error> {
    let parts: Vec<f64> = (0..=count).map(|i| i as f64 / count as f64).collect();
    let places = parts.iter().map(|at| cycle.places(*at, posterior.window())).collect::<Result<Vec<_>, _>>()?;
    Ok((parts, posterior.part_watched(part, &places, probabilities, watch)?))
}

/// How a component of a model of several axes is looked at: along which axes it changes by itself.
#[derive(Clone, Debug, PartialEq)]
pub enum View {
    /// Along one axis, averaged over the others.
    Along(usize),
    /// Over two axes, averaged over the others.
    Over([usize; 2]),
    /// In the course of a cycle, averaged over all of them and over the other axes.
    Cycle(Cycle),
}

/// What there is to see of a component of a posterior; nothing of a constant.
pub fn views(component: &Component, posterior: &Posterior) -> Vec<View> {
    if let Some(cycle) = component.cycle {
        return vec![View::Cycle(cycle)];
    }
    let Some(kernel) = posterior.kernel() else { return Vec::new() };
    let changes = |r: &usize| {
        let parts = component.part.terms.iter().flat_map(|term| &kernel.terms[*term].parts);
        parts.into_iter().any(|part| part.axis == *r)
    };
    let axes: Vec<usize> = (0..kernel.dims).filter(changes).collect();
    let is_time = |r: &usize| time_axis(&posterior.window().axes()[*r]).is_some();
    match axes[..] {
        [] => Vec::new(),
        [a, b] if !is_time(&a) && !is_time(&b) => vec![View::Over([a, b])],
        [a, b, ref rest @ ..] if axes.len() > 2 => {
            std::iter::once(View::Over([a, b])).chain(rest.iter().map(|r| View::Along(*r))).collect()
        }
        _ => axes.into_iter().map(View::Along).collect(),
    }
}

/// So many places of the other axes over which a component is averaged on each of them, with one other and with more.
const OTHERS: [usize; 2] = [16, 6];

/// Places of a window at a place of some of its axes, all over the others; those inside, if there are any.
pub fn all_over(window: &Window, fixed: &[(usize, f64)]) -> Result<Points, Error> {
    let dims = window.dims();
    let others = dims - fixed.len();
    let spans = window.bounding_box();
    let mut rows = vec![vec![]];
    for (r, span) in spans.iter().enumerate() {
        let along: Vec<f64> = match fixed.iter().find(|(axis, _)| *axis == r) {
            Some((_, x)) => vec![*x],
            None => {
                let count = OTHERS[others.clamp(1, OTHERS.len()) - 1];
                (0..count).map(|i| span.lo + span.length() * (i as f64 + 0.5) / count as f64).collect()
            }
        };
        rows = rows.iter().flat_map(|row: &Vec<f64>| along.iter().map(move |x| [&row[..], &[*x]].concat())).collect();
    }
    let inside: Vec<Vec<f64>> = rows.iter().filter(|row| window.contains(row)).cloned().collect();
    Points::new(dims, if inside.is_empty() { rows.concat() } else { inside.concat() })
}

/// One cycle of a component of a posterior of several axes, averaged over those in the window and over the other axes.
pub fn profile_all_over(
    posterior: &Posterior,
    (part, cycle): (&PartOfF, &Cycle),
    count: usize,
    probabilities: &[f64],
    watch: &PartWatch<'_>,
) -> Result<(Vec<f64>, PartAtPlaces), Error> {
    let window = posterior.window();
    let parts: Vec<f64> = (0..=count).map(|i| i as f64 / count as f64).collect();
    let places_at = |at: &f64| {
        let times = cycle.times(*at, window, OTHERS[1], |_| true);
        let each = times.iter().map(|x| all_over(window, &[(cycle.axis, *x)])).collect::<Result<Vec<_>, _>>()?;
        Points::new(window.dims(), each.iter().flat_map(|points| points.coordinates().to_vec()).collect())
    };
    let places = parts.iter().map(places_at).collect::<Result<Vec<_>, _>>()?;
    Ok((parts, posterior.part_watched(part, &places, probabilities, watch)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pointillist::kernel::{Factor, Term};

    #[test]
    fn cycles_begin_where_clocks_and_calendars_do() {
        // From noon of Wednesday 2024-01-03 on.
        let axis =
            Axis { name: "t".into(), unit: Some("hours".into()), origin: Some(1_704_283_200.0), ..Axis::default() };
        let window = Window::interval(0.0, 100.0).unwrap().with_axes(vec![axis.clone()]).unwrap();
        let of = |period: f64| {
            let part = |factor, parameters| Part { axis: 0, factor, parameters };
            let terms = vec![
                Term { variance: 1.0, parts: vec![part(Factor::SquaredExponential, vec![9.0])] },
                Term { variance: 1.0, parts: vec![part(Factor::Periodic, vec![period, 1.0])] },
            ];
            cycle(&Kernel::new(1, terms).unwrap(), 1, std::slice::from_ref(&axis)).unwrap()
        };
        let day = of(24.0);
        assert_eq!(day.named, Some(NamedCycle::Day));
        assert_eq!(day.places(0.25, &window).unwrap().axis(0), [18.0, 42.0, 66.0, 90.0]);
        let week = of(168.0);
        // Saturday noon is 72 hours later.
        assert_eq!(week.places(5.5 / 7.0, &window).unwrap().axis(0), [72.0]);
        assert_eq!(NamedCycle::Week.labels()[5].1, "Sat");
        assert_eq!(of(5.0).named, None);
    }
}
