"""ModalData <-> HDF5, the contract between the stages."""

from flexmbs.modaldata.data import InterfaceData, ModalData, StaticStress, choose_modes, from_shapes

__all__ = ["InterfaceData", "ModalData", "StaticStress", "choose_modes", "from_shapes"]
