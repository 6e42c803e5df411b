// Package ledger keeps on disk what must survive: alerts, notifications, orders
// and an audit log that shows whether it was tampered with. It is one SQLite file
// in the state directory. A write that returned nil is on the disk, whatever
// happens to the process or the power.
//
// It decides nothing: what may be set, fired or ordered is the business of the
// engine and the desk, which declare the parts of it that they use as their ports.
// It starts no goroutine and takes the time from its caller.
package ledger
