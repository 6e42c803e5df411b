// Package docs holds the pages against the program as it is built: commands that a
// page marks with run are run as they are written, and errors that it quotes are
// provoked. It has tests alone.
package docs
