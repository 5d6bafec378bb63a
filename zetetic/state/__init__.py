"""The pure core: frozen values, events, and every decision of the loop. Reads no clock, does no I/O (D1)."""
