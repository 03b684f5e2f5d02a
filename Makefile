PYTHON ?= python3

.PHONY: check mutants bench gpu-check gpu-bench

check:  ## what needs no device: seconds
	ruff check footprint tests benchmarks examples
	mypy
	$(PYTHON) -m pytest tests/null tests/unit

mutants:  ## seeded faults, one at a time in a copy of the tree: the tests named for each must fail
	$(PYTHON) -m tests.mutants

bench:  ## slices, and the whole road from a scan's file to a volume's, beside the peers that are installed
	$(PYTHON) -m benchmarks.fbp
	$(PYTHON) -m benchmarks.reconstruct

gpu-check:  ## the whole backend suite on CUDA and on OpenCL of this machine, and what only a GPU can show
	FOOTPRINT_TEST_DEVICES=cuda,opencl $(PYTHON) -m pytest -rs tests/backend tests/device
	$(PYTHON) -m tests.drawn cuda 1 60

gpu-bench:  ## rates of every kernel beside its peers and floor, a slice larger than its budget, and the ladder
	$(PYTHON) -m benchmarks.gpu
	$(PYTHON) -m benchmarks.gpu_tomography
	$(PYTHON) -m benchmarks.gpu_sources
	$(PYTHON) -m benchmarks.gpu_fbp
	$(PYTHON) -m benchmarks.fbp_large
	$(PYTHON) -m benchmarks.fbp_large --method fourier --memory 4.3GB
	$(PYTHON) -m benchmarks.reconstruct --device cuda --angles 1500 --rows 64 --size 2048 --memory 8GB --no-peers
	$(PYTHON) -m benchmarks.ladder
