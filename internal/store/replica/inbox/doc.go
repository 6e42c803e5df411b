// Package inbox stores the records that the inboxes of all replicas share: subscriptions,
// cursors and polling queues.
package inbox
