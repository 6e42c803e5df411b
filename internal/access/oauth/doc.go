// Package oauth is candela's authorization server: OAuth 2.1 with PKCE (S256 only),
// dynamic registration, one grant and opaque bearer tokens. Anyone may register a
// client; only the owner can approve one, on the consent page.
//
// A registration is sealed into the client id and a pending request into the consent
// form, so a flood of either uses no memory. The seal key ends with the process, with
// the servers that replicas share it through, or when the owner revokes all logins; each
// key starts a login generation. A [Store] keeps only SHA-256 hashes of codes and tokens.
//
// The package starts no goroutines. httpd mounts its handlers and checks bearer tokens
// with it.
package oauth
