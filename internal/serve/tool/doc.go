// Package tool is the 15 tools: what each is called, what it says of itself to a
// model, which arguments it takes and what it answers. A tool checks its
// arguments, asks the part that does the work through a small interface declared
// here, and writes the answer. It holds no state and starts no goroutine.
//
// The arguments of a tool are described once, by its fields: the input schema
// and the reader both come from them and cannot disagree.
package tool
