// Package conn connects a replica to NATS JetStream servers and publishes with
// compare-and-set. The packages beside it store the state of an installation there, so that
// several replicas can serve it; they implement the same interfaces as the local stores and
// pass the same contract suites.
//
// Three rules hold in all of them. A write that depends on stored state names the revision it
// read, and the servers refuse it if that is not the latest. A reader that must see everything
// writes a barrier and reads up to it, because its server may lag behind. A write without an
// acknowledgement is looked up by its change ID, never assumed.
//
// The servers are not trusted: every message is sealed with a secret that they do not know.
package conn
