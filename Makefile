# Short names for the usual commands. What the checks are is in .ci/run.
.PHONY: build test lint bench run

build:
	CGO_ENABLED=0 go build -trimpath -o dist/candela ./cmd/candela

test:
	go test ./...

# The pinned linter, with everything else that belongs before a commit.
lint:
	.ci/run quick

bench:
	go test -run '^$$' -bench . ./...

# make run ARGS="--serve --port 9000"
run:
	go run ./cmd/candela $(ARGS)
