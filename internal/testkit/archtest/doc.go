// Package archtest holds the shape of the repository as data and fails the
// tests when the code leaves it: which layer each package belongs to, which way
// imports may point, who may start goroutines, and the habits of CONTRIBUTING
// that a linter cannot see. Nothing imports it; the reasons are in
// docs/adr/0001-layers.md.
package archtest
