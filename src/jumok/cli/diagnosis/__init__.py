"""What `jumok doctor` looks at: the compiled code, the installed packages and the machine."""
