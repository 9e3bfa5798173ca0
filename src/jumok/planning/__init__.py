"""What a run will need before it is started: memory, time and communication, by arithmetic."""
