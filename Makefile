# Short names for the usual commands. What the checks are is in .ci/run.
.PHONY: build test lint bench run

build:
	CGO_ENABLED=0 go build -trimpath -o dist/candela ./cmd/candela

test:
	go test ./...

lint: .bin/golangci-lint
	.bin/golangci-lint run ./...

# The first quick run installs the pinned linter.
.bin/golangci-lint:
	.ci/run quick

bench:
	go test -run '^$$' -bench . ./...

# make run ARGS="--serve --port 9000"
run:
	go run ./cmd/candela $(ARGS)
