"""Names of other libraries that people try here first, and what is called here: for the errors that say so."""

from __future__ import annotations

HERE = {
    # scipy.ndimage and scipy.signal, and cupyx's of the same names
    "convolve1d": "convolve(image, weights, axes=axis)",
    "correlate1d": "correlate(image, weights, axes=axis)",
    "gaussian_filter1d": "gaussian_filter(image, sigma, axes=axis)",
    "uniform_filter1d": "uniform_filter(image, size, axes=axis)",
    "minimum_filter1d": "minimum_filter(image, size, axes=axis)",
    "maximum_filter1d": "maximum_filter(image, size, axes=axis)",
    "fftconvolve": 'convolve(image, mask, mode="full")',
    "oaconvolve": 'convolve(image, mask, mode="full")',
    "convolve2d": 'convolve(image, mask, mode="full")',
    "correlate2d": 'correlate(image, mask, mode="full")',
    "prewitt": 'correlate(image, mask, boundary="reflect")',
    "gaussian_gradient_magnitude": "gaussian_filter(image, sigma, order=(1, 0)), and of the other axis",
    "grey_erosion": "minimum_filter(image, size)",
    "grey_dilation": "maximum_filter(image, size)",
    "order_filter": 'rank_filter(image, rank, size, mode="constant")',
    "medfilt": 'median_filter(signal, size, mode="constant")',
    "medfilt2d": 'median_filter(image, size, mode="constant")',
    # astropy
    "convolve_fft": "convolve(image, mask)",
    "sigma_clipped_stats": "sigma_clip(image), which has .mean, .median and .std",
    # OpenCV
    "filter2D": 'correlate(image, mask, boundary="mirror")',
    "sepFilter2D": 'correlate(image, numpy.outer(column, row), boundary="mirror")',
    "GaussianBlur": 'gaussian_filter(image, sigma, mode="mirror")',
    "blur": 'uniform_filter(image, size, mode="mirror")',
    "boxFilter": 'uniform_filter(image, size, mode="mirror")',
    "medianBlur": 'median_filter(image, size, mode="nearest")',
    "Sobel": 'sobel(image, axis, mode="mirror")',
    "Laplacian": 'laplace(image, mode="mirror")',
    "erode": "minimum_filter(image, size)",
    "dilate": "maximum_filter(image, size)",
    "connectedComponents": "label(mask)",
    "copyMakeBorder": "pad(image, pad_width, mode)",
    "imread": "open_image(path)",
    # scikit-image
    "radon": "project(image, angles)",
    "iradon": "fbp(sinogram, angles)",
}

_FIRST, _SECOND = "the image is the first argument", "the mask is the second argument; how much a pixel counts is weight="
ARGUMENTS = {
    # scipy.ndimage, scipy.signal and cupyx
    "input": _FIRST,
    "in1": _FIRST,
    "weights": _SECOND,
    "in2": _SECOND,
    "output": "a result goes to the array out=, and dtype= says what numbers it is of",
    "fillvalue": "that is cval=",
    "axis": "that is axes=",
    # astropy
    "array": _FIRST,
    "kernel": _SECOND,
    "mask": "the mask is what the image is convolved with; pixels that are left out are masked=",
    "fill_value": "that is cval=",
    "nan_treatment": 'that is nan="interpolate", or nan="ignore"',
    "normalize_kernel": "no mask is normalised: divide it by its sum",
    "preserve_nan": "put numpy.nan back into the result",
    # OpenCV
    "ddepth": "that is dtype=",
    "borderType": "that is boundary=",
}
"""The same of arguments of `convolve` and `correlate`."""
