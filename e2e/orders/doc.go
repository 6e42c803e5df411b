// Package orders holds the program, as it is built, against what it promises about
// orders: it is killed at every step of placing and cancelling one, called with
// mistakes, and measured. The venues are fakes, whose own records show what reached
// them. It has tests alone.
package orders
