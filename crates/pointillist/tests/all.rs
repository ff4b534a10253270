//! The library's tests, in one binary: what is generic is compiled once, and long tests run beside each other.

mod additive;
mod averages;
mod beyond;
mod bins;
mod budgets;
mod common;
mod counts;
mod covariates;
mod cycles;
mod draws;
mod equivalence;
mod exact;
mod exposure;
mod forecasts;
mod golden;
mod gradients;
mod identities;
mod inducing_averages;
mod kernels;
mod lattice;
mod lattice_posterior;
mod links;
mod measured;
mod polygons;
mod ratios;
mod recovery;
mod scale;
mod simulation;
mod standard_errors;
mod surface;
mod trust;
mod types;
mod varying;
mod watched;
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
