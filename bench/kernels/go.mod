module candela/bench/kernels

go 1.26.0

require (
	candela v0.0.0
	github.com/markcheno/go-talib v0.0.0-20250114000313-ec55a20c902f
)

replace candela => ../..
