"""Tests that `tests.on_gpu` does not run on GPUs: prefixes of their names, by reason."""

import re

ROW = "tests/ndarray/test_conventions.py::test_as_in_mxnet["
GLUON = "tests/gluon/test_programs.py::test_program_gives_what_mxnet_gives["
ARRAYS, PARITY = "tests/numpy/test_arrays.py::test_", "tests/numpy/test_parity.py::test_"
LARGE, SMALL = "tests/numpy/test_large.py::test_", "tests/numpy/test_small.py::test_"
INDICES, RECORDING = "tests/numpy/test_index_arrays.py::test_", "tests/numpy/test_recording.py::test_"
FORMS, LOST = "tests/numpy/test_forms_of_arguments.py::test_", "tests/numpy/test_lost_writes.py::test_"
OPERANDS, PARTS = "tests/numpy/test_recorded_operands.py::test_", "tests/numpy/test_recorded_parts.py::test_"
WAITING = "tests/numpy/test_parts_wait.py::test_"

WHY_NOT = {
    "only NumPy finds a common dtype of bfloat16 and others": (f"{WAITING}parts_of_bfloat16_beside_others",),
    "runs programs of the CPU whatever the default is; tests/cupy/test_operators.py runs the operators' samples on GPUs": (
        "tests/ops/test_conformance.py",
    ),
    "NumPy computes with operands that are ready, with its bits, warnings and frames": (
        "tests/numpy/test_parts_at_once.py",
        "tests/numpy/test_ready_operands.py",
    ),
    "methods in machine code serve arrays of the CPU": ("tests/numpy/test_machine_code",),
    "iterators over elements that lie apart in memory are those of NumPy": (
        "tests/numpy/test_flat.py::test_an_iterator_goes_on_with_what_is_written_meanwhile",
    ),
    "buffers are memory of the CPU": (
        "tests/numpy/test_constructor.py::test_a_vector_over_a_buffer_shares_memory",
        "tests/numpy/test_memory_of_arrays.py::test_memory",
        f"{WAITING}memory_that_others_write_is_read_now",
        f"{WAITING}an_operator_in_place_writes_memory_that_others_see",
        "tests/numpy/test_memory_of_arrays.py::test_an_array_whose_memory_is_shown_keeps_its_size",
        "tests/numpy/test_short_ways.py::test_arrangements_of_memory_take_no_more_memory_than_they_need",
    ),
    "counts the frames and buffers of the CPU's inline path": (
        "tests/ndarray/test_hot_paths.py",
        f"{WAITING}other_parts_have_the_same_program",
        f"{WAITING}parts_of_another_shape_each_time_are_read_now",
        f"{WAITING}an_operation_that_is_read_at_once_does_not_wait",
        f"{WAITING}a_window_takes_a_few_operators_in_place",
        f"{WAITING}random_stencils_take_all_paths",
        "tests/symbol/test_executor.py::test_weights_are_updated_in_place_after_backward",
        f"{ARRAYS}an_operation_on_a_small_array_is_a_frame_or_two",
        f"{SMALL}a_small_operation_enters_few_functions",
        f"{SMALL}large_arrays_that_numpy_only_reads_are_not_copied",
        "tests/numpy/test_foreign_operands.py::test_small_arrays_of_numpys_take_short_ways",
        "tests/ndarray/test_small_operations.py::test_a_small_operation_enters_few_functions",
        "tests/ndarray/test_small_operations.py::test_an_array_is_made_in_few_functions",
        f"{SMALL}a_small_draw_enters_one_function_and_gives_what_numpy_gives",
        f"{SMALL}a_small_result_of_a_program_becomes_plain_when_it_is_an_operand",
        f"{LARGE}views_of_large_arrays_enter_one_function",
        f"{RECORDING}views_of_tracked_arrays_are_made_in_one_frame",
        f"{OPERANDS}a_recorded_gather_enters_few_functions",
        f"{OPERANDS}the_tape_borrows_index_arrays",
        f"{OPERANDS}a_view_is_read_once",
        f"{OPERANDS}a_list_of_numbers_is_stacked_by_one_operation",
        f"{OPERANDS}recorded_methods_enter_few_functions",
        f"{PARTS}recorded_parts_enter_few_functions",
        f"{PARTS}a_copy_of_a_recorded_view_is_made_once",
    ),
    "counts what the CPU does at once and in place; GPUs let it wait in the window": (
        "tests/numpy/test_memory_order.py::test_operations_on_transposed_arrays_and_totals_are_transposed",
        "tests/numpy/test_large.py::test_few_simple_operations_that_spare_little_stop_waiting",
        "tests/sparse/test_lazy_updates.py::test_an_error_while_rows_are_summed_leaves_the_graph_whole",
        f"{LARGE}large_arrays_are_written_in_place",
        f"{LARGE}what_is_read_after_every_operation_stops_waiting",
        f"{SMALL}large_masks_that_are_read_at_once_stop_waiting",
        f"{SMALL}elements_and_small_slices_of_a_large_array_are_read_and_written_at_once",
        f"{SMALL}small_parts_of_a_large_array_are_updated_in_place",
        f"{SMALL}a_part_of_a_large_matrix_is_multiplied_by_a_vector_where_it_lies",
        f"{INDICES}a_gather_from_a_large_array_is_not_deferred",
        f"{INDICES}updating_a_part_of_a_large_array_defers_and_copies_nothing",
        f"{RECORDING}a_scalar_recurrence_writes_in_place_while_recording",
        f"{PARTS}few_elements_of_a_large_variable_are_gathered_at_once",
        f"{PARTS}contiguous_slices_of_a_large_variable_are_recorded_as_views",
        f"{PARTS}recorded_operations_that_are_always_read_at_once_stop_waiting",
    ),
    "compares with the bits of NumPy's BLAS and powers, and with its order of equal elements; GPUs have their own": (
        f"{INDICES}products_of_transposed_matrices_and_vectors_have_numpys_bits_in_every_mode",
        f"{SMALL}powers_are_numpys[3-float32]",
        f"{LARGE}what_moves_elements_of_a_large_array_is_numpys_at_once[np.argsort(k)]",
        f"{LARGE}reductions_of_transposed_matrices_have_the_same_bits_in_every_mode",
    ),
    "the last bits of a difference of numbers ten thousand times as large": (
        "tests/ops/test_oracle_values.py::test_results_match_mxnet[_image_random_contrast.0]",
    ),
    "on GPUs the elements of arrays and arrays without axes are the same class; as indices both count as elements, which give views": (
        "tests/numpy/test_views.py::test_a_copy_shares_nothing[integer array without axes]",
    ),
    "elements of arrays on GPUs are arrays": (
        f"{SMALL}a_number_is_read_although_another_thread_has_made_an_array_of_it_meanwhile",
        f"{SMALL}formatting_and_integers_of_such_numbers",
        f"{SMALL}an_element_repeats_a_sequence",
        f"{SMALL}a_single_element_is_numpys_scalar",
        f"{SMALL}an_element_that_needs_a_gradient_or_a_device_is_an_array",
        "tests/numpy/test_constructor.py::test_all_arrays_are_instances_of_the_class",
    ),
    "GPUs read the exponents at once": ("tests/numpy/test_errors.py::test_an_error_that_a_read_has_raised_is_not_raised_by_waitall",),
    "puts fake GPUs in the place of these": ("tests/ndarray/test_contexts.py::test_an_array_of_a_missing_gpu_is_loaded_on_the_cpu",),
    "small arrays are computed inline, with NumPy's floating-point warnings; GPUs give none": (
        f"{ARRAYS}floating_point_warnings_of_small_arrays_are_numpys",
    ),
    "the real MXNet had no GPU": (f"{ROW}copies: mx.context.num_gpus()]", f"{GLUON}contrib_layers.sync_batch_norm]"),
    "asks what the default is, or names cpu(0) where that is the default": (
        "tests/ndarray/test_contexts.py::test_a_device_is_the_default_of_its_block",
        "tests/ndarray/test_conventions.py::test_an_evaluation_leaves_the_modes_as_they_are",
        f"{ROW}printing: repr(mx.gpu(0))]",
        f"{ROW}copies: a.as_in_context(mx.cpu(0)) is a]",
        f"{ROW}copies: a.as_in_context(mx.gpu(0))]",
        f"{ROW}copies: nd.ones((2,), ctx=mx.gpu(0))]",
        f"{ROW}views: x31]",
        f"{ARRAYS}printing_matches_numpy",
        f"{ARRAYS}the_array_api_finds_its_namespace",
        "tests/numpy/test_npx.py::test_waitall_waits_for_everything",
        f"{PARITY}an_expression_matches_numpy[protocols: repr(",
        "tests/training/test_programs.py::test_program_gives_what_mxnet_gives[stores.pushes_replace_and_sum]",
        "tests/sparse/test_programs.py::test_program_gives_what_mxnet_gives[arrays.conversion]",
    ),
    "joins arrays of CPU devices with those of the default": (
        f"{ROW}copies: a + nd.ones((2,), ctx=mx.cpu(1))]",
        f"{ROW}copies: (a + nd.ones((2,), ctx=mx.cpu(1))).context]",
        "tests/ndarray/test_indexing.py::test_a_value_from_another_cpu_device_is_accepted",
        "tests/ndarray/test_creation.py::test_from_numpy_shares_memory_",
        "tests/ndarray/test_random.py::test_cpu_devices_share_a_stream",
        "tests/gluon/test_data.py::test_pinned_batches_go_through_a_model",
        "tests/module/test_module.py::test_compressed_gradients_are_multiples_of_the_threshold",
        f"{GLUON}parameters.initialization]",
        f"{GLUON}parameters.gradient_requests]",
        f"{GLUON}parameters.casting]",
    ),
    "loads parameters without naming a device: they come to the CPU, as MXNet's": (
        f"{GLUON}files.whole_models]",
        f"{GLUON}files.names_in_files_of_save_params]",
    ),
    "NumPy reads no memory of GPUs": (
        f"{ARRAYS}dlpack_shares_memory",
        "tests/ndarray/test_interop.py::test_numpy_sees_our_memory_through_dlpack",
        "tests/ndarray/test_interop.py::test_a_function_of_a_recorded_array_differentiates_as_for_np_arrays_or_raises[numpy.from_dlpack]",
        "tests/ndarray/test_interop.py::test_a_view_is_exported_with_its_root",
        "tests/ndarray/test_interop.py::test_exported_memory_is_not_moved_by_reads_and_recording",
    ),
    "complex numbers are not computed on GPUs": (
        f"{PARITY}every_mode_gives_the_same_bits[arithmetic]",
        "tests/ops/test_oracle_values.py::test_differences_from_mxnet_are_as_listed[Cast.14 accepted]",
        f"{PARITY}every_mode_gives_the_same_bits[reductions]",
        f"{PARITY}every_mode_gives_the_same_bits[selection]",
        f"{PARITY}every_mode_gives_the_same_bits[ufuncs]",
        *(f"{SMALL}powers_are_numpys[{exponent}-complex64]" for exponent in ("2", "2.0", "3")),
        f"{SMALL}elements_keep_their_dtype[complex64]",
        *(f"{SMALL}a_small_operation_gives_what_numpy_gives[{text}]" for text in ("1j * x", "x + 2j")),
        "tests/ndarray/test_conventions.py::test_differs_as_documented[copies: a.astype('complex64')]",
        *(f"{LOST}writes_reach_the_array[{way}-{part} parts " for way in ("inline", "deferred") for part in ("real", "imaginary")),
        *(f"{LOST}results_are_written_to_arrays_that_are_given_by_position[{way}-fft]" for way in ("inline", "deferred")),
        f"{LOST}gradients_flow_through_windows_of_complex_numbers",
        f"{LOST}parts_of_an_array_that_is_gone_can_be_written",
        f"{LOST}parts_of_an_array_of_which_a_view_exists_cannot_be_written",
        f"{LOST}an_array_broadcast_from_parts_of_an_array_that_is_gone_cannot_be_written",
        "tests/numpy/test_gradients.py::test_a_numpy_function_raises_instead_of_cutting_a_gradient[np.median(y.astype(complex))]",
        *(f"{FORMS}results_are_numpys[{way}-np.{name}(z, " for way in ("inline", "deferred") for name in ("average", "linalg.vector_norm")),
    ),
    "a notebook shows no values of arrays on GPUs, which it would have to wait for": (
        "tests/symbol/test_notebook_html.py::test_an_array_shows_its_type_values_and_histogram",
        "tests/symbol/test_notebook_html.py::test_not_every_element_of_a_large_array_is_written_or_counted",
    ),
    "on GPUs a slice of windows is taken of a copy of all of them": (f"{LOST}a_slice_of_many_windows_copies_what_it_selects",),
    "a thousand compositions of operators that other tests run on GPUs; every seventh runs there too (test_deferred)": tuple(
        f"tests/numpy/test_differentiable.py::test_{name}"
        for name in ("statistics", "signals", "moves", "second_gradients", "results_and_gradients", "unusual_arguments")
    ),
    "another process goes on on the CPU, whose products round differently": (
        "tests/training/test_resume_combinations.py::test_runs_resume_exactly_in_another_process",
    ),
    "a forked process cannot use GPUs": (
        "tests/gluon/test_parameters.py::test_a_fork_beside_an_initialization_does_not_wait_and_its_child_initializes",
    ),
    "another process has no simulated GPU to read the pickle with": (
        "tests/ndarray/test_interop.py::test_a_pickle_can_be_loaded_in_another_process",
    ),
}
#: On a real GPU, which flushes subnormal numbers to 0.
WHY_NOT_REAL = {
    "subnormal numbers are 0 on GPUs": ("tests/ops/test_stability.py::test_a_norm_is_finite_where_its_squares_are_not[subnormal]",),
}
#: Expressions with complex numbers, which are not computed on GPUs; from NumPy 2.5 on these are all eigenvalues of general matrices.
COMPLEX = re.compile(
    r"tests/numpy/(test_parity\.py::test_an_expression_matches_numpy.*\dj\b"
    r"|test_complex\.py|test_differentiable\.py::test_(complex|transforms|.*\b([zuq]|fft|emath|sort_complex)\b)"
    r"|test_gradients\.py::test_the_gradient_matches_finite_differences.*\beig(vals)?\()"
)
EXCEPTIONS, REAL_EXCEPTIONS = (tuple(start for starts in why.values() for start in starts) for why in (WHY_NOT, WHY_NOT_REAL))


def is_exception(nodeid: str, real: bool) -> bool:
    """Whether a test is excluded."""
    starts = EXCEPTIONS + REAL_EXCEPTIONS if real else EXCEPTIONS
    return nodeid.startswith(starts) or COMPLEX.match(nodeid) is not None
