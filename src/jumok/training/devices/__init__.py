"""What training does for the device that it runs on."""
