// Package oauth is candela's own authorization server: OAuth 2.1 with PKCE
// (S256 only), dynamic registration, one grant and opaque bearer tokens. Anyone
// may register a client; only the owner, at the consent page, lets one in.
//
// A registration is sealed into the client id itself, a pending request into the
// consent form, a login into a cookie: all under a key that dies with the
// process, or with the servers that several processes share it through, or when the
// owner ends all logins. So a flood of registrations costs no memory, and a restart
// ends every registration and token, as the interface says. Codes and tokens are kept by a
// [Store], as SHA-256 only.
//
// The package has no goroutines. httpd mounts its handlers and asks it about
// bearer tokens.
package oauth
