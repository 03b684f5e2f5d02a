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
    "choose_conv_method": 'convolve(image, mask), whose method="auto" chooses',
    "grey_closing": "minimum_filter(maximum_filter(image, size), size)",
    "grey_opening": "maximum_filter(minimum_filter(image, size), size)",
    "grey_erosion": "minimum_filter(image, size)",
    "grey_dilation": "maximum_filter(image, size)",
    "order_filter": 'rank_filter(image, rank, size, mode="constant")',
    "binary_erosion": 'minimum_filter(mask, footprint=structure, mode="constant")',
    "binary_dilation": 'maximum_filter(mask, footprint=structure, mode="constant")',
    "medfilt": 'median_filter(signal, size, mode="constant")',
    "medfilt2d": 'median_filter(image, size, mode="constant")',
    # astropy
    "convolve_fft": "convolve(image, mask)",
    "Gaussian1DKernel": 'convolve(signal, "gaussian:sigma=2")',
    "Gaussian2DKernel": 'convolve(image, "gaussian:sigma=2")',
    "Box1DKernel": 'convolve(signal, "box:5")',
    "Box2DKernel": 'convolve(image, "box:5")',
    "Tophat2DKernel": 'convolve(image, "disk:7"), so many pixels across',
    "RickerWavelet2DKernel": 'convolve(image, "log:1.5"), which has the other sign',
    "interpolate_replace_nans": 'convolve(image, mask, nan="interpolate"), and take it where the image is NaN',
    "sigma_clipped_stats": "sigma_clip(image), which has .mean, .median and .std",
    # OpenCV
    "filter2D": 'correlate(image, mask, boundary="mirror")',
    "sepFilter2D": 'correlate(image, numpy.outer(column, row), boundary="mirror")',
    "getGaussianKernel": 'convolve(image, "gaussian:sigma=2", boundary="mirror")',
    "GaussianBlur": 'gaussian_filter(image, sigma, mode="mirror")',
    "blur": 'uniform_filter(image, size, mode="mirror")',
    "boxFilter": 'uniform_filter(image, size, mode="mirror")',
    "medianBlur": 'median_filter(image, size, mode="nearest")',
    "Sobel": 'sobel(image, axis, mode="mirror")',
    "Laplacian": 'laplace(image, mode="mirror")',
    "erode": "minimum_filter(image, size)",
    "dilate": "maximum_filter(image, size)",
    "connectedComponents": "label(mask)",
    "morphologyEx": "maximum_filter(minimum_filter(image, size), size) for an opening",
    "copyMakeBorder": "pad(image, pad_width, mode)",
    "imread": "open_image(path)",
    # PyTorch
    "conv1d": 'correlate(signal, mask, "valid")',
    "conv2d": 'correlate(image, mask, "valid")',
    "conv3d": 'correlate(volume, mask, "valid")',
    # scikit-image
    "gaussian": "gaussian_filter(image, sigma)",
    "median": "median_filter(image, size)",
    "regionprops": "measure(image, labels), the image first",
    "regionprops_table": "measure(image, labels), the image first",
    "radon": "project(image, angles)",
    "iradon": "fbp(sinogram, angles)",
    # TomoPy
    "recon": "fbp(sinogram, angles, center=axis), or sirt, cgls, tv; of a scan reconstruct(scan)",
    "find_center": "rotation_axis(scan)",
    "find_center_pc": "rotation_axis(scan)",
    "find_center_vo": 'rotation_axis(scan, method="vo")',
    "write_center": "try_axes(scan, centers)",
    "normalize": "reconstruct(open_scan(projections, flats, darks, angles=angles))",
    "minus_log": "reconstruct(scan), which takes logarithms unless log=False",
    "retrieve_phase": "paganin(projections, delta_beta=..., energy=..., distance=..., pixel_size=...)",
    "remove_outlier": "remove_zingers(projections, threshold), a share of the median",
    "remove_stripe_fw": 'remove_stripes(sinogram, "fw", wavelet="db5", sigma=2)',
    "remove_stripe_sf": 'remove_stripes(sinogram, "mean")',
    "remove_stripe_based_sorting": 'remove_stripes(sinogram, "sorting")',
    "remove_large_stripe": 'remove_stripes(sinogram, "large")',
    "remove_dead_stripe": 'remove_stripes(sinogram, "dead")',
    "remove_all_stripe": 'remove_stripes(sinogram, "all")',
    "circ_mask": "fbp(sinogram, angles, circle=True)",
}

