# Every target is a script or a go command that works without make, too.
.DEFAULT_GOAL := help
SHELL := bash

.PHONY: help
help: ## print this
	@echo "make TARGET, where TARGET is one of"
	@sed -nE 's/^([a-z]+):.*## (.*)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 12

.PHONY: test
test: ## the whole gate, as it runs before a change lands; installs servers that are missing
	scripts/test

.PHONY: quick
quick: ## what needs no server and no installing: format, vet, imports, tests
	scripts/test quick

.PHONY: lint
lint: ## the linters over every module
	scripts/lint

.PHONY: bench
bench: ## benchmarks against other lock libraries, on a Redis of their own
	scripts/bench

.PHONY: fuzz
fuzz: ## every fuzz target for FUZZTIME each (default 1m)
	scripts/fuzz $(or $(FUZZTIME),1m)

.PHONY: tidy
tidy: ## go mod tidy in every module, and gofmt
	for module in $$(scripts/modules) tools; do GOWORK=off go -C $$module mod tidy || exit 1; done
	gofmt -l -w .

.PHONY: cover
cover: ## tests of the root module with coverage, written to coverage.html
	go test -race -coverpkg=./... -coverprofile=coverage.out ./...
	go tool cover -func=coverage.out | tail -1
	go tool cover -html=coverage.out -o coverage.html
