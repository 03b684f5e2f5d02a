"""Names of other libraries that people try here first, and what is called here: for the error that says so."""

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
    "medfilt": 'median_filter(signal, size, mode="constant")',
    "medfilt2d": 'median_filter(image, size, mode="constant")',
    # astropy
    "convolve_fft": "convolve(image, mask)",
    "sigma_clipped_stats": "sigma_clip(image), which has .mean, .median and .std",
    # OpenCV
    "filter2D": 'correlate(image, mask, boundary="mirror")',
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
