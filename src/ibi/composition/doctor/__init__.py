"""What `ibi doctor` looks at: files, databases, clock, settings and addresses of one data directory. It only reads."""