_FIRST = "arr array data im image img in1 input radon_image scan signal sino sinogram sinograms src tomo volume x"

ARGUMENTS = {
    # what comes first
    **dict.fromkeys(("image", "input", "array", "sinogram", "projections", "radios", "volume", "scan"), _FIRST),
    "path": "file filename file_name fname fn name out output_file outfile",
    "matched_filter": "filter_kernel filter_name kernel psf",
    "mask": "bad binary image in2 input kernel psf",
    # convolution, filters and borders
    "boundary": "borderType border border_mode mode pad_mode padding padding_mode",
    "mode": "borderType border border_mode boundary pad_mode padding_mode",
    "cval": "borderValue constant_values fill_value fillvalue pad_value",
    "constant_values": "borderValue cval fill_value value",
    "origin": "center",
    "axes": "axis dim dims",
    "axis": "axes dim",
    "dtype": "ddepth out_dtype output_dtype",
    "out_dtype": "ddepth dtype output_dtype",
    "out": "dst outfile output result",
    "output": "ddepth dst dtype out",
    "nan": "nan_policy nan_treatment",
    "masked": "bad",
    "weight": "alpha lambda_ reg regularization regularization_parameter regularizer tv_weight",
    "size": "box_size diameter filter_size kernel_size ksize la_size width window window_size",
    "small": "sm_size",
    "wavelet": "wname",
    "sigma": "n_sigma nsigma seedclip sigmaX sigma_x snr std stddev thresh thresh_pix threshold x_stddev",
    "radius": "sigma",
    "amount": "percent",
    "pad_width": "npad pad padding width",
    "percentile": "percentage q",
    # sources
    "connectivity": "neighbors neighbours structure",
    "labels": "label_image label_img seg segm segmap segmentation segmentation_image segmentation_map",
    "count": "index num num_features",
    "flood": "floodclip thresh_isl threshold_low",
    "maxiters": "iters iterations n_iter niter",
    "min_area": "area_min min_pix min_size minarea minpix_isl n_pixels npixels detect_minarea",
    "noise": "err error err_map noise_map rms rms_map std",
    "background": "background_map bkg bkg_map mean_map sky",
    "annulus": "bkgann sky_annulus",
    "filter_size": "back_filtersize fw",
    "kappa": "sigma sigma_clip",
    "box": "back_size box_size bw rms_box",
    "target": "beam bmaj major new_beam target_beam targetres",
    "header": "beam hdr meta wcs",
    "positions": "catalog catalogue coords x_y xy xycen",
    "radii": "aperture apertures phot_apertures r radius",
    "apertures": "phot_apertures",
    "kron": "phot_autoparams",
    "level": "cut sigma thresh threshold",
    "threshold": "dif level",
    # tomography
    "angles": "ang angle proj_angles rot_angles theta thetas",
    "center": "axis_position center_of_rotation centre cor cor_position rot_center rotation_axis rotation_center",
    "filter": "filter_name fbp_filter filter_type",
    "method": "algorithm algo rings_method",
    "iterations": "iters max_iter maxiter n_iter n_iterations niter num_iter",
    "nonnegative": "MinConstraint min_constraint non_negative nonneg nonnegativity",
    "roi": "output_size region vol_shape",
    "n_x": "detector_width n_detectors width",
    "pixel_size": "pixel psize pixelsize voxel_size",
    "delta_beta": "alpha db delta_over_beta ratio",
    "distance": "dist propagation_distance z",
    "energy": "E energy_kev",
    "phase": "phase_retrieval retrieve_phase retrieve_phase_method",
    "rings": "remove_stripe ring_removal sino_rings_correction stripes",
    "rows": "nsino slices",
    "shifts": "dy shift",
    "degrees": "angle rotation tilt",
    # files and runs
    "overwrite": "clobber force",
    "memory": "budget max_mem max_memory mem memory_limit",
    "device": "backend context dev gpu gpu_id use_gpu",
    "progress": "callback progressbar show_progress",
}
"""Arguments here, and other libraries' words for them: those of scipy.ndimage, scipy.signal, cupyx, astropy, OpenCV, scikit-image,
SEP, photutils, PyBDSF, PyTorch, TomoPy and nabu. Of several that a verb has the first is meant."""

