// Package conformancetest holds the interface sentence by sentence against the
// tests that prove it, and writes docs/conformance.md. A sentence without a test,
// a test that does not exist and a page that is stale fail.
package conformancetest
