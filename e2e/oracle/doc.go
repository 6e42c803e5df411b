// Package oracle lets the venues' own clients talk to our fakes: where a client
// that somebody else wrote for the real venue works, the fake is faithful. It is
// a module of its own, so that no exchange's client comes near the product.
package oracle
