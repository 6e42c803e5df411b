// Package alerts holds the program, as it is built, against what it promises
// about alerts: it is killed again and again while alerts are set and fire, left
// to run for a while, and asked for the same value in several ways. The market is
// a fake venue whose every price is known, so what must have fired is known too.
// It has tests alone.
package alerts
