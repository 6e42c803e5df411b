// Package indicator is the catalogue of indicators: their names, parameters,
// computation, appearance and signals. It computes from given bars and does no I/O.
package indicator
