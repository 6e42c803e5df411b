//! Passes the locked version of rmcp on to the program.

fn main() {
    println!("cargo::rerun-if-changed=Cargo.lock");
    let lock = std::fs::read_to_string("Cargo.lock").expect("Cargo.lock");
    let after = lock.split("name = \"rmcp\"\nversion = \"").nth(1).expect("rmcp in Cargo.lock");
    println!("cargo::rustc-env=RMCP_VERSION={}", after.split('"').next().expect("a version"));
}
