//! What went wrong, as a Python exception: one type for each kind, defined in `pointillist._errors`, with settings spelled as arguments.

use pointillist::Error;
use pointillist_io::{Action, InputError, Message, ModelFileError, OutputError, Setting, Spelling, SummaryFileError};
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::PyType;
use std::ffi::CString;

/// Settings as arguments.
pub struct Arguments;

impl Spelling for Arguments {
    fn setting(&self, setting: Setting) -> String {
        let name = match setting {
            Setting::Filter => "where",
            Setting::Covariate => "covariates",
            Setting::Unit => "units",
            Setting::HeldOutRepeats => "repeats",
            Setting::HeldOutTrials => "trials",
            Setting::Clip => return "clip=True".into(),
            Setting::MaxMemory => return "pointillist.set_max_memory".into(),
            setting => setting.name(),
        };
        format!("{name}=")
    }

    fn given(&self, setting: Setting, value: &str) -> String {
        let name = self.setting(setting);
        match (setting, value) {
            (Setting::MaxMemory, value) => format!("{name}('{value}')"),
            (Setting::Average, "on") => "average=True".into(),
            (Setting::Average, "off") => "average=False".into(),
            (_, value) if value.parse::<f64>().is_ok() => format!("{name}{value}"),
            (_, value) => format!("{name}'{value}'"),
        }
    }

    fn action(&self, action: Action, file: &str) -> String {
        match action {
            Action::Fit if file == "EVENTS" => "`IntensityModel().fit(events).save(...)`".into(),
            Action::Fit => format!("`IntensityModel().fit(Summary.load('{file}'))`"),
            Action::Summarize => "`Summary.of(events, window).save(...)`".into(),
            _ => file.into(),
        }
    }
}

/// A sentence as the user of the package reads it.
pub fn spelled(message: &Message) -> String {
    message.spelled(&Arguments)
}

/// An exception of this type of `pointillist._errors`.
fn exception(py: Python<'_>, kind: &str, sentence: String) -> PyErr {
    let found = py.import("pointillist._errors").and_then(|module| module.getattr(kind));
    match found.and_then(|class| Ok(class.cast_into::<PyType>()?)) {
        Ok(class) => PyErr::from_type(class, sentence),
        Err(_) => PyRuntimeError::new_err(sentence),
    }
}

/// The same wherever Python is at hand or not.
fn raise(kind: &str, sentence: String) -> PyErr {
    Python::attach(|py| exception(py, kind, sentence))
}

/// What the caller said cannot be meant.
pub fn setting(sentence: impl Into<Message>) -> PyErr {
    raise("SettingError", spelled(&sentence.into()))
}

/// The data cannot be taken.
pub fn input(sentence: impl Into<Message>) -> PyErr {
    raise("InputError", spelled(&sentence.into()))
}

/// A fault of the program.
pub fn internal() -> PyErr {
    raise("InternalError", pointillist_io::fault::report("call"))
}

/// What the library says.
pub fn of_library(error: Error) -> PyErr {
    let kind = match &error {
        Error::OutsideWindow { .. } | Error::Unexposed { .. } => "OutsideWindowError",
        Error::Setting { .. } => "SettingError",
        Error::EmptyWindow { .. } | Error::Overlap { .. } | Error::Polygon { .. } => "WindowError",
        Error::NotPositiveDefinite { .. } | Error::NotANumber { .. } => "NumericalError",
        Error::Cancelled => return PyKeyboardInterrupt::new_err(()),
        _ => "InputError",
    };
    raise(kind, as_argument(error))
}

/// What the library says of a setting, with its name as an argument has it.
fn as_argument(error: Error) -> String {
    let Error::Setting { name, value, requirement } = error else { return error.to_string() };
    let own = match name.as_str() {
        "samples" => "draws",
        "most_sweeps" => "max_sweeps",
        "most_evaluations" => "max_evaluations",
        name => name,
    };
    if own.contains(' ') { format!("{own} {value}: {requirement}") } else { format!("{own}={value}: {requirement}") }
}

/// What the reading of events, or of a setting, says.
pub fn of_input(error: InputError) -> PyErr {
    match error {
        InputError::Library(error) => of_library(error),
        InputError::Missing { .. }
        | InputError::IsDirectory { .. }
        | InputError::NoPermission { .. }
        | InputError::Unreadable { .. } => raise("FileError", spelled(&error.message())),
        InputError::Misplaced(message) => raise("OutsideWindowError", spelled(&message)),
        error => input(error.message()),
    }
}

/// The same where a setting is at fault.
pub fn of_setting(error: InputError) -> PyErr {
    match error {
        InputError::Said(message) => setting(message),
        error => of_input(error),
    }
}

/// The same where a window is at fault.
pub fn of_window(error: InputError) -> PyErr {
    match error {
        InputError::Said(message) => raise("WindowError", spelled(&message)),
        error => of_input(error),
    }
}

/// What a model file says.
pub fn of_model_file(error: ModelFileError) -> PyErr {
    match error {
        ModelFileError::Input(error) => of_input(error),
        error => raise("ModelFileError", spelled(&error.message())),
    }
}

/// What a summary file says.
pub fn of_summary_file(error: SummaryFileError) -> PyErr {
    match error {
        SummaryFileError::Input(error) => of_input(error),
        error => raise("ModelFileError", spelled(&error.message())),
    }
}

/// Refuses what goes by the clocks of a time zone: dates here are those of UTC inside.
pub fn refuse_clocks(axes: &[pointillist::window::Axis], what: &str) -> PyResult<()> {
    let Some(zone) = axes.iter().find_map(|axis| axis.zone.as_deref()) else { return Ok(()) };
    let why = "which the command alone understands; fit without --time-zone";
    Err(raise("ModelFileError", format!("{what} goes by the clocks of {zone}, {why}")))
}

/// What writing says.
pub fn of_output(error: OutputError) -> PyErr {
    raise("FileError", error.to_string())
}

/// Warnings as Python's, of this type of `pointillist._errors`.
pub fn warn(py: Python<'_>, kind: &str, sentences: impl IntoIterator<Item = String>) -> PyResult<()> {
    let class = py.import("pointillist._errors")?.getattr(kind)?;
    for sentence in sentences {
        let sentence = CString::new(sentence.replace('\0', " ")).unwrap_or_default();
        // Past the glue in Python, to the line that called it.
        PyErr::warn(py, &class, &sentence, 2)?;
    }
    Ok(())
}

/// Usual warnings.
pub fn warn_of(py: Python<'_>, messages: &[Message]) -> PyResult<()> {
    warn(py, "PointillistWarning", messages.iter().map(spelled))
}
