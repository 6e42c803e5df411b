// Package doctor looks at an installation from outside, as its clients do: at the
// public address, through the proxy, at the clock. It says what it found and what to
// do about it, changes nothing but what it undoes, and puts no secret into words.
// Package app gathers the checks, its only caller.
package doctor
