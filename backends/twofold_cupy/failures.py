"""What CuPy and CUDA raise, as errors of this package that say what to do."""

from typing import Any

import cupy

from twofold.errors import BackendUnavailable, DeviceError, DeviceOutOfMemory, KernelCompileError, MXNetError, own_error

from .library import compiler, driver, runtime

#: Statuses of CUDA that say why there is no GPU to use, with what to do.
NO_DEVICE = {
    34: ("the CUDA driver is a stub", "run on a machine with an NVIDIA GPU"),
    35: ("no NVIDIA driver, or one that is older than CuPy's CUDA", "install a newer driver, or the CuPy wheel of an older CUDA"),
    100: ("no GPU is visible", "look at nvidia-smi and CUDA_VISIBLE_DEVICES"),
    3: ("the CUDA runtime cannot start", "look at nvidia-smi; after a fork, use GPUs only in one of the processes"),
    46: ("all GPUs are busy, or forbidden to this process", "look at nvidia-smi: compute mode"),
    802: ("the system is not ready for CUDA", "look at nvidia-smi: on machines with NVSwitch its fabric manager must run"),
    803: ("the NVIDIA driver's parts are of different versions", "reboot, or install the driver anew"),
    804: ("this GPU's driver is older than CuPy's CUDA", "install a newer driver, or the CuPy wheel of an older CUDA"),
    999: ("the CUDA driver reports an unknown error", "look at nvidia-smi, and reload the driver"),
}
#: The status of full memory, where it is not CuPy's pool that asks: for a context, a stream, a graph.
FULL = 2
#: Statuses after which a process can use its GPU no more.
STICKY = {
    214: "the device's memory has an error that cannot be corrected",
    700: "a kernel read or wrote memory that is not its own",
    702: "a kernel ran too long",
    709: "the device's context is gone",
    710: "a kernel's assertion failed",
    714: "the device's memory or a pointer is faulty",
    715: "a kernel has an instruction that the device does not know",
    716: "a kernel read or wrote memory at a misaligned address",
    717: "a kernel used an address of another kind of memory",
    718: "a kernel jumped out of its code",
    719: "a kernel failed for a reason that CUDA does not tell",
}


def unavailable(error: Exception) -> BackendUnavailable:
    """Why there is no GPU, from what asking for their number raised."""
    reason, todo = NO_DEVICE.get(getattr(error, "status", -1), (str(error), "look at nvidia-smi and `python -m twofold doctor`"))
    return BackendUnavailable("gpu: CuPy finds no GPU that it can use", f"CuPy {cupy.__version__}; {reason}", todo)


def own(error: Exception) -> MXNetError:
    """An exception of CuPy or CUDA, but for those of full memory, as an error of this package."""
    if isinstance(error, compiler.CompileException):
        return compile_error(error)
    if isinstance(error, (runtime.CUDARuntimeError, driver.CUDADriverError)):
        return _device_error(error)
    return own_error("gpu: a computation failed", error)


def compile_error(error: Any, name: str = "a kernel") -> KernelCompileError:
    """What the compiler said, with the text that it refused at the end."""
    given = f"{error.get_message().strip()[:2000]}\n--- the text, options {' '.join(error.options)} ---\n{error.source}"
    return KernelCompileError(f"gpu: {name} does not compile", given, "if it is a kernel of your own, mend it; else report this text")


def _device_error(error: Any) -> DeviceError:
    status = getattr(error, "status", -1)
    if status in STICKY:
        todo = "save what is on the CPU and start the process anew: it cannot use this GPU any more, while mx.cpu() still works"
        return DeviceError(f"gpu: {STICKY[status]}", f"CUDA status {status}: {error}", todo)
    if status in NO_DEVICE:
        reason, todo = NO_DEVICE[status]
        return DeviceError(f"gpu: {reason}", f"CUDA status {status}: {error}", todo)
    if status == FULL:
        todo = "use smaller batches, free unused arrays, or look at nvidia-smi for who else uses the memory"
        return DeviceOutOfMemory("gpu: the memory is full", f"CUDA status {status}: {error}", todo)
    return DeviceError("gpu: CUDA refused a call", f"CUDA status {status}: {error}", "see the cause above")
