"""The `npu` dialect: attributes, types, ops and their verifiers, and contexts that know them."""
