// Package upstream provides the HTTP and WebSocket clients for venues. Per host it limits
// request weight, honours pauses, retries safe requests and opens a circuit breaker. Its
// errors keep the venue's code and message. It knows nothing about markets.
//
// All limits hold per host for the whole process, because venues count by address: callers
// that share a Hosts share the limits.
//
// The circuit breaker is not github.com/sony/gobreaker, which does not report when it will
// let the next request through, and counts a request that its caller cancelled as a
// failure of the host.
package upstream
