"""Where the compiled code comes from: shipped with a wheel, or compiled on this machine."""
