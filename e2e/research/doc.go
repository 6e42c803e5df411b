// Package research holds the program, as it is built, against what it promises about scans and
// back-tests: they keep within the limits of the venue, go on where they were cancelled, and
// neither delay alerts nor charts. It has tests alone.
package research
