// Package chart turns bars and indicator results into a picture, in two independent
// steps: Layout places everything in a Scene of plain geometry, which tests check
// without pixels, and a painter draws the Scene on the indexed raster behind PNG.
//
// The package is pure: no I/O, no clock, no goroutines. The same Spec gives the
// same bytes on every machine.
package chart
