// Package admin serves health, readiness, metrics and profiles to an operator. It reads
// the state of components only on request, and it is the only package that knows the
// Prometheus format. It changes nothing, shows no secrets, and has no label whose values
// a client, a symbol or an order could multiply.
package admin
