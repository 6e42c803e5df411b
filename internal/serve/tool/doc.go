// Package tool defines the MCP tools: names, descriptions, arguments and results.
// Each tool validates its arguments and calls an interface declared in this
// package. The package holds no state and starts no goroutines.
//
// The args of a tool are declared once; both its input schema and its decoder are
// derived from them.
package tool
