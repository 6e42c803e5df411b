// Package orders stores orders, journals and the state of a desk in an append-only stream with
// one fenced writer.
package orders
