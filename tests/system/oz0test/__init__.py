"""What the system tests are written with; see HACKING.md."""
