"""Memory: the scratch of programs, and growth during training."""

from asv_benchmarks import counting, networks
from asv_benchmarks.hand_written import LeNet, Perceptron


class Scratch:
    """Scratch memory of all programs of a hybridized step."""

    params = ("perceptron", "lenet")
    param_names = ("network",)
    unit = "bytes"

    def track_scratch(self, network):
        with counting.programs() as compiled:
            step = networks.gluon(Perceptron() if network == "perceptron" else LeNet(), hybrid=True).step
            for _ in range(3):
                step()
        return sum(map(counting.buffer_bytes, compiled))


class Growth:
    """Bytes that stay allocated per training step."""

    params = ("imperative", "hybridized")
    param_names = ("way",)
    unit = "bytes/step"

    def track_allocated(self, way):
        step = networks.trained(networks.gluon(Perceptron(), hybrid=way == "hybridized"))
        for _ in range(50):
            step()
        return counting.allocated_per_step(step, 500)
