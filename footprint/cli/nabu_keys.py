"""Every key of nabu's configurations, by section."""

from __future__ import annotations

# What names the machine and the way there, and changes no number.
MACHINE = {
    ("resources", "workers"), ("resources", "num_threads"), ("pipeline", "ignore_checkpoint_config"),
    ("pipeline", "processing_margin"), ("reconstruction", "implementation"), ("resources", "method"),
    ("resources", "cpu_workers"), ("resources", "threads_per_node"),
    ("resources", "queue"), ("resources", "walltime"), ("pipeline", "verbosity"), ("about", "nabu_version"),
    ("about", "nabu_config_version"), ("dataset", "nexus_version"), ("resources", "python_executable"),
}  # fmt: skip
# Of methods that are not chosen: they say nothing here.
ITERATIVE = (
    "iterations", "optim_algorithm", "weight_tv", "preconditioning_filter", "positivity_constraint", "source_sample_dist",
    "sample_detector_dist", "hbp_legs", "hbp_reduction_steps", "regularization_weight", "expand_support_factor",
)  # fmt: skip
_KEYS = """
dataset: location hdf5_entry binning binning_z projections_subsampling exclude_projections overwrite_metadata darks_flats_dir layout
dataset: flip_lr flip_ud
preproc: flatfield take_logarithm log_min_clip log_max_clip ccd_filter_enabled ccd_filter_threshold normalize_srcurrent
preproc: autonormalize flat_distortion_correction_enabled flat_distortion_params tilt_correction autotilt_options
preproc: rotate_projections rotate_projections_center detector_distortion_correction detector_distortion_correction_options
preproc: double_flatfield double_flatfield_enabled dff_sigma sino_normalization sino_normalization_file sino_rings_correction
preproc: sino_rings_options
preproc: processes_file flatfield_loading_mode target_dark_mean
phase: method delta_beta padding_type unsharp_coeff unsharp_sigma unsharp_method ctf_geometry ctf_advanced_params beam_shape
phase: material_formula material_density
reconstruction: method angles_file rotation_axis_position cor_options cor_slice axis_correction_file angle_offset
reconstruction: translation_movements_file fbp_filter_type fbp_filter_cutoff padding_type enable_halftomo clip_outer_circle
reconstruction: outer_circle_value centered_axis start_x end_x start_y end_y start_z end_z crop_filtered_data
output: location file_prefix file_format overwrite_results tiff_single_file float_clip_values jpeg2000_compression_ratio
output: keep_existing_files zarr_options
postproc: output_histogram histogram_bins
resources: memory_per_node memory_fraction gpus gpu_id
pipeline: save_steps resume_from_step steps_file
"""
_LINES = [line.split() for line in _KEYS.strip().splitlines()]
KNOWN = {(section.rstrip(":"), key) for section, *keys in _LINES for key in keys} | MACHINE
KNOWN |= {("reconstruction", key) for key in ITERATIVE}
