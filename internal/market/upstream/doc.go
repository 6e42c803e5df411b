// Package upstream is how candela talks to a venue: one HTTP client per host with
// a limit on request weight, a breaker, retries and a pause that a venue may
// impose; WebSocket connections with a read deadline; a strict reader of JSON;
// and errors that keep what the venue said. It knows nothing of markets. Venues
// and brokers call it; it keeps no goroutine of its own.
//
// Everything that is limited is limited per host, for the whole process: whoever
// shares a Hosts shares the venue's patience, as the venue counts by address and
// not by caller.
//
// The breaker is our own. github.com/sony/gobreaker, the usual choice, does not
// say when it will let the next request through, which is what a caller must be
// told, and counts a request whose caller went away as a failure of the host.
package upstream
