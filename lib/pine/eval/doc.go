// Package eval runs checked Pine scripts. A [Machine] holds one script with its inputs and
// its memory, and is given bars one after the other: [Machine.Keep] for a bar that has
// closed, [Machine.Try] for one that is still forming, whose effects are undone before the
// next call. A chart, a stream and an alert take the same steps, so that their values are
// equal in every bit.
//
// Every value is a float64: numbers, bools as 0 and 1, colours as a number of 32 bits,
// strings, collections, objects and drawings as handles into the heap, and na as NaN. A
// script is compiled to closures that hold pointers into the machine's memory. Each written
// call has its own copy of the function's closures and memory, so no state is looked up
// while a bar runs.
//
// The memory has three parts. Cells and kernels that survive the bar are copied before a
// try and written back after it. Rings hold the history of series; they are written only
// when a bar is kept. The heap copies an object before a try changes it.
//
// A script reads no clock, file or network. Its steps and its memory are counted, and the
// count is the same on every machine; a script that exceeds a limit fails with an [Error]
// that names bar and line.
package eval
