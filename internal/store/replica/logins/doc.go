// Package logins stores authorization codes and tokens, grouped by login generation, in the
// memory of the servers.
package logins
