// Package admin answers an operator: is it alive, is it ready, what does it count,
// where does its time go. It reads what the parts publish when somebody asks, so
// nobody pays while nobody does, and it is the only package that knows the format of
// Prometheus. It changes nothing, shows no secret, and has no label that a client,
// a symbol or an order could make more of.
package admin
