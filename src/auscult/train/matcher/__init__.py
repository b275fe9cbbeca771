"""The recipe of `identity.scenes.v1`: scenes on photographs and painted ones, two networks, their measured card."""
