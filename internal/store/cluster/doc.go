// Package cluster keeps what several replicas share in a NATS JetStream cluster:
// it implements the ports that the ledger and the memory of one process implement,
// and passes the same suites. It decides nothing about alerts, orders or tokens; it
// starts no server, and one node that needs no cluster links none of this at run time.
//
// Three rules hold everywhere. A change that depends on what was there names the
// revision it was made for, and the server refuses it when that has moved on. A
// reader that must not miss anything writes a mark and reads up to it, because a
// consumer may sit on a server that lags behind. And an answer that did not come is
// looked up, never assumed: every change carries a name of its own by which it is
// found again.
package cluster
