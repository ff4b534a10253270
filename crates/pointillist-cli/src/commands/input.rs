//! Events and points in, as the options say: what the sister crate for files reads, with its sentences in the spelling of the command.

use super::{Context, Failure};
use crate::args::{EpochName, EventOptions, GeographyName, HeldOutOptions, RivalOptions, RowOptions};
use crate::io::events::{self, Strictness};
use crate::io::{self, EventSettings, Geography, HeldOut, HeldOutEvents, LooksSaidBy, Placed, RowSettings};
use crate::options::Mode;
use crate::spelling::spelled;
use pointillist::{Axis, Events, Points, Window};

pub use crate::io::events::{Peeked, bytes_of, open};

/// Events ready to be fitted.
pub struct Loaded {
    /// The events in their window.
    pub events: Events,
    /// For each event the number of its trial from 0, if they have trials.
    pub trials: Option<Vec<usize>>,
    /// Their types, if they have any.
    pub types: Option<io::TypeLabels>,
    /// Whether a coordinate is a date.
    pub has_dates: bool,
    /// Whether two coordinates are, or could be taken for, degrees on the globe.
    pub has_degrees: bool,
    /// Where they came from: the last part of the path.
    pub source: String,
    /// What the user should know of how they were read.
    pub warnings: Vec<String>,
}

impl Loaded {
    /// Refuses options that mean nothing for such events.
    pub fn refuse_idle(&self, context: &Context) -> Result<(), Failure> {
        if !self.has_dates {
            context.refuse_idle(Mode::NoDates)?;
        }
        if self.has_degrees { Ok(()) } else { context.refuse_idle(Mode::NoDegrees) }
    }
}

impl RowOptions {
    /// For the reader.
    pub fn settings(&self) -> RowSettings {
        let epoch = self.epoch.map(|unit| match unit {
            EpochName::S => io::Epoch::Seconds,
            EpochName::Ms => io::Epoch::Millis,
            EpochName::Us => io::Epoch::Micros,
            EpochName::Ns => io::Epoch::Nanos,
        });
        RowSettings { filter: self.filter.clone(), date_format: self.date_format.clone(), epoch }
    }
}

impl EventOptions {
    /// For the reader.
    pub fn settings(&self) -> EventSettings {
        EventSettings {
            columns: self.columns.clone(),
            rows: self.rows.settings(),
            window: self.window.clone(),
            repeats: self.repeats,
            trials: self.trials.clone(),
            trial_column: self.trial_column.clone(),
            type_column: None,
            exposure: self.exposure.clone(),
            clip: self.clip,
            crs: self.crs.clone(),
            time_unit: self.time_unit,
            time_zone: self.time_zone.clone(),
            unit: self.unit.clone(),
            skip_bad: self.skip_bad,
            geography: match self.geography {
                None => Geography::Recognised,
                Some(GeographyName::Sphere) => Geography::Sphere,
                Some(GeographyName::Plane) => Geography::Plane,
            },
        }
    }
}

/// Reads events as the options say.
pub fn events(path: &str, options: &EventOptions) -> Result<Loaded, Failure> {
    Ok(loaded(io::read_events(path, &options.settings())?))
}

/// The same with the bytes of the file already at hand.
pub fn events_from(path: &str, bytes: &[u8], options: &EventOptions) -> Result<Loaded, Failure> {
    events_with(path, bytes, &options.settings())
}

/// The same with the settings of the reader.
pub fn events_with(path: &str, bytes: &[u8], settings: &EventSettings) -> Result<Loaded, Failure> {
    Ok(loaded(events::events_from(path, bytes, settings)?))
}

fn loaded(read: io::Loaded) -> Loaded {
    let io::Loaded { events, trials, types, has_dates, has_degrees, source, warnings } = read;
    let warnings = warnings.iter().map(spelled).collect();
    Loaded { events, trials, types, has_dates, has_degrees, source, warnings }
}

/// Reads points for a model: in the columns asked for, else in those called as its axes, else in the numeric ones.
pub fn points(path: &str, columns: Option<&[String]>, axes: &[Axis], options: &RowOptions) -> Result<Placed, Failure> {
    Ok(io::read_points(path, columns, axes, &options.settings())?)
}

/// More events from a window that is known, in these columns; those outside it are refused, or with `clip` dropped.
pub fn events_in(
    path: &str,
    columns: Option<&[String]>,
    window: &Window,
    clip: bool,
    rows: &RowOptions,
    context: &Context,
) -> Result<Points, Failure> {
    let mut placed = points(path, columns, window.axes(), rows)?;
    let dropped = placed.inside(window, Strictness { clip, remedy: None })?;
    placed.notes.iter().chain(&dropped).for_each(|message| context.warn(&spelled(message)));
    Ok(placed.points)
}

/// Held-out events beside events that were fitted with options of their own.
pub fn beside<'a>(path: &'a str, looks: &'a HeldOutOptions, fitted: &'a EventOptions) -> HeldOut<'a> {
    HeldOut {
        path,
        columns: None,
        repeats: looks.heldout_repeats,
        trials: looks.heldout_trials.as_deref(),
        trial_column: fitted.trial_column.as_deref(),
        rows: fitted.rows.settings(),
        clip: fitted.clip,
        said_by: LooksSaidBy::HeldOut,
    }
}

/// Reads held-out events for what was fitted over `window`, and says what there is to say of them.
pub fn held_out(asked: &HeldOut, window: &Window, context: &Context) -> Result<HeldOutEvents, Failure> {
    let read = io::read_held_out(asked, window)?;
    read.notes.iter().for_each(|note| context.note(&spelled(note)));
    read.warnings.iter().for_each(|warning| context.warn(&spelled(warning)));
    Ok(read)
}

/// The events that a rival is to be scored on, if any.
pub fn held_out_of_rival(rival: &RivalOptions, window: &Window, context: &Context) -> Result<Option<Events>, Failure> {
    let read = |path: &String| held_out(&beside(path, &rival.looks, &rival.options), window, context);
    Ok(rival.heldout.as_ref().map(read).transpose()?.map(|read| read.events))
}
