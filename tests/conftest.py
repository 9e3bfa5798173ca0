"""Every shape annotation of jumok is executed while the tests run."""

from jaxtyping import install_import_hook

install_import_hook("jumok", "beartype.beartype")
