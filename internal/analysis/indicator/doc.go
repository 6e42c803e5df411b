// Package indicator is the catalogue: what each indicator is called, which
// parameters it takes, what it draws and which signals it gives. It computes
// from bars handed to it and does no I/O.
package indicator
