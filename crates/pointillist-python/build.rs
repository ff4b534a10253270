//! Link arguments that some systems need for a library whose symbols come from the process that loads it.

fn main() {
    pyo3_build_config::add_extension_module_link_args();
}
