"""Devices on which networks run."""

from __future__ import annotations

from segvote.errors import MissingPartError
from segvote.registry import check_known

CPU, AUTO = "cpu", "auto"
# Name to the provider of onnxruntime; ``auto`` takes the first that is installed.
PROVIDERS = {
    "cuda": "CUDAExecutionProvider",
    "rocm": "ROCMExecutionProvider",
    "directml": "DmlExecutionProvider",
    "coreml": "CoreMLExecutionProvider",
    "openvino": "OpenVINOExecutionProvider",
    CPU: "CPUExecutionProvider",
}
DEVICES = (AUTO, *sorted(PROVIDERS), "mps")  # the last is torch's alone
INSTALL = "install the build of onnxruntime for it (onnxruntime-gpu, onnxruntime-directml, …), or use --device cpu"


def list_devices(is_torch: bool = False) -> list[str]:
    """Devices that onnxruntime, or torch, has here, the fastest first."""
    if is_torch:
        import torch

        devices = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), CPU: True}
        return [name for name, is_there in devices.items() if is_there]
    import onnxruntime

    available = onnxruntime.get_available_providers()
    return [name for name, provider in PROVIDERS.items() if provider in available]


def choose_device(name: str, is_torch: bool = False) -> str:
    """Check the name of a device; ``auto`` becomes the fastest that is available."""
    check_known(name, DEVICES, "device")
    if name == CPU:
        return name
    here = list_devices(is_torch)
    if name not in (AUTO, *here):
        raise MissingPartError(f"the device {name} is not available here, only {', '.join(here)}; {INSTALL}")
    return here[0] if name == AUTO else name
