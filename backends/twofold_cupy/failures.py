"""Maps exceptions of CuPy and CUDA to errors of this package that say what to do."""

from typing import Any

import cupy

from twofold.errors import SEE_CAUSE, BackendUnavailable, DeviceError, DeviceOutOfMemory, KernelCompileError, MXNetError, own_error

from .library import compiler, driver, runtime

#: The reason, and what to do, for CUDA statuses which mean that no GPU can be used.
NO_DEVICE = {
    34: ("the CUDA driver is a stub", "run on a machine with an NVIDIA GPU"),
    35: (
        "there is no NVIDIA driver, or it is older than CuPy's CUDA",
        "install a newer driver, or CuPy for an older CUDA: pip install 'twofold[cuda12]'",
    ),
    100: ("no GPU is visible", "check nvidia-smi and CUDA_VISIBLE_DEVICES"),
    3: ("the CUDA runtime cannot start", "check nvidia-smi; after a fork, use GPUs in only one of the processes"),
    46: ("all GPUs are busy, or not available to this process", "check the compute mode in nvidia-smi"),
    802: ("the system is not ready for CUDA", "check nvidia-smi; on machines with NVSwitch the fabric manager must be running"),
    803: ("the NVIDIA driver's kernel module and library have different versions", "reboot, or reinstall the driver"),
    804: (
        "this GPU's driver is older than CuPy's CUDA",
        "install a newer driver, or CuPy for an older CUDA: pip install 'twofold[cuda12]'",
    ),
    999: ("the CUDA driver reports an unknown error", "check nvidia-smi, and reload the driver"),
}
#: The out-of-memory status of allocations outside CuPy's pool: for a context, a stream, a graph.
FULL = 2
#: Statuses after which this process cannot use the GPU any more.
STICKY = {
    214: "the device's memory has an uncorrectable ECC error",
    700: "a kernel accessed an illegal address",
    702: "a kernel exceeded the time limit",
    709: "the device's context was destroyed",
    710: "an assertion in a kernel failed",
    714: "a hardware stack error occurred on the device",
    715: "a kernel contains an illegal instruction",
    716: "a kernel accessed a misaligned address",
    717: "a kernel used an address of the wrong memory space",
    718: "a kernel's program counter became invalid",
    719: "a kernel failed for a reason that CUDA does not report",
}


def after_fork() -> DeviceError:
    """The error for the use of a GPU in a forked process whose parent has started CUDA, which no child of it can use."""
    todo = "make arrays on mx.cpu() there, pass thread_pool=True to DataLoader, or start processes by multiprocessing's method 'spawn'"
    return DeviceError("gpu: a forked process cannot use GPUs", "CUDA was started before the fork", todo)


def unavailable(error: Exception) -> BackendUnavailable:
    """The error for a machine without a usable GPU, from the exception that counting the devices raised."""
    reason, todo = NO_DEVICE.get(getattr(error, "status", -1), (str(error), "check nvidia-smi and `python -m twofold doctor`"))
    return BackendUnavailable("gpu: CuPy finds no usable GPU", f"CuPy {cupy.__version__}, but {reason}", f"use mx.cpu(), or {todo}")


def own(error: Exception) -> MXNetError:
    """An exception of CuPy or CUDA, other than out of memory, as an error of this package."""
    if isinstance(error, compiler.CompileException):
        return compile_error(error)
    if isinstance(error, (runtime.CUDARuntimeError, driver.CUDADriverError)):
        return _device_error(error)
    return own_error("gpu: a computation failed", error)


def compile_error(error: Any, name: str = "a kernel") -> KernelCompileError:
    """A compiler error: the compiler's output, followed by the source."""
    given = f"{error.get_message().strip()[:2000]}\n--- source, options {' '.join(error.options)} ---\n{error.source}"
    return KernelCompileError(f"gpu: {name} does not compile", given, "fix the source if the kernel is your own; otherwise report it")


def _device_error(error: Any) -> DeviceError:
    status = getattr(error, "status", -1)
    if status in STICKY:
        todo = "save what is on the CPU and restart the process: it cannot use this GPU any more; mx.cpu() still works"
        return DeviceError(f"gpu: {STICKY[status]}", f"CUDA status {status}: {error}", todo)
    if status in NO_DEVICE:
        reason, todo = NO_DEVICE[status]
        return DeviceError(f"gpu: {reason}", f"CUDA status {status}: {error}", todo)
    if status == FULL:
        todo = "use smaller batches, free unused arrays, or check nvidia-smi for other processes that use the memory"
        return DeviceOutOfMemory("gpu: the memory is full", f"CUDA status {status}: {error}", todo)
    return DeviceError("gpu: CUDA refused a call", f"CUDA status {status}: {error}", SEE_CAUSE)