_MASK = "the mask is the second argument"
_RANGE = "numbers keep their range"
_THREADS = "threads are set by the environment's FOOTPRINT_THREADS"
_BLANK = "give a numpy.ma array, or put numpy.nan where the image is masked: such pixels are left out"
_SIGMAS = "sigma= is in multiples of the noise; for an absolute threshold t give sigma=5, background=0 and noise=t/5"
_ERROR = "noise= is what sigma= is a multiple of, too; an error of fluxes alone is not taken"
_WEIGHT = "weight= leaves out where it is not above 0; of an inverse variance w the noise is noise=1/numpy.sqrt(w)"
_EXTENSION = "an extension is named in brackets, as in 'FILE.fits[SCI]'; footprint.open_image('FILE.fits[SCI]') opens it"
_PHOTONS = "errors are of the noise, without the photons of sources; add them as numpy.hypot(err, sqrt(max(flux, 0) / gain))"
_CONTRAST = "that is contrast= here, 0.002 unless given; SEP's and SExtractor's is 0.005"
_CLEAN = "nothing is cleaned away afterwards: reliability= is for noise, contrast= for parts of one source"
_FILLED = 'labels= takes an array that is filled, numpy.empty(image.shape, "int32")'
_LEVELS = "deblend=True looks at all levels at once; by how much a part must stand out is contrast="
_SUM = "no mask is normalised: divide it by its sum"
_SIZES = 'sizes are mode="valid" (padding of 0), "same" or "full" (of k - 1), and what lies outside is boundary='
NOTES = {
    **{("mask masked", word): f"{_MASK}; how much a pixel counts is weight=" for word in ("v", "weights")},
    ("flip", "weights"): "the mask is mask=",
    ("depth", "weights"): "the mask is mask=",
    ("mask masked", "mask"): "the mask is what the image is convolved with; pixels that are left out are masked=",
    ("masked", "output"): "a result goes to the array out=, and dtype= says what numbers it is of",
    ("masked", "delta"): "add it to the result",
    ("masks", "bias"): "add it to the result",
    ("masks", "stride"): "take every n-th of the result, as in result[::n, ::n]",
    ("masks", "dilation"): "put zeros between the mask's weights",
    ("masks", "groups"): 'masks="each" filters every image of a stack by a mask of its own',
    ("mode boundary", "padding"): _SIZES,
    ("boundary", "padding_mode"): 'that is boundary= here, whose "mirror" is PyTorch\'s "reflect"',
    ("origin", "anchor"): "origin= counts from the window's middle, which is 0",
    **{
        ("axes", word): "axes= are those to filter, such as (0, 1) of a picture in colour"
        for word in ("channel_axis", "multichannel")
    },
    **{(has, "preserve_range"): _RANGE for has in ("amount", "footprint", "truncate")},
    **{("footprint", word): "that is footprint= here" for word in ("kernel", "selem", "structure")},
    **{("nan", f"normali{letter}e{end}"): _SUM for letter in "sz" for end in ("", "d", "_kernel")},
    ("percentile amount axis", "axes"): "every frame is filtered along its own rows and columns, and there are no others",
    ("nan", "preserve_nan"): "put numpy.nan back into the result",
    ("nan", "nan_treatment"): 'that is nan="interpolate", or nan="ignore"',
    ("connectivity", "structure"): "that is connectivity=, 4 or 8",
    **{("axis", word): "axis=1 is OpenCV's dx=1, differences across the rows; axis=0 is its dy=1" for word in ("dx", "dy")},
    **{
        ("verb", word): "other verbs are called on each frame, as in (fp.median_filter(frame, size=3) for frame in frames)"
        for word in ("amount", "percentile", "sigma", "size")
    },
    ("count", "index"): "all labels to count= are measured",
    ("strict", "cenfunc"): "bounds lie about the median",
    ("strict", "stdfunc"): "bounds go by the standard deviation",
    **{("strict", word): _BLANK for word in ("coverage_mask", "mask", "masked")},
    **{("blank mask", word): "that is mask= here" for word in ("coverage_mask", "flag_image", "masked")},
    **{("blank weight", word): _WEIGHT for word in ("inverse_variance", "ivar", "weight_image", "weight_map", "weights", "wht")},
    **{
        (has, word): _EXTENSION
        for has in ("blank", "boundary", "radii")
        for word in ("ext", "extension", "extname", "hdu", "hdunum")
    },
    **{(has, word): _PHOTONS for has in ("blank", "radii") for word in ("egain", "gain")},
    ("strict", "axis"): "all of the image is clipped at once",
    ("strict", "sigma_lower"): "bounds lie sigma= to either side",
    ("strict", "sigma_upper"): "bounds lie sigma= to either side",
    ("robust", "bh"): "cells are squares, box= pixels a side",
    ("robust", "fh"): "filter_size= is that along both axes",
    ("truncate", "ksize"): "radius= is (ksize - 1) / 2",
    ("truncate", "fwhm"): "sigma= is the width at half of the peak divided by 2.3548",
    ("connectivity", "return_num"): "labels and count are always given",
    **{("flood", word): _SIGMAS for word in ("analysis_thresh", "detect_thresh", "thresh", "threshold")},
    **{("contrast", word): _CONTRAST for word in ("deblend_cont", "deblend_mincont")},
    ("contrast", "clean"): _CLEAN,
    **{("flood noise", word): _ERROR for word in ("err", "error")},
    ("flood noise", "var"): "noise= is its square root",
    **{("flood progress", word): _FILLED for word in ("seg", "segm", "segmentation", "segmentation_image", "segmentation_map")},
    **{("contrast", word): _LEVELS for word in ("deblend_nthresh", "n_levels", "nlevels", "nthresh")},
    **{("scan i0", word): "angles are the scan's: footprint.open_scan(path, angles=...)" for word in ("ang", "theta")},
    ("header", "wcs"): "that is header= here, the image's own: a WCS has no beam and no unit",
    **{
        ("steps", word): f"it is one of the steps, steps=footprint.steps({word}=...)"
        for word in ("zingers", "tilt", "phase", "unsharp", "normalization", "rings")
    },
    ("out", "inplace"): "a result goes to the array out=",
    **{
        ("memory", word): _THREADS
        for word in ("max_workers", "n_jobs", "n_threads", "ncore", "nthreads", "num_threads", "num_workers", "threads", "workers")
    },
}
"""What is to be said of a word where the verb has an argument, or several, and the name alone would not do."""

ABSENT = {
    name: library
    for library, names in {
        "scipy.ndimage": (
            "affine_transform binary_closing binary_fill_holes binary_opening binary_propagation black_tophat "
            "distance_transform_bf distance_transform_cdt distance_transform_edt fourier_gaussian fourier_shift fourier_uniform "
            "generic_filter generic_filter1d generic_gradient_magnitude generic_laplace geometric_transform map_coordinates "
            "morphological_gradient rotate shift spline_filter spline_filter1d vectorized_filter watershed_ift white_tophat zoom"
        ),
        "scipy.signal": (
            "butter decimate detrend filtfilt firwin hilbert lfilter resample resample_poly savgol_filter sepfir2d sosfilt "
            "sosfiltfilt stft welch wiener"
        ),
        "OpenCV": ("Canny Scharr bilateralFilter cvtColor distanceTransform equalizeHist pyrDown remap resize warpAffine"),
        "scikit-image": "denoise_bilateral denoise_nl_means denoise_tv_chambolle richardson_lucy",
    }.items()
    for name in names.split()
}
"""Functions of other libraries that have no equivalent here."""
MODULES = ("filters", "morphology", "ndimage", "signal")
"""Modules of theirs; here all is in the package itself."""
