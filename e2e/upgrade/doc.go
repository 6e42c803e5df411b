// Package upgrade opens state directories that earlier programs left with the program of
// today. It has tests alone; `e2e/upgrade/make COMMIT` records a directory with the program of
// that commit.
package upgrade
