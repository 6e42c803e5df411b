package main

/*
#cgo LDFLAGS: -ldl
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

static void *load(const char *path) { return dlopen(path, RTLD_NOW | RTLD_LOCAL); }

static double cpu_ns(void) {
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

typedef int (*ta_init)(void);
static int ta_start(void *lib) { ta_init f = (ta_init)dlsym(lib, "TA_Initialize"); return f ? f() : -1; }

typedef int (*ta_real)(int, int, const double *, int, int *, int *, double *);
static int ta_one(void *f, int n, const double *x, int p, double *out) {
	int b, k; return ((ta_real)f)(0, n - 1, x, p, &b, &k, out);
}
typedef int (*ta_macd_t)(int, int, const double *, int, int, int, int *, int *, double *, double *, double *);
static int ta_macd(void *f, int n, const double *x, double *a, double *c, double *d) {
	int b, k; return ((ta_macd_t)f)(0, n - 1, x, 12, 26, 9, &b, &k, a, c, d);
}
typedef int (*ta_bb_t)(int, int, const double *, int, double, double, int, int *, int *, double *, double *, double *);
static int ta_bbands(void *f, int n, const double *x, double *a, double *c, double *d) {
	int b, k; return ((ta_bb_t)f)(0, n - 1, x, 20, 2, 2, 0, &b, &k, a, c, d);
}
typedef int (*ta_hlc_t)(int, int, const double *, const double *, const double *, int, int *, int *, double *);
static int ta_hlc(void *f, int n, const double *h, const double *l, const double *c, int p, double *out) {
	int b, k; return ((ta_hlc_t)f)(0, n - 1, h, l, c, p, &b, &k, out);
}
typedef int (*ta_stoch_t)(int, int, const double *, const double *, const double *, int, int, int, int, int, int *, int *, double *, double *);
static int ta_stoch(void *f, int n, const double *h, const double *l, const double *c, double *a, double *d) {
	int b, k; return ((ta_stoch_t)f)(0, n - 1, h, l, c, 14, 3, 0, 3, 0, &b, &k, a, d);
}

typedef int (*ti_t)(int, double const *const *, double const *, double *const *);
static int ti(void *f, int n, const double *a, const double *b, const double *c,
	double o1, double o2, double o3, double *x, double *y, double *z) {
	const double *in[3] = {a, b, c};
	double opt[3] = {o1, o2, o3};
	double *out[3] = {x, y, z};
	return ((ti_t)f)(n, in, opt, out);
}
*/
import "C"

import (
	"fmt"
	"path/filepath"
	"unsafe"
)

// cpuNS returns the processor time of this thread: on a shared machine the clock
// on the wall also counts the neighbours.
func cpuNS() float64 { return float64(C.cpu_ns()) }

// library is a C library built at one level of optimisation.
type library struct {
	name   string
	handle unsafe.Pointer
}

func open(name, file string) (library, error) {
	path := C.CString(filepath.Join(".build", file))
	defer C.free(unsafe.Pointer(path))
	handle := C.load(path)
	if handle == nil {
		return library{}, fmt.Errorf("%s: %s", file, C.GoString(C.dlerror()))
	}
	return library{name: name, handle: handle}, nil
}

func (l library) symbol(name string) (unsafe.Pointer, error) {
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	f := C.dlsym(l.handle, text)
	if f == nil {
		return nil, fmt.Errorf("%s has no %s", l.name, name)
	}
	return f, nil
}

func pointer(x []float64) *C.double { return (*C.double)(unsafe.Pointer(&x[0])) }

// taLib returns TA-Lib's runs by row name.
func taLib(l library, b *bars) (map[string]func(), error) {
	if C.ta_start(l.handle) != 0 {
		return nil, fmt.Errorf("%s does not start", l.name)
	}
	f := make(map[string]unsafe.Pointer)
	for _, name := range []string{"EMA", "RSI", "MACD", "BBANDS", "ATR", "STOCH", "ADX"} {
		p, err := l.symbol("TA_" + name)
		if err != nil {
			return nil, err
		}
		f[name] = p
	}
	n, h, low, c := C.int(len(b.c)), pointer(b.h), pointer(b.l), pointer(b.c)
	x, y, z := pointer(b.out[0]), pointer(b.out[1]), pointer(b.out[2])
	return map[string]func(){
		"EMA 20":       func() { C.ta_one(f["EMA"], n, c, 20, x) },
		"RSI 14":       func() { C.ta_one(f["RSI"], n, c, 14, x) },
		"MACD 12 26 9": func() { C.ta_macd(f["MACD"], n, c, x, y, z) },
		"BBANDS 20":    func() { C.ta_bbands(f["BBANDS"], n, c, x, y, z) },
		"ATR 14":       func() { C.ta_hlc(f["ATR"], n, h, low, c, 14, x) },
		"STOCH 14 3 3": func() { C.ta_stoch(f["STOCH"], n, h, low, c, x, y) },
		"ADX 14":       func() { C.ta_hlc(f["ADX"], n, h, low, c, 14, x) },
	}, nil
}

// tulip returns Tulip's runs by row name.
func tulip(l library, b *bars) (map[string]func(), error) {
	f := make(map[string]unsafe.Pointer)
	for _, name := range []string{"sma", "ema", "rsi", "macd", "bbands", "atr", "stoch", "adx"} {
		p, err := l.symbol("ti_" + name)
		if err != nil {
			return nil, err
		}
		f[name] = p
	}
	n, h, low, c := C.int(len(b.c)), pointer(b.h), pointer(b.l), pointer(b.c)
	x, y, z := pointer(b.out[0]), pointer(b.out[1]), pointer(b.out[2])
	one := func(name string, period C.double) func() {
		return func() { C.ti(f[name], n, c, nil, nil, period, 0, 0, x, nil, nil) }
	}
	three := func(name string, a, b, d C.double) func() {
		return func() { C.ti(f[name], n, h, low, c, a, b, d, x, y, z) }
	}
	return map[string]func(){
		"EMA 20":       one("ema", 20),
		"RSI 14":       one("rsi", 14),
		"MACD 12 26 9": func() { C.ti(f["macd"], n, c, nil, nil, 12, 26, 9, x, y, z) },
		"BBANDS 20":    func() { C.ti(f["bbands"], n, c, nil, nil, 20, 2, 0, x, y, z) },
		"ATR 14":       three("atr", 14, 0, 0),
		"STOCH 14 3 3": three("stoch", 14, 3, 3),
		"ADX 14":       three("adx", 14, 0, 0),
	}, nil
}
