// Package inboxtest tests the implementations of notify.Inbox with the contract suites of
// recordtest, with scenarios, and with random histories that are compared with a model.
package inboxtest
