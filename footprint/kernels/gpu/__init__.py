"""Launch shapes of the GPU kernels: which entry of which text, how many work-groups, which constants."""
