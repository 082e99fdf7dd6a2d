"""The checks of `ibi doctor`: files, databases, clock, settings and addresses of one data directory. They only read."""
