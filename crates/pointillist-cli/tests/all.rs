//! The tests of the command as a process, in one binary; `documents/` and `mutation/` have their own.

mod bad_input;
mod calibrate;
mod check_fit;
mod common;
mod contrast;
mod counts;
mod covariates;
mod cycles;
mod damage;
mod figures;
mod geography;
mod heldout;
mod inputs;
mod kernels;
mod lattice;
mod limits;
mod measured;
mod options;
mod packaging;
mod progress;
mod rasters;
mod report;
mod reproduce;
mod rivals;
mod signals;
mod simulate;
mod summarize;
mod tables;
mod totals;
mod trust;
mod types;
mod verbs;
mod windows;

/// A file that is not in the list above would not be run.
#[test]
fn every_file_of_this_folder_is_in_the_list() {
    let list = include_str!("all.rs");
    let files = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests")).unwrap();
    let names = files.filter_map(|file| file.unwrap().file_name().into_string().ok());
    for name in names.filter_map(|name| name.strip_suffix(".rs").map(str::to_owned)).filter(|name| name != "all") {
        assert!(list.contains(&format!("\nmod {name};\n")), "tests/{name}.rs is not in tests/all.rs");
    }
}
