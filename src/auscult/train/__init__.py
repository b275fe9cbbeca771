"""Recipes that make judges' coefficients and measure their cards. Needs the extra ``train``."""
