// Package hostile attacks the program as it is built, over HTTP, and holds it to what
// docs/security.md promises.
package hostile
