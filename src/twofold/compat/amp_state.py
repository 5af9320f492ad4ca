"""What MXNet's ``contrib.amp.amp`` keeps in variables of the module; libraries read there whether mixed precision is on."""

from typing import Any

from ..contrib.amp.start import STATE, is_initialized

__all__: list[str] = []


def __getattr__(name: str) -> Any:
    if name == "_amp_initialized":
        return is_initialized()
    if name == "_loss_scaler":
        return STATE.scaler
    if name == "_amp_loss_scale_initialized":
        return STATE.scaler is not None
    raise AttributeError(name)
