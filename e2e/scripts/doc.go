// Package scripts runs hostile Pine scripts against the program as it is built, with a bound on its memory,
// and holds it to what docs/limits.md promises to everyone else.
package scripts
