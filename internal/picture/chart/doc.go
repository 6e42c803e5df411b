// Package chart turns bars and indicator results into a picture. It works in two
// steps that know nothing of each other: Layout places everything in a Scene of
// plain geometry, which tests read without a pixel in sight, and a painter puts
// the Scene on a canvas, either the indexed raster behind PNG or an SVG document.
//
// The package is pure: no I/O, no clock, no goroutines. The same Spec gives the
// same bytes on every machine.
package chart
