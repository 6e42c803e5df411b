// Package deskproxy runs the trading desk on one replica and forwards calls to it from the
// others.
package deskproxy
