// Package table reads, writes and follows streams that keep one message per subject.
package table
