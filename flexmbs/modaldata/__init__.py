"""ModalData <-> HDF5, the contract between the stages."""

from flexmbs.modaldata.data import InterfaceData, ModalData, choose_modes, from_shapes

__all__ = ["InterfaceData", "ModalData", "choose_modes", "from_shapes"]
