//! Options that do nothing are refused, with the reason, and those that do something are not. That none is forgotten is tested in `src/options.rs`.

use crate::common::Folder;

/// What is typed, and the option in it that does nothing.
const IDLE: [(&str, &str); 54] = [
    // A model is fitted already.
    ("plot model.json --method joint --exact", "--method"),
    ("plot model.json --exact", "--exact"),
    ("plot model.json --mean paper", "--mean"),
    ("plot model.json --jitter 1e-6", "--jitter"),
    ("plot model.json --tolerance 1e-3", "--tolerance"),
    ("plot model.json --max-evaluations 5", "--max-evaluations"),
    ("plot model.json --time-unit hours", "--time-unit"),
    ("plot model.json --basis auto", "--basis"),
    ("plot model.json --skip-bad 0", "--skip-bad"),
    ("plot model.json --window 0,5", "--window"),
    // A map has no band; JSON has no picture.
    ("plot map.json --quantiles 0.1,0.9", "--quantiles"),
    ("plot p.csv --window 0,1,0,1 --quantiles 0.1,0.9", "--quantiles"),
    ("plot model.json --json --terminal -o x.svg", "--terminal"),
    ("plot model.json --json --title Coal", "--title"),
    ("plot model.json --json --events coal", "--events"),
    ("plot model.json --json --log", "--log"),
    ("plot map.json --mark 0.5=here -o x.svg", "--mark"),
    ("plot map.json --with model.json -o x.svg", "--with"),
    ("plot map.json --times 3 -o x.svg", "--times"),
    ("plot model.json --at-times 1900 -o x.svg", "--at-times"),
    ("plot model.json --palette grey -o x.svg", "--palette"),
    ("plot model.json --show sd --quantiles 0.1,0.9 -o x.svg", "--quantiles"),
    ("plot model.json --show exceed=2 --log -o x.svg", "--log"),
    ("plot model.json --show exceed=2 --limits 0,1 -o x.svg", "--limits"),
    ("plot model.json --size one-column --terminal", "--size"),
    // A summary was read and has its window.
    ("fit coal.summary --time-unit hours", "--time-unit"),
    ("fit coal.summary --trial-column run", "--trial-column"),
    ("fit coal.summary --exact", "--exact"),
    ("fit coal.summary --skip-bad 3", "--skip-bad"),
    ("summarize coal --trial-column run -o x.summary", "--trial-column"),
    // An update keeps what f is made of.
    ("fit --update summed.json coal.summary --inducing 9", "--inducing"),
    ("fit --update summed.json coal.summary --basis inducing", "--basis"),
    ("fit --update summed.json coal.summary --nodes 9", "--nodes"),
    ("fit --update summed.json coal.summary --kernel se", "--kernel"),
    // A lattice has no kernel, inducing points have no nodes.
    ("fit coal --basis lattice --kernel se", "--kernel"),
    ("fit coal --basis lattice --jitter 1e-6", "--jitter"),
    ("fit coal --nodes 20 --tolerance 1e-3", "--tolerance"),
    ("fit coal --nodes 20 --method joint", "--method"),
    ("fit coal --basis inducing --nodes 20", "--nodes"),
    ("plot coal --smoothness 2 --optimise-inducing", "--optimise-inducing"),
    ("fit coal --exact --tolerance 1e-3", "--tolerance"),
    // No dates are read.
    ("fit coal --time-unit hours", "--time-unit"),
    ("smooth coal --time-unit hours", "--time-unit"),
    ("summarize coal --time-unit hours -o x.summary", "--time-unit"),
    ("simulate --intensity 1 --window 0,5 --time-unit hours", "--time-unit"),
    // Methods without a model, without draws, without held-out events.
    ("compare coal --methods ks+ec --inducing 9", "--inducing"),
    ("compare coal --methods ks+ec,sgcp --exact", "--exact"),
    ("compare coal --methods ks+ec,homogeneous --draws 100", "--draws"),
    ("smooth coal --heldout-repeats 5", "--heldout-repeats"),
    ("sgcp coal --heldout-trials t.csv", "--heldout-trials"),
    // Points.
    ("predict model.json --columns year", "--columns"),
    ("sample model.json --columns year", "--columns"),
    ("sample model.json --events --grid 5", "--grid"),
    ("simulate --model model.json --grid 5", "--grid"),
];

/// What looks like it, and does something.
const USED: [&str; 11] = [
    "plot model.json --title Coal --quantiles 0.1,0.9 --terminal",
    "plot model.json --json -o x.svg --title Coal",
    "plot model.json --json -o x.svg --log --limits 0.1,9 --mark 1900 --with model.json --size two-column",
    "plot map.json --palette grey --points hide --show sd --xlabel a --ylabel b --limits 0,9",
    "plot coal --inducing 9 --method collapsed --terminal",
    "fit coal --columns date --time-unit years --inducing 9",
    "fit coal --inducing 9 --jitter 1e-7 --tolerance 1e-5",
    "fit coal --nodes 20 --fix mean=1 --mean constant --prior 'lengthscale ~ lognormal(2, 1)'",
    "fit coal.summary --inducing 9 --max-evaluations 500",
    "compare coal --methods ks+ec,vbpp --inducing 9 --draws 100",
    "fit --update summed.json coal.summary --max-evaluations 500",
];

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("p.csv", "x,y\n0,0\n1,1\n0.5,0.2\n0.3,0.8\n0.6,0.6\n");
    folder.run("fit coal --inducing 9 -o model.json").good();
    folder.run("fit p.csv --window 0,1,0,1 --inducing 3x3 -o map.json").good();
    folder.run("summarize coal -o coal.summary").good();
    folder.run("fit coal.summary --inducing 9 -o summed.json").good();
    folder
}

#[test]
fn an_option_that_does_nothing_is_refused_with_its_reason() {
    let folder = folder();
    let accepted = |(line, option): &&(&str, &str)| {
        let run = folder.run(line);
        let said = format!("{option} has no effect; ");
        !(run.code == 2 && run.err.contains(&said) && run.err.starts_with("error: ") && run.err.lines().count() == 1)
    };
    let wrong: Vec<_> = IDLE.iter().filter(accepted).collect();
    assert!(wrong.is_empty(), "{} of {}: {wrong:#?}", wrong.len(), IDLE.len());
}

#[test]
fn an_option_that_does_something_is_not() {
    let folder = folder();
    for line in USED {
        folder.run(line).good();
    }
}
